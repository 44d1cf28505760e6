"""Disk doubles: one that remembers everything for crash replay, one that fails on demand.

fs = RecordingFileSystem(root)
...                                   # run the code under test on root, with this file system
for crash in fs.crashes():            # at every single operation ...
    crash.materialise(Survival.SYNCED, elsewhere)   # ... what a machine finds when its power fails there
    crash.materialise(PowerLoss(seed), elsewhere)   # ... and one of the many mixtures of lost and kept
    ...                               # open it again: it must start, and lose nothing that was synced

disk = FailingFileSystem()
disk.fail("sync", "*.log", errno.EIO)         # the next sync of a segment fails
disk.capacity = 1_000_000                     # and from this many written bytes on, the disk is full
"""

from __future__ import annotations

import copy
import errno
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from tidelog.common.fs import FileSystem
from tidelog.testing.crash_disk import CrashDisk, CrashPoint, crashes
from tidelog.testing.fs_hooks import HookedFileSystem, Operation, ShortWriteError
from tidelog.testing.survival import PowerLoss, Survival

__all__ = ["Crash", "CrashDisk", "FailingFileSystem", "Operation", "PowerLoss", "RecordingFileSystem", "Survival"]

_UNRECORDED = frozenset({"open", "read", "reserve"})


@dataclass(frozen=True)
class Crash:
    """One crash point of a recorded run; `mark` is the last `RecordingFileSystem.mark` before it."""

    point: CrashPoint
    mark: object
    _disk: CrashDisk

    def materialise(self, survival: Survival | PowerLoss, target: Path) -> None:
        self._disk.materialise(survival, target)

    def __str__(self) -> str:
        return str(self.point)


class RecordingFileSystem(HookedFileSystem):
    """Does everything for real below `root`, and keeps a journal from which any crash can be replayed.

    The run happens once; the crashes are made of the journal afterwards, as many as it has operations. What a program
    promised to somebody (an acknowledged offset) is noted by `mark`, and held against what each crash leaves.
    """

    def __init__(self, root: Path, inner: FileSystem | None = None) -> None:
        super().__init__(inner)
        self.root = root
        self.journal: list[Operation] = []
        self._marks: list[tuple[int, object]] = [(0, None)]
        self._lock = threading.RLock()
        self._initial = CrashDisk(root)
        self._initial.load()

    def after(self, operation: Operation) -> None:
        if operation.kind in _UNRECORDED:
            return
        with self._lock:
            self.journal.append(operation)
            # What the maps hold may reach the disk at any time; write-backs recurse.
            if operation.kind not in ("write", "write_back"):
                self.flush_maps()

    def mark(self, value: object) -> None:
        """Remember a promise made at this moment (e.g. the offset acknowledged as flushed) for later crashes."""
        with self._lock:
            self.flush_maps()
            self._marks.append((len(self.journal), value))

    def crashes(self) -> Iterator[Crash]:
        """Every crash point of the journal in order; a crash is valid until the next one is asked for."""
        marks = iter([*self._marks[1:], (len(self.journal) + 1, None)])
        value = self._marks[0][1]
        upcoming, next_value = next(marks)
        disk = copy.deepcopy(self._initial)
        for point in crashes(disk, self.journal):
            while upcoming <= point.index:
                value = next_value
                upcoming, next_value = next(marks)
            yield Crash(point, value, disk)


@dataclass
class _Fault:
    """What is to fail. It counts only what it matches: `skip` good ones pass, then `times` fail (None: all)."""

    kind: str
    pattern: str
    code: int
    skip: int
    times: int | None

    def strikes(self, operation: Operation) -> bool:
        if operation.kind != self.kind or not fnmatch(str(operation.path), f"*{self.pattern}"):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            if self.times == 0:
                return False
            self.times -= 1
        return True


class FailingFileSystem(HookedFileSystem):
    """A disk that breaks when told to. `capacity` bounds the bytes written and reserved; then every write is ENOSPC.

    Bytes are counted when they are written, and never given back: a file that is overwritten or removed makes no room.
    A write that fits in part is written in part before it fails, as on a real disk: the torn batch is the interesting
    part of a full disk.
    """

    def __init__(self, inner: FileSystem | None = None, *, capacity: int | None = None) -> None:
        super().__init__(inner)
        self.capacity = capacity
        self.written = 0
        self._faults: list[_Fault] = []

    def fail(
        self, kind: str, pattern: str = "*", code: int = errno.EIO, *, skip: int = 0, times: int | None = None
    ) -> None:
        """Fail operations of this kind on paths that end like the pattern: after `skip` good ones, `times` times."""
        self._faults.append(_Fault(kind, pattern, code, skip, times))

    def heal(self) -> None:
        """Forget all faults and the capacity."""
        self._faults.clear()
        self.capacity = None

    def before(self, operation: Operation) -> None:
        for fault in self._faults:
            if fault.strikes(operation):
                raise OSError(fault.code, os.strerror(fault.code), str(operation.path))
        if operation.kind == "write" and self.capacity is not None:
            fits = max(0, self.capacity - self.written)
            if len(operation.data) > fits:
                raise ShortWriteError(errno.ENOSPC, os.strerror(errno.ENOSPC), fits)
        if operation.kind == "reserve" and self.capacity is not None and self.written + operation.size > self.capacity:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(operation.path))

    def after(self, operation: Operation) -> None:
        if operation.kind in ("write", "reserve"):
            self.written += len(operation.data) + operation.size
