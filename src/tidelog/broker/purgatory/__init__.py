"""Where requests wait that cannot be answered yet: for other replicas, for more bytes, or for their time to run out.

timing_wheel.py   deadlines, cheap to set and to cancel
timer.py          drives a wheel from the event loop
completions.py    what was completed takes its turn, one after the other
delayed.py        an operation that is completed once, and the purgatory that watches keys for it
purgatories.py    the broker's own: produce, fetch, delete records
"""
