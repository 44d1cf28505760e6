"""In which version of the group APIs a field came, or a rule changed: once, for the plain and the compiled form.

As in `records/versions.py`, a test holds every number against Kafka's schemas.
"""

from __future__ import annotations


class OffsetCommit:
    """What each version of OffsetCommit brought. Version 0 goes to the store (`store_offsets.py`)."""

    #: A commit may say how long it is to be kept; after version 4 the broker alone says that (KIP-211).
    RETENTION_TIME = 2
    LAST_WITH_RETENTION_TIME = 4
    THROTTLE_TIME = 3
    LEADER_EPOCHS = 6
    #: Static members (KIP-345).
    INSTANCE_IDS = 7
    FLEXIBLE = 8
    #: Topics go by id instead of by name (KIP-848).
    TOPIC_IDS = 10
    LAST = 10


class OffsetFetch:
    """What each version of OffsetFetch brought. Version 0 goes to the store (`store_offsets.py`)."""

    #: One error for the whole group, and a null array of topics, which asks for all.
    GROUP_ERROR = 2
    THROTTLE_TIME = 3
    LEADER_EPOCHS = 5
    FLEXIBLE = 6
    #: Offsets that an open transaction may yet change are not told (KIP-447).
    REQUIRE_STABLE = 7
    #: Several groups in one request (KIP-709).
    GROUPS = 8
    #: Who asks is named, so that one that was thrown out of its group learns of it (KIP-848).
    MEMBERS = 9
    #: Topics go by id instead of by name.
    TOPIC_IDS = 10
    LAST = 10


class Heartbeat:
    """What each version of Heartbeat brought."""

    THROTTLE_TIME = 1
    #: Static members (KIP-345).
    INSTANCE_IDS = 3
    FLEXIBLE = 4
    LAST = 4
