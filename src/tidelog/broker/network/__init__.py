"""From frames to handlers and back.

_hot.pyx       the sink of all frames: Produce requests of the common kind are served here, in C, many at a time
dispatcher.py  everything else: decode, find the handler, answer in order
server.py      listeners, limits, idle connections
"""
