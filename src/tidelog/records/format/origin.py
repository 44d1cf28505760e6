"""Who appends records: it decides which rules hold for them.

A client's batch has sequence numbers that must follow, and may not be a marker; a coordinator writes markers; a
follower takes what its leader has taken, holes and all.
"""

from __future__ import annotations

from enum import IntEnum


class AppendOrigin(IntEnum):
    """The rules for clients do not bind the broker's own writers, and followers copy their leader as it is."""

    REPLICATION = 0
    CLIENT = 1
    COORDINATOR = 2
