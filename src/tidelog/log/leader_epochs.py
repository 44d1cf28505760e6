"""Which leader epoch began at which offset: `leader-epoch-checkpoint`.

A leader stamps its epoch into every batch; this list, one entry per epoch that left records, tells a follower where
its log and the leader's part. The two invariants: epochs rise, and start offsets do not fall.

The file is replaced as a whole (checkpoint.py). Changes are kept in memory and written by the log's flush, before its
recovery point moves: until then the epochs can be read off the batches behind the recovery point, as recovery does.

A log that nobody has written to yet needs no file: that epoch 0 began at 0 goes without saying (`BEGINNING`), and a
file that says so anyway, as Kafka's do, contradicts nothing that may come to lie there. Of twenty thousand partitions
most are empty, and a stop would write as many files. Kafka takes a missing file for one without entries, too.

Example: epoch 3 began at 0, epoch 5 at 120, the log ends at 200. A follower whose last epoch is 4 asks where that ends:
the largest epoch not above it is 3, which ended at 120 where 5 began, so the follower cuts its log to 120 (KIP-101; the
epoch in the answer is KIP-279's, for the case that the follower does not know it either).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH, NO_OFFSET
from tidelog.log import checkpoint
from tidelog.log.names import LEADER_EPOCH_FILE
from tidelog.log.segment.home import Home


class EpochStart(NamedTuple):
    """One line of the file: the leader of this epoch wrote its first record at this offset."""

    epoch: int
    start_offset: int


#: What is true of every log before its first record, unless a later leader got it empty. Thousands share it.
BEGINNING = (EpochStart(0, 0),)


class LeaderEpochs:
    """The epochs of one partition, oldest first."""

    __slots__ = ("_home", "entries", "latest_epoch", "noted_epoch")

    def __init__(self, home: Home, entries: Iterable[EpochStart] = ()) -> None:
        self._home = home
        #: Replaced as a whole, so that thousands of partitions without any share one.
        self.entries: tuple[EpochStart, ...] = ()
        #: That of the last entry, -1 without one.
        self.latest_epoch = NO_EPOCH
        #: The same, but -1 as long as the entry goes without saying. Every append of a leader asks for it: a record of
        #: another epoch wants an entry that is, or will be, in the file.
        self.noted_epoch = NO_EPOCH
        for entry in entries:
            self._place(entry)

    @classmethod
    def load(cls, home: Home) -> LeaderEpochs:
        """Read the file; raises CheckpointError when it is none. Entries that contradict later ones are dropped."""
        path = home.file(LEADER_EPOCH_FILE)
        entries = []
        for line in checkpoint.read_lines(home.fs, path):
            epoch, start = checkpoint.parse_fields(line, 2, str(path))
            entries.append(EpochStart(checkpoint.parse_int(epoch, str(path)), checkpoint.parse_int(start, str(path))))
        return cls(home, entries)

    def _set(self, entries: tuple[EpochStart, ...]) -> None:
        self.entries = entries
        self.latest_epoch = self.noted_epoch = entries[-1].epoch if entries else NO_EPOCH

    @property
    def dirty(self) -> bool:
        """Whether the file is behind."""
        return self._home.unsynced.epochs

    @property
    def latest(self) -> EpochStart | None:
        """The present leader's, or the last one's that wrote here."""
        return self.entries[-1] if self.entries else None

    @property
    def earliest(self) -> EpochStart | None:
        """The epoch of the log's first record, if that is known."""
        return self.entries[0] if self.entries else None

    def assign(self, epoch: int, start_offset: int) -> bool:
        """Note that `epoch` begins at `start_offset`; entries that contradict it go. False when it is known."""
        if epoch < 0 or start_offset < 0:
            raise ValueError(f"no epoch or no offset: {epoch}, {start_offset}")
        if not self._knows(epoch, start_offset):
            self._place(EpochStart(epoch, start_offset))
        elif epoch == self.noted_epoch:
            return False
        self.noted_epoch = epoch
        self._home.unsynced.add_epochs()
        return True

    def announce(self, epoch: int, start_offset: int) -> None:
        """The same, for a leader that has written nothing yet."""
        if not self.entries and (epoch, start_offset) == BEGINNING[0]:
            self.entries, self.latest_epoch = BEGINNING, epoch
        elif not self._knows(epoch, start_offset):
            self.assign(epoch, start_offset)

    def _knows(self, epoch: int, start_offset: int) -> bool:
        last = self.latest
        return last is not None and epoch == last.epoch and start_offset >= last.start_offset

    def _place(self, entry: EpochStart) -> None:
        """Put an entry last; those before it that are not below it, in epoch and in offset, contradict it and go."""
        kept = len(self.entries)
        while kept:
            before = self.entries[kept - 1]
            if before.epoch < entry.epoch and before.start_offset < entry.start_offset:
                break
            kept -= 1
        self._set((*self.entries[:kept], entry))

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """The largest known epoch that is not above `epoch`, and where it ends; (-1, -1) when that cannot be told."""
        if epoch == NO_EPOCH or not self.entries:
            return NO_EPOCH, NO_OFFSET
        if epoch == self.latest_epoch:
            return epoch, log_end_offset
        after = bisect_right(self.entries, epoch, key=lambda entry: entry.epoch)
        if after == len(self.entries):
            return NO_EPOCH, NO_OFFSET
        if after == 0:
            return epoch, self.entries[0].start_offset
        return self.entries[after - 1].epoch, self.entries[after].start_offset

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget the epochs that begin at `end_offset` or later."""
        kept = len(self.entries)
        while kept and self.entries[kept - 1].start_offset >= end_offset:
            kept -= 1
        if kept < len(self.entries):
            before = self.entries
            self._set(before[:kept])
            if before != BEGINNING:
                self._home.unsynced.add_epochs()

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget the epochs that ended before `start_offset`; the one that spans it now begins there."""
        after = bisect_right(self.entries, start_offset, key=lambda entry: entry.start_offset)
        if after == 0:
            return
        spanning = EpochStart(self.entries[after - 1].epoch, start_offset)
        if after > 1 or self.entries[0] != spanning:
            self._set((spanning, *self.entries[after:]))
            self._home.unsynced.add_epochs()

    def clear(self) -> None:
        """Forget all: what is stored from now on has no epochs, or the log is empty."""
        if self.entries:
            self._set(())
            self._home.unsynced.add_epochs()

    def encoded(self) -> bytes:
        """The file's bytes."""
        return checkpoint.encode_rows([f"{entry.epoch} {entry.start_offset}" for entry in self.entries])
