"""Partitions and their replicas.

isr.py              who is in sync, and how far the high watermark may go: pure rules
partition.py        one partition on this broker: leader or follower, append, read, offsets
replica_manager.py  all of them: who leads what, who waits for whom
waiting.py          delayed produce, fetch and delete records
fetching.py         one fetch over many partitions: limits, isolation, errors
fetch_sessions.py   what a consumer asked for last time (KIP-227)
"""
