"""One segment of a log: its data file, its two indexes and its transaction index, and the handles that keep them open.

Read `segment.py` first (what is appended, found and flushed), then `_index.pyx` (offset → position, time → offset),
`data_file.py` and `file_slice.py` (bytes that a fetch sends without copying them), and `unsynced.py` (what is not
durable).
"""
