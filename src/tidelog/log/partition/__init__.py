"""A partition's log: segments in a row, watermarks, epochs, producers; append, read, truncate, retire.

Read `partition_log.py` first, which has the others: `local_log.py` (segments in a row), `watermarks.py` (the offsets
that divide a log, and the rules between them), `writing.py` (what changes all of them: append, roll, truncate). Then
`opening.py` (from a directory to these parts), `flush.py` (what makes them durable, on any thread) and `retention.py`;
`timestamps.py` and `aborted.py` are look-ups, `refusals.py` the errors.
"""
