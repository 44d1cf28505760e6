"""Who appends records: it decides which rules hold for them."""

from __future__ import annotations

from enum import IntEnum


class AppendOrigin(IntEnum):
    """The rules for clients do not bind the broker's own writers, and followers copy their leader as it is."""

    REPLICATION = 0
    CLIENT = 1
    COORDINATOR = 2
