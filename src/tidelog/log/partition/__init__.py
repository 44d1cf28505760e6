"""A partition's log: segments in a row, watermarks, epochs, producers; append, read, truncate, retire.

Read `local_log.py` (segments in a row), then `partition_log.py` (what a replica adds to them), `flush.py` and
`retention.py`.
"""
