"""All logs of a broker, over all its directories: opened at the start, watched, checkpointed, closed.

Read `manager.py` first, then `loading.py` (opening and closing thousands of logs) and `tasks.py` (what may block).
"""
