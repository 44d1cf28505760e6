"""From frames to handlers and back.

_sink.pyx      the sink of all frames: offers each to the compiled form of its API, if it has one
dispatcher.py  everything else: decode, find the handler, answer in order
server.py      listeners, limits, idle connections
"""
