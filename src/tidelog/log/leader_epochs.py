"""Which leader epoch began at which offset: `leader-epoch-checkpoint`.

A leader stamps its epoch into every batch; this list, one entry per epoch that left records, tells a follower where
its log and the leader's part. The two invariants: epochs rise, and start offsets do not fall.

The file is replaced as a whole (checkpoint.py). Changes are kept in memory and written by the log's flush, before its
recovery point moves: until then the epochs can be read off the batches behind the recovery point, as recovery does.
"""

from __future__ import annotations

from bisect import bisect_right

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH, NO_OFFSET
from tidelog.log import checkpoint
from tidelog.log.names import LEADER_EPOCH_FILE
from tidelog.log.segment.home import Home


class EpochStart(NamedTuple):
    epoch: int
    start_offset: int


class LeaderEpochs:
    """The epochs of one partition, oldest first."""

    __slots__ = ("_entries", "_home")

    def __init__(self, home: Home, entries: list[EpochStart] | None = None) -> None:
        self._home = home
        self._entries: list[EpochStart] = []
        for entry in entries or []:
            self._place(entry)

    @classmethod
    def load(cls, home: Home) -> LeaderEpochs:
        path = home.file(LEADER_EPOCH_FILE)
        entries = []
        for line in checkpoint.read_lines(home.fs, path):
            epoch, start = checkpoint.parse_fields(line, 2, str(path))
            entries.append(EpochStart(checkpoint.parse_int(epoch, str(path)), checkpoint.parse_int(start, str(path))))
        return cls(home, entries)

    @property
    def dirty(self) -> bool:
        """Whether the file is behind."""
        return self._home.unsynced.epochs

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        return tuple(self._entries)

    @property
    def latest(self) -> EpochStart | None:
        return self._entries[-1] if self._entries else None

    @property
    def latest_epoch(self) -> int:
        return self._entries[-1].epoch if self._entries else NO_EPOCH

    @property
    def earliest(self) -> EpochStart | None:
        return self._entries[0] if self._entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`; entries that contradict it go. False when it is known."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"no epoch or no offset: {epoch}, {start_offset}")
        last = self.latest
        if last is not None and epoch == last.epoch and start_offset >= last.start_offset:
            return False
        self._place(EpochStart(epoch, start_offset))
        self._home.unsynced.add_epochs()
        return True

    def _place(self, entry: EpochStart) -> None:
        entries = self._entries
        while entries and (entries[-1].epoch >= entry.epoch or entries[-1].start_offset >= entry.start_offset):
            entries.pop()
        entries.append(entry)

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch that is not above `epoch`, and where it ends; (-1, -1) when that cannot be told."""
        if epoch == NO_EPOCH or not self._entries:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        after = bisect_right(self._entries, epoch, key=lambda entry: entry.epoch)
        if after == len(self._entries):
            return NO_EPOCH, NO_OFFSET
        if after == 0:
            return epoch, self._entries[0].start_offset
        return self._entries[after - 1].epoch, self._entries[after].start_offset

    def epoch_for(self, offset: int) -> int:
        """The epoch of the record at `offset`, or -1."""
        after = bisect_right(self._entries, offset, key=lambda entry: entry.start_offset)
        return self._entries[after - 1].epoch if after else NO_EPOCH

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at `end_offset` or later."""
        while self._entries and self._entries[-1].start_offset >= end_offset:
            self._entries.pop()
            self._home.unsynced.add_epochs()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that ended before `start_offset`; the one that spans it now begins there."""
        after = bisect_right(self._entries, start_offset, key=lambda entry: entry.start_offset)
        if after == 0:
            return
        spanning = EpochStart(self._entries[after - 1].epoch, start_offset)
        if after > 1 or self._entries[0] != spanning:
            self._entries[:after] = [spanning]
            self._home.unsynced.add_epochs()

    def clear(self) -> None:
        if self._entries:
            self._home.unsynced.add_epochs()
        self._entries.clear()

    def encoded(self) -> bytes:
        """The file's bytes."""
        return checkpoint.encode_rows([f"{entry.epoch} {entry.start_offset}" for entry in self._entries])
