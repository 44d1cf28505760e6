"""In which version of Produce and Fetch a field came, or a rule changed: once, for the plain and the compiled form.

A version is a promise about bytes. Code that reads or writes them asks `version >= Fetch.SESSIONS`, never `version >=
7`; a test holds every number against Kafka's schemas (`tidelog.protocol`), so that none can drift. Numbers that are
rules of the broker, not of the wire form, say so.
"""

from __future__ import annotations


class Produce:
    """What each version of Produce brought."""

    #: One batch of magic 2 per partition, and the transaction that it belongs to. What came before may hold old
    #: messages.
    TRANSACTIONS = 3
    LOG_START_OFFSET = 5
    #: Which records of a batch were refused, and why (KIP-467).
    RECORD_ERRORS = 8
    FLEXIBLE = 9
    #: Who leads the partition instead, with NOT_LEADER_OR_FOLLOWER (KIP-951).
    LEADER_HINTS = 10
    #: Topics go by id instead of by name (KIP-516).
    TOPIC_IDS = 13
    LAST = 13


class Fetch:
    """What each version of Fetch brought."""

    THROTTLE_TIME = 1
    MAX_BYTES = 3
    #: Transactions: the isolation level is asked for, the last stable offset and what was aborted are answered.
    ISOLATION = 4
    LOG_START_OFFSET = 5
    #: The broker remembers what is asked for, and is told of changes only (KIP-227).
    SESSIONS = 7
    #: The epoch that the client believes its leader to be in: fenced if it is another (KIP-320).
    LEADER_EPOCHS = 9
    #: Where the client is, so that it can be sent to a replica nearby (KIP-392).
    RACKS = 11
    FLEXIBLE = 12
    #: Followers learn from the answer where their log diverges (KIP-595).
    LAST_FETCHED_EPOCHS = 12
    #: Topics go by id instead of by name (KIP-516).
    TOPIC_IDS = 13
    #: The follower that asks is named in a tag, no longer in a field of its own.
    REPLICA_STATE = 15
    #: Where to find the leaders that the answer names (KIP-951).
    NODE_ENDPOINTS = 16
    LAST = 18
