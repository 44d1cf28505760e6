"""All logs of a broker, over all its directories: opened at the start, watched, checkpointed, closed.

Read `manager.py` first, which has the others: `registry.py` (which logs there are, and where), `failures.py` (a
directory that goes offline), `checkpoints.py`, `retirement.py` (deletion, moves, strays); `loading.py` and `placing.py`
(the start, with thousands of logs), `closing.py` (the stop), and `tasks.py` (what may block).
"""
