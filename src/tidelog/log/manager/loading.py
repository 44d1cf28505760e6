"""Loading all partitions of a log directory at the start, and closing them at the stop, in parallel.

A partition is loaded by one thread from beginning to end; only then does the owner see it. After an unclean stop that
is most of the start's time (everything behind the recovery point is read and checked), and it runs in code that
releases the GIL.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tidelog.common.errors import KafkaError, StorageError
from tidelog.common.fs import Volume
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import LogDir, Offsets, disk_error
from tidelog.log.names import DirName

if TYPE_CHECKING:
    from tidelog.log.manager.manager import LogManager
    from tidelog.log.partition.flush import FlushJob
    from tidelog.log.partition.opening import LogSettings
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

#: Fewer make the disk wait for us, more make the threads wait for each other.
CLOSING_THREADS = 8
#: From so many logs on, one sync of the whole file system is cheaper than the syncs of their files.
BULK = 200
#: How many logs a thread takes at a time.
CHUNK = 32

T = TypeVar("T")
R = TypeVar("R")


class _Known(NamedTuple):
    """What the last run wrote down about the partitions of a directory."""

    clean: bool
    recovery_points: Offsets
    log_starts: Offsets
    high_watermarks: Offsets


class Found(NamedTuple):
    """What lies in a directory: logs, loaded; directories to be removed; directories that are nobody's; checkpoints."""

    logs: list[tuple[DirName, PartitionLog]]
    to_remove: list[tuple[Path, DirName]]
    stray: list[Path]
    #: The partitions that the checkpoints speak of.
    recorded: set[TopicPartition]


def load_dirs(
    manager: LogManager, directories: Sequence[LogDir], config_for: Callable[[str], LogConfig], threads: int
) -> list[Found | BaseException]:
    """Load several directories side by side (they are different disks, as a rule); per directory what came of it."""

    def load(directory: LogDir) -> Found | BaseException:
        try:
            return _load_dir(manager, directory, config_for, threads)
        except (OSError, KafkaError) as error:
            return error

    return list(in_threads(load, directories, len(directories), chunk=1))


def _load_dir(manager: LogManager, directory: LogDir, config_for: Callable[[str], LogConfig], threads: int) -> Found:
    wanted: list[tuple[Path, DirName]] = []
    found = Found([], [], [], set())
    for path, name in directory.partitions():
        if name.kind == "delete":
            found.to_remove.append((path, name))
        elif name.kind == "stray":
            found.stray.append(path)
        else:
            wanted.append((path, name))
    for topic in {name.topic_partition.topic for _, name in wanted}:
        config_for(topic)  # a wrong one stops the start here, before the marker is taken: nothing has happened yet
    known = _Known(
        directory.take_shutdown_marker(),
        directory.recovery_points(),
        directory.log_start_offsets(),
        directory.high_watermarks(),
    )
    found.recorded.update(known.recovery_points, known.log_starts, known.high_watermarks)
    started = manager.clock.monotonic()

    config = cache(config_for)
    settings = manager.settings_in(directory.path) if wanted else None

    def load_one(item: tuple[Path, DirName]) -> PartitionLog:
        path, name = item
        assert settings is not None
        return _load_log(path, name.topic_partition, config(name.topic_partition.topic), settings, known)

    # After a clean stop a load is a few system calls: threads would only get into each other's way.
    for (_, name), log in zip(wanted, in_threads(load_one, wanted, 1 if known.clean else threads), strict=True):
        found.logs.append((name, log))
    if wanted:
        how, seconds = "loaded" if known.clean else "recovered", manager.clock.monotonic() - started
        stop = "a clean" if known.clean else "an unclean"
        logger.info("%s %d partitions of %s after %s stop (%.1f s)", how, len(wanted), directory.path, stop, seconds)
    return found


def _load_log(path: Path, tp: TopicPartition, config: LogConfig, settings: LogSettings, known: _Known) -> PartitionLog:
    from tidelog.log.partition.opening import Checkpointed  # a broker without partitions starts without them
    from tidelog.log.partition.partition_log import PartitionLog

    checkpointed = Checkpointed(
        known.recovery_points.get(tp, 0), known.log_starts.get(tp, 0), known.high_watermarks.get(tp, 0), known.clean
    )
    try:
        return PartitionLog.open(path, config, settings, checkpointed)
    except KafkaError as error:
        if disk_error(error) is not None:
            raise
        raise StorageError(f"{path} cannot be loaded: {error.message}") from error


def choose(one: PartitionLog, other: PartitionLog) -> tuple[PartitionLog, PartitionLog]:
    """(the one to serve, the one to spare) of two logs of a partition.

    A move between directories that was cut off leaves both. The copy had everything when it took the present log's
    place, so what one of them has more was written later, or it is what a power loss took from the other.
    """
    if one.topic_id is None or one.topic_id != other.topic_id:
        raise StorageError(
            f"{one.topic_partition} lies in {one.dir} and in {other.dir}, and they do not say that they belong to the "
            "same topic: remove one of them"
        )
    first, second = sorted((one, other), key=_progress, reverse=True)
    return first, second


def _progress(log: PartitionLog) -> tuple[int, int, int]:
    return log.leader_epochs.latest_epoch, log.log_end_offset, log.log_start_offset


def close_all(logs: Sequence[PartitionLog], threads: int, volume: Volume | None) -> None:
    """Flush and close logs; they are not used any more, so that any thread may. Raises the first disk error.

    Closing waits for the disk and does little else. A journalling file system commits what several threads sync at the
    same time as one. Many logs on a disk that can be synced as a whole take two syncs together; those whose
    directory is a link to another disk are none of them.
    """
    one_by_one = logs
    if volume is not None and len(logs) >= BULK:
        held = {log for log in logs if volume.holds(log.dir)}
        _close_at_once([log for log in logs if log in held], volume)
        one_by_one = [log for log in logs if log not in held]
    for _ in in_threads(lambda log: log.close(), one_by_one, max(threads, CLOSING_THREADS), chunk=1):
        continue


def _close_at_once(logs: Sequence[PartitionLog], volume: Volume) -> None:
    """Write everything, sync the file system, let the leader epochs take their names, and sync that."""

    def finish(log: PartitionLog) -> FlushJob | None:
        log.finish()
        job = log.flush_job()
        if job is not None:
            job.stage()
        log.release()
        return job

    jobs = [(log, job) for log, job in zip(logs, map(finish, logs), strict=True) if job is not None]
    if jobs:
        volume.sync()
    if sum(job.publish() for _, job in jobs):
        volume.sync()
    for log, job in jobs:
        log.flush_done(job)


def in_threads(function: Callable[[T], R], items: Sequence[T], threads: int, chunk: int = CHUNK) -> Iterable[R]:
    """The results in order. With one thread, or one item, no other thread is started."""
    if threads <= 1 or len(items) <= 1:
        yield from map(function, items)
        return
    chunk = max(1, min(chunk, len(items) // threads))  # handing over what takes microseconds must not take longer
    pieces = [items[start : start + chunk] for start in range(0, len(items), chunk)]
    with ThreadPoolExecutor(min(threads, len(pieces)), thread_name_prefix="log-loader") as pool:
        for results in pool.map(lambda piece: list(map(function, piece)), pieces):
            yield from results
