"""Reading log directories without a broker: iterating, decoding to Arrow, verifying, offline maintenance.

Read `reader.py` (`LogDirectory`), `segment_reader.py` (one segment's batches), then the tools built on them.
"""
