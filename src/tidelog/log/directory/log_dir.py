"""One of the broker's log directories: its lock, its identity, and the four checkpoints in its root.

    .lock                               held by the running broker
    meta.properties                     whose directory this is
    .kafka_cleanshutdown                there only after a clean stop
    recovery-point-offset-checkpoint    up to where each partition is known to be flushed
    log-start-offset-checkpoint         where each partition begins (only where that is not a segment's start)
    replication-offset-checkpoint       each partition's high watermark
    cleaner-offset-checkpoint           up to where each compacted partition is clean
    <topic>-<partition>/                the partitions (and `-delete`, `-future`, `-stray` ones)

A checkpoint that is missing, empty or malformed only means ignorance: recovery starts earlier, cleaning from the
front. That costs time and never data, so it is reported and the broker goes on. A directory that does not answer at
all (`OSError`) goes offline; what reads and writes here raises, and the log manager decides.

The lock is Kafka's as well (a POSIX record lock on `.lock`), so that neither can start on a directory that the other
one has. It goes with the process: a broker that was killed leaves no lock behind.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path

from tidelog.common.errors import StorageError
from tidelog.common.fs import FileLock, FileSystem, Volume
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.log import checkpoint
from tidelog.log.directory import meta_properties, shutdown_marker
from tidelog.log.directory.meta_properties import MetaProperties
from tidelog.log.names import (
    CLEANER_OFFSET_FILE,
    LOCK_FILE,
    LOG_START_FILE,
    METADATA_LOG_DIR,
    RECOVERY_POINT_FILE,
    REPLICATION_OFFSET_FILE,
    DirName,
    parse_dir,
)

logger = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]
CHECKPOINTS = (CLEANER_OFFSET_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, REPLICATION_OFFSET_FILE)


def disk_error(error: BaseException) -> OSError | None:
    """The disk's error behind an exception; None when the disk is not to blame."""
    if isinstance(error, OSError):
        return error
    cause = error.__cause__
    return cause if isinstance(error, StorageError) and isinstance(cause, OSError) else None


class Snapshot(NamedTuple):
    """The contents of some checkpoint files at one moment; `number` rises from snapshot to snapshot."""

    number: int
    files: dict[str, Offsets]


class LogDir:
    """An open log directory. `error` is why it is offline, or None while it serves."""

    def __init__(self, path: Path, fs: FileSystem) -> None:
        self.path = path
        self._fs = fs
        self._lock: FileLock | None = None
        #: What the directory lies on, opened before anything is written: its sync tells of errors since then.
        self.volume: Volume | None = None
        self.meta: MetaProperties | None = None
        self.error: OSError | None = None
        #: What the previous run left: set by `open`.
        self.was_clean = False
        self.broker_epoch = shutdown_marker.NO_BROKER_EPOCH
        #: Set once every partition is loaded: before that, a clean-stop marker would lie.
        self.loaded = False
        self._order = count()
        self._writing = threading.Lock()
        self._written: dict[str, int] = {}

    @property
    def online(self) -> bool:
        return self.error is None

    def open(self) -> None:
        """Make the directory if need be and take its lock; raises StorageError when another broker has it."""
        self._fs.mkdir(self.path)
        self._lock = self._fs.lock(self.path / LOCK_FILE)
        if self._lock is None:
            raise StorageError(
                f"{self.path} is in use: another broker holds its {LOCK_FILE} file. Stop it, or choose other log.dirs."
            )
        self.volume = self._fs.volume(self.path)
        self.meta = meta_properties.read(self._fs, self.path)
        for name in CHECKPOINTS:  # a root directory holds all four from its first day, empty ones too
            self._fs.open(self.path / name, create=True).close()

    def take_shutdown_marker(self) -> bool:
        """Whether the last stop was clean; the marker is gone afterwards."""
        self.was_clean = shutdown_marker.exists(self._fs, self.path)
        if self.was_clean:
            self.broker_epoch = shutdown_marker.read_broker_epoch(self._fs, self.path)
            shutdown_marker.remove(self._fs, self.path)
        return self.was_clean

    def write_shutdown_marker(self, broker_epoch: int) -> None:
        """The last write of a stop: everything before it is synced. The next start believes what it finds."""
        shutdown_marker.write(self._fs, self.path, broker_epoch)

    def write_meta(self, properties: MetaProperties) -> None:
        """Give the directory its identity, once: a broker of another node or cluster refuses it from then on."""
        meta_properties.write(self._fs, self.path, properties)
        self.meta = properties

    def partitions(self) -> Iterator[tuple[Path, DirName]]:
        """The partitions' directories, in order; what is none is passed over with a warning."""
        for name in self._fs.subdirectories(self.path):
            if name == METADATA_LOG_DIR:
                continue
            parsed = parse_dir(name)
            if parsed is None:
                logger.warning("%s is not a partition's directory and is left alone", self.path / name)
                continue
            yield self.path / name, parsed

    def recovery_points(self) -> Offsets:
        return self._read(RECOVERY_POINT_FILE, "every log is recovered from its start")

    def log_start_offsets(self) -> Offsets:
        return self._read(LOG_START_FILE, "every log begins with its first segment")

    def high_watermarks(self) -> Offsets:
        return self._read(REPLICATION_OFFSET_FILE, "high watermarks start low")

    def cleaner_offsets(self) -> Offsets:
        return self._read(CLEANER_OFFSET_FILE, "compaction starts from the front")

    def write_cleaner_offsets(self, offsets: Mapping[TopicPartition, int]) -> None:
        self.write(Snapshot(next(self._order), {CLEANER_OFFSET_FILE: dict(offsets)}))

    def snapshot(self, files: Mapping[str, Offsets]) -> Snapshot:
        """What is to be written into the checkpoint files, taken down now, in the order of the taking."""
        return Snapshot(next(self._order), dict(files))

    def write(self, snapshot: Snapshot) -> None:
        """Write checkpoint files. Any thread: of two snapshots the one that was taken later wins, whoever is faster.

        Per file: a snapshot of the high watermarks alone does not hold back one of all files that was taken before it.
        """
        with self._writing:
            for name, offsets in snapshot.files.items():
                if self._written.get(name, -1) < snapshot.number:
                    checkpoint.write_offsets(self._fs, self.path / name, offsets)
                    self._written[name] = snapshot.number

    def _read(self, name: str, consequence: str) -> Offsets:
        """A checkpoint, or nothing where it is unreadable: with a warning that says what this costs."""
        try:
            return checkpoint.read_offsets(self._fs, self.path / name)
        except checkpoint.CheckpointError as error:
            logger.warning("%s; %s", error.message, consequence)
            return {}

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None
        if self.volume is not None:
            self.volume.close()
            self.volume = None
