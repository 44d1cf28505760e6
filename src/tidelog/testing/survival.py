"""What is left of a disk after a crash: which of the unsynced bytes and names are found again.

`Survival` names the plain mixtures, one rule for the whole disk. `PowerLoss` is the disk as it is: the cache writes
back in any order, so each page of a file, its length, and each change of a name is kept or lost by itself, by a
choice that a seed makes repeatable. A rename is one change, as every journalling file system keeps it: the file is
found under the old name or under the new one.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tidelog.common.rng import Rng, seeded_rng

PAGE = 4096


class Survival(Enum):
    """What is found after the crash, of what was not synced."""

    #: Nothing: the strictest disk.
    SYNCED = "only synced bytes and names"
    #: Everything: the process was killed, the machine lives on.
    ALL = "everything"
    #: Names but no bytes: files exist, cut to what was synced.
    NAMES = "all names, only synced bytes"
    #: Names and sizes, but unsynced bytes read as zeros, as after delayed allocation.
    ZEROS = "all names and sizes, unsynced bytes are zeros"
    #: Everything but the second half of the write that was under way.
    TORN = "everything, the last write is cut in half"


@dataclass(frozen=True)
class PowerLoss:
    """Each page and each change of a name is kept or lost by itself; `seed` decides which."""

    seed: int
    page: int = PAGE

    @property
    def name(self) -> str:
        return f"POWER_LOSS_{self.seed}"

    @property
    def value(self) -> str:
        return f"pages of {self.page} bytes and names kept or lost by seed {self.seed}"

    def rng(self, moment: int) -> Rng:
        """The chance by which the disk of one moment is decided."""
        return seeded_rng(self.seed * 1_000_003 + moment)

    def bytes_of(self, data: bytes | bytearray, synced: bytes, rng: Rng) -> bytes:
        """What is found of a file that holds `data` and held `synced` when it was last synced."""
        if data == synced:
            return synced
        size = len(data) if rng.random() < 0.5 else len(synced)
        found = bytearray()
        for start in range(0, size, self.page):
            length = min(self.page, size - start)
            new, old = (bytes(side[start : start + length]).ljust(length, b"\0") for side in (data, synced))
            found += new if new == old or rng.random() < 0.5 else old
        return bytes(found)
