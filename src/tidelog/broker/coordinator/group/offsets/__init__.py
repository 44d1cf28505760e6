"""Committed offsets: who may commit (`fencing`), what becomes of it (`commits`, `store`), who reads it (`fetches`), and
when it goes (`expiry`).

Offsets belong to a group id, whatever kind the group is of and whether anybody is in it: a consumer that assigns its
own partitions commits to a group that has no members at all.
"""
