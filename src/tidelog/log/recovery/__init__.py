"""From a directory, whatever a crash has left in it, to a sound log.

Read `loader.py` first (the steps, in their order), then `recovery.py` (a segment checked batch by batch, and everything
that is derived from batches built anew) and `_runs.pyx` (questions about a run of batches, answered in C; appending
asks them too). Which bytes are suspect is told by the recovery point and by the marker of a clean stop, which lie in
the log directory and are the manager's.
"""
