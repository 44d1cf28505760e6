"""Requests that carry records, or ask where they are: Produce, Fetch, ListOffsets, DeleteRecords, epochs, producers.

To read it: `versions.py` (what changed when), then `produce.py` with `records_field.py` and `preparation.py`, then
`fetch.py` with `fetching.py` and `fetch_sessions.py`. The compiled forms (`_produce.pyx`, `_fetch.pyx`) follow the same
rules and share them where they can. All of these are answered by the leader of a partition; who comes to another broker
is told NOT_LEADER_OR_FOLLOWER and, in newer versions, where the leader is (`leaders.py`).
"""
