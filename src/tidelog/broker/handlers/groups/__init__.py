"""Requests of consumer groups: who is in them, what they have read, and where their coordinator is.

`find_coordinator.py` comes first for every client. `membership.py` is the classic protocol, `consumer_groups.py` that
of KIP-848; `offset_commit.py`, `offset_fetch.py`, `offset_delete.py` and `txn_offset_commit.py` are about offsets,
`admin.py` about groups as a whole. A handler checks the form of a request and what lies outside the group (do the
topics exist?), hands the rest to the group's machine on its shard, and puts the outcome into the form of the request's
version.
"""
