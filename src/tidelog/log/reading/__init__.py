"""Reading log directories without a broker: iterating, decoding to Arrow, verifying, offline maintenance.

Read `reader.py` (`LogDirectory`), `segment_reader.py` (one segment's batches), then the tools built on them:
`verify.py` (is everything sound), `statistics.py` (what is in it), `segment_arrow.py` (records as columns) and, the
only one that changes anything and therefore takes the directory's lock, `offline.py`. `segment_listing.py` and
`segment_walk.py` are for directories that a broker is writing to meanwhile: which files count, and how to follow them.
"""
