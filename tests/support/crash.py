"""Run something on a recorded disk, then open what every crash would have left.

A scenario works on a log manager whose disk is recorded. Whenever the log has made a promise (a flush has returned), it
says so by `promise`. Afterwards the run is cut at every single operation of the disk, with each kind of survival, and
the remains are opened by a fresh manager. Every start must succeed, nothing torn may be read, and what had been
promised must be there.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from support.managed_logs import TP, all_records, append, batches_of, open_manager
from tidelog.common.fs import File, LocalFileSystem, MappedFile, Volume
from tidelog.log.config import LogConfig
from tidelog.log.manager.manager import LogManager
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import Crash, PowerLoss, RecordingFileSystem, Survival


@dataclass(frozen=True, eq=False)
class Promise:
    """What must be found after a crash from now on."""

    #: Every offset below was acknowledged as flushed.
    flushed: int = 0
    #: The log begins here (retention and deletion may have moved it on).
    start: int = 0
    #: key → value that a table made of the log must hold; None: not checked.
    table: dict[bytes, bytes] | None = None
    #: What a clean stop has vouched for beside the records; None: not checked.
    state: State | None = None


@dataclass(frozen=True)
class State:
    """What is known of a log beside its records: who reads committed records, or follows, relies on it."""

    aborted: tuple[AbortedTxn, ...]
    last_stable_offset: int
    #: producer → its last sequence number
    sequences: dict[int, int]
    epochs: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, log: PartitionLog) -> State:
        return cls(
            tuple(log.aborted_transactions(log.log_start_offset, log.log_end_offset)),
            log.last_stable_offset,
            {entry.producer_id: entry.last_sequence for entry in log.producers.entries.values()},
            tuple(log.leader_epochs.entries),
        )


NOTHING = Promise()

#: What is tried at every crash: each plain mixture, and some of the many that a real disk may leave.
SURVIVALS: tuple[Survival | PowerLoss, ...] = (*Survival, PowerLoss(1, page=64), PowerLoss(2))


@dataclass
class Scenario:
    """One run on a recorded disk."""

    root: Path
    config: LogConfig
    clock: ManualClock = field(default_factory=ManualClock)

    def __post_init__(self) -> None:
        self.root.mkdir()
        self.fs = RecordingFileSystem(self.root, ScratchFileSystem())
        self.manager = self._manager(self.fs, self.root)
        self.log: PartitionLog = self.manager.create(TP, self.config)
        self.promised = NOTHING

    def _manager(self, fs: RecordingFileSystem, root: Path) -> LogManager:
        return open_manager(root, fs=fs, clock=self.clock, config=self.config)

    def promise(self, promise: Promise) -> None:
        self.promised = promise
        self.fs.mark(promise)

    def kill(self) -> None:
        """Stop without a word, and start again on what the page cache holds."""
        self.log.release()
        for directory in self.manager.dirs:
            directory.close()
        self.manager = self._manager(self.fs, self.root)
        self.log = self.manager.logs[TP]

    def stop(self) -> None:
        """Stop cleanly; from now on everything that is known must survive."""
        end, start, state = self.log.log_end_offset, self.log.log_start_offset, State.of(self.log)
        self.manager.shutdown()
        self.promise(Promise(end, start, self.promised.table, state))

    def flush(self) -> None:
        """Flush the log; from now on everything in it must survive."""
        self.log.flush()
        self.promise(Promise(self.log.recovery_point, self.log.log_start_offset, self.promised.table))


def crashes_of(
    fs: RecordingFileSystem, survivals: tuple[Survival | PowerLoss, ...], scratch: Path, since: int = 0
) -> Iterator[tuple[Crash, str, Path]]:
    """Every (crash, description, directory with the remains)."""
    seen: set[tuple[object, ...]] = set()
    for crash in fs.crashes():
        if crash.point.index < since:
            continue
        for survival in survivals:
            target = scratch / f"{crash.point.index}-{survival.name}"
            crash.materialise(survival, target)
            state = (
                _promise_of(crash),
                *((p.relative_to(target), p.is_file() and p.read_bytes()) for p in sorted(target.rglob("*"))),
            )
            if hash(state) not in seen:  # most operations change only some of the survivals
                seen.add(hash(state))
                yield crash, f"{crash}, {survival.value}", target
            shutil.rmtree(target)


def _promise_of(crash: Crash) -> Promise:
    return crash.mark if isinstance(crash.mark, Promise) else NOTHING


class ScratchFileSystem(LocalFileSystem):
    """The remains of a crash need not outlive the test: nothing is synced, which is most of the time."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File:
        return _Unsynced(path, super().open(path, create=create, write=write).fileno())

    def map(self, path: Path, *, size: int | None = None, write: bool = True) -> MappedFile:
        mapped = super().map(path, size=size, write=write)
        mapped.__class__ = _UnsyncedMap
        return mapped

    def sync_dir(self, path: Path) -> None:
        """Not here."""

    def volume(self, path: Path) -> Volume:
        return _UnsyncedVolume(path, -1)


class _Unsynced(File):
    __slots__ = ()

    def sync(self) -> None:
        """Not here."""


class _UnsyncedVolume(Volume):
    __slots__ = ()

    def holds(self, path: Path) -> bool:
        return True

    def sync(self) -> None:
        """Not here."""


class _UnsyncedMap(MappedFile):
    __slots__ = ()

    def sync(self) -> None:
        """Not here."""


def check_all_crashes(
    scenario: Scenario,
    scratch: Path,
    survivals: tuple[Survival | PowerLoss, ...] = SURVIVALS,
    also: Callable[[LogManager, PartitionLog], None] = lambda manager, log: None,
    since: int = 0,
) -> int:
    """Open the remains of every crash, from operation `since` on, and check what was promised; return how many."""
    count = 0
    logging.disable(logging.ERROR)
    try:
        for crash, text, target in crashes_of(scenario.fs, survivals, scratch, since):
            count += 1
            try:
                _check(scenario, _promise_of(crash), target, also)
            except Exception as error:
                raise AssertionError(f"{text}: {error!r}\nleft: {sorted(p.name for p in target.rglob('*'))}") from error
    finally:
        logging.disable(logging.NOTSET)
    return count


def _check(
    scenario: Scenario, promise: Promise, target: Path, also: Callable[[LogManager, PartitionLog], None]
) -> None:
    clock = ManualClock(scenario.clock.time_ms())
    manager = open_manager(target, fs=ScratchFileSystem(), clock=clock, config=scenario.config)
    assert manager.live_dirs, "the directory went offline"
    log = manager.logs.get(TP)
    if log is None:
        assert promise.flushed == 0, "the partition is gone"
        manager.shutdown()
        return
    for batch in batches_of(log):
        batch.check_crc()
    offsets = [offset for batch in batches_of(log) for offset in range(batch.base_offset, batch.last_offset + 1)]
    assert offsets == sorted(set(offsets)), f"offsets out of order: {offsets}"
    assert log.log_end_offset >= promise.flushed, f"ends at {log.log_end_offset}, {promise.flushed} was flushed"
    if promise.table is None:
        missing = set(range(max(promise.start, log.log_start_offset), promise.flushed)) - set(offsets)
        if promise.flushed > promise.start:
            assert log.log_start_offset <= promise.start, f"starts at {log.log_start_offset}, not {promise.start}"
        assert not missing, f"flushed offsets are missing: {sorted(missing)}"
    else:
        table = {r.key: r.value for r in all_records(log)}
        for key, value in promise.table.items():
            assert table.get(key) == value, f"{key!r} is {table.get(key)!r}, not {value!r}"
    if promise.state is not None:
        assert manager.dirs[0].was_clean
        assert State.of(log) == promise.state
    also(manager, log)
    # The log is alive: it takes an append, and a second start is clean and finds it.
    append(log, [(b"alive", b"x")])
    manager.shutdown()
    again = open_manager(target, fs=ScratchFileSystem(), clock=clock, config=scenario.config)
    assert again.dirs[0].was_clean
    assert again.logs[TP].log_end_offset == log.log_end_offset
    again.shutdown()
