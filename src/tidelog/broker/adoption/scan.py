"""Whether there is anything to adopt: asked at every start, so it only lists names and looks into the store.

Two things are found out without reading a single file of a partition: whether there are partitions that the store does
not know (a Kafka made them), and whether a Kafka has served the directories since they were ours. A broker that was
never anything but Tidelog pays for the question with one listing per directory and two reads of the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tidelog.broker.adoption.metadata_files import log_files
from tidelog.broker.store import paths
from tidelog.broker.store.adopted import VERSION, Note, read_note
from tidelog.broker.store.api import Store
from tidelog.common.fs import FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.log.directory import shutdown_marker
from tidelog.log.directory.log_dir import LogDir
from tidelog.log.manager.manager import LogManager
from tidelog.log.names import METADATA_LOG_DIR


class Scan(NamedTuple):
    """What lies there. `kafka_ran`: an Apache Kafka has served the directories since they were adopted."""

    found: Mapping[TopicPartition, Path]
    metadata_log: Path | None
    note: Note | None
    kafka_ran: bool


async def scan_directories(store: Store, manager: LogManager, metadata_dir: str | None) -> Scan | None:
    """What is to be adopted: None when the store knows every partition, and no Kafka has been here.

    Of each topic only the highest partition is looked up: partitions are added at the end and never taken away.
    """
    fs, directories = manager.fs, manager.live_dirs
    found = manager.partition_dirs()
    highest: dict[str, int] = {}
    for tp in found:
        highest[tp.topic] = max(highest.get(tp.topic, 0), tp.partition)
    states = await store.get_many([paths.partition_state(name, index) for name, index in highest.items()])
    note = await read_note(store)
    metadata_log = _metadata_log(fs, directories, metadata_dir)
    ran = _kafka_ran(fs, directories, metadata_log, note)
    if not ran and all(state is not None for state in states):
        return None
    return Scan(found, metadata_log, note, ran)


def _metadata_log(fs: FileSystem, directories: Sequence[LogDir], configured: str | None) -> Path | None:
    candidates = [Path(configured)] if configured is not None else []
    candidates += [directory.path for directory in directories]
    return next((path / METADATA_LOG_DIR for path in candidates if fs.exists(path / METADATA_LOG_DIR)), None)


def _kafka_ran(fs: FileSystem, directories: Sequence[LogDir], metadata_log: Path | None, note: Note | None) -> bool:
    """By its metadata log, which grows; without one, by its mark of a clean stop, which is not spelt as ours is."""
    if metadata_log is not None:
        return note is None or note.log != log_files(fs, metadata_log)
    if note is None or note.version < VERSION:  # before that, our mark was spelt as Kafka's
        return False
    return any(shutdown_marker.is_kafkas(fs, directory.path) for directory in directories)
