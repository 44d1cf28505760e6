"""Loading all partitions of a log directory at the start.

A partition is loaded by one thread from beginning to end; only then does the owner see it. After an unclean stop most
of the start's time goes into reading and checking everything behind the recovery point, in code that releases the GIL:
that is done by `num.recovery.threads.per.data.dir` threads. A log with nothing to check is loaded by a few system calls
between two pieces of Python; threads would only hand the GIL to and fro. So what lies in a directory is looked at
first, on one thread, and only the logs with bytes in them are left to the others. Of twenty thousand partitions most
are idle, and those decide how long the start takes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tidelog.common.clock import Clock
from tidelog.common.errors import KafkaError, StorageError
from tidelog.common.fs import FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import LogDir, Offsets, disk_error
from tidelog.log.names import LOG, DirName

if TYPE_CHECKING:
    from tidelog.log.partition.opening import LogSettings
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger(__name__)

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


class _Wanted(NamedTuple):
    """A partition that is to be loaded, and the files of its directory by name and size."""

    path: Path
    name: DirName
    sizes: Mapping[str, int]

    @property
    def idle(self) -> bool:
        """Whether no segment holds a byte: then there is nothing to read, whatever the recovery point says."""
        return not any(size and name.endswith(LOG) for name, size in self.sizes.items())


class Loading:
    """One start's loading. `settings_in(directory)` is what its logs are opened with.

    A directory that fails while it is loaded is reported as that error; the others are loaded all the same.
    """

    def __init__(
        self,
        fs: FileSystem,
        clock: Clock,
        settings_in: Callable[[Path], LogSettings],
        config_for: Callable[[str], LogConfig],
        threads: int,
    ) -> None:
        self._fs = fs
        self._clock = clock
        self._settings_in = settings_in
        self._config_for = config_for
        self._threads = threads

    def load_dirs(self, directories: Sequence[LogDir]) -> list[Found | BaseException]:
        """Load several directories side by side (they are different disks, as a rule); per directory what came of
        it."""

        def load(directory: LogDir) -> Found | BaseException:
            try:
                return self._load_dir(directory)
            except (OSError, KafkaError) as error:
                return error

        return list(in_threads(load, directories, len(directories), chunk=1))

    def _load_dir(self, directory: LogDir) -> Found:
        """Everything in a directory. The marker of a clean stop is taken away first: should this start be cut off, the
        next one must not believe what it had promised. Directories on their way out or aside are not opened at all."""
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
            self._config_for(topic)  # a wrong one stops the start here, before the marker is taken
        known = _Known(
            directory.take_shutdown_marker(),
            directory.recovery_points(),
            directory.log_start_offsets(),
            directory.high_watermarks(),
        )
        found.recorded.update(known.recovery_points, known.log_starts, known.high_watermarks)
        if wanted:
            started = self._clock.monotonic()
            found.logs.extend(self._load_logs(directory, wanted, known))
            how, seconds = "loaded" if known.clean else "recovered", self._clock.monotonic() - started
            stop = "a clean" if known.clean else "an unclean"
            logger.info(
                "%s %d partitions of %s after %s stop (%.1f s)", how, len(wanted), directory.path, stop, seconds
            )
        return found

    def _load_logs(
        self, directory: LogDir, wanted: Sequence[tuple[Path, DirName]], known: _Known
    ) -> Iterable[tuple[DirName, PartitionLog]]:
        """The logs in the order of `wanted`, each with the name of its directory."""
        settings, config = self._settings_in(directory.path), cache(self._config_for)

        def load(one: _Wanted) -> PartitionLog:
            tp = one.name.topic_partition
            return _load_log(one, config(tp.topic), settings, known)

        loaded: dict[Path, PartitionLog] = {}
        busy: list[_Wanted] = []
        for path, name in wanted:
            one = _Wanted(path, name, self._fs.sizes(path))
            if known.clean or one.idle:
                loaded[path] = load(one)
            else:
                busy.append(one)
        loaded.update(zip((one.path for one in busy), in_threads(load, busy, self._threads), strict=True))
        return [(name, loaded[path]) for path, name in wanted]


def _load_log(one: _Wanted, config: LogConfig, settings: LogSettings, known: _Known) -> PartitionLog:
    """One log. What is wrong with its files, and not with the disk, stops the start: the operator has to look."""
    from tidelog.log.partition.opening import Checkpointed  # a broker without partitions starts without them
    from tidelog.log.partition.partition_log import PartitionLog

    tp = one.name.topic_partition
    checkpointed = Checkpointed(
        known.recovery_points.get(tp, 0), known.log_starts.get(tp, 0), known.high_watermarks.get(tp, 0), known.clean
    )
    try:
        return PartitionLog.open(one.path, config, settings, checkpointed, sizes=one.sizes)
    except KafkaError as error:
        if disk_error(error) is not None:
            raise
        raise StorageError(f"{one.path} cannot be loaded: {error.message}") from error


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
