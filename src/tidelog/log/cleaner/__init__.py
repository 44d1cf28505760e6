"""Compaction: a log that keeps, for every key, at least its last value. See docs/formats/compaction.md.

The log of a compacted topic has a clean head and a dirty tail. A pass reads the dirty part into a map from key to
latest offset, then copies the whole log up to there, group of segments by group, leaving out what the map knows a
later record for. Reading order:

    plan.py          which log is dirtiest, what of it may be cleaned, which segments go into one
    job.py           one pass over one log: steps for a worker thread, swaps for the log's owner
    rewriter.py      the reading and writing of segments, around the compiled loops of `log/cleaner/_cleaner.pyx`
    legacy.py        the same for magic 0 and 1, record by record
    cleaned_transactions.py  aborted data and markers
    throttler.py     the limit on disk traffic
    cleaner.py       who is being cleaned, who is paused, who cannot be cleaned; the checkpoint
"""
