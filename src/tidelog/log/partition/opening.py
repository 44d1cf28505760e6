"""What a log is opened with, and the opening itself: from a directory to the parts that a `PartitionLog` has.

`LogSettings` are the same for every log of a log directory: made once, whether there are ten partitions or twenty
thousand. `Checkpointed` is what the checkpoint files of that directory say about one partition; what they do not say
costs time and no data.

A directory that is made here is not synced, nor is anything in it: what makes a partition exist is the cluster's
metadata, and a broker that finds no directory for a partition it should have makes it anew. Its first flush syncs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.fs import FileSystem
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition
from tidelog.log import partition_metadata
from tidelog.log.config import LogConfig
from tidelog.log.leader_epochs import LeaderEpochs
from tidelog.log.names import LEADER_EPOCH_FILE, PARTITION_METADATA_FILE, parse_dir
from tidelog.log.producers.state_manager import DEFAULT_EXPIRATION_MS, ProducerStateManager
from tidelog.log.recovery.loader import LoadedLog, LogLoader
from tidelog.log.segment._handles import FileBudget
from tidelog.log.segment.home import Home
from tidelog.records.format.attributes import MAGIC_V2


class LogSettings(NamedTuple):
    """The seams by which a log reaches the world, and what the broker, not the topic, decides about it."""

    fs: FileSystem
    clock: Clock
    rng: Rng
    files: FileBudget
    scheduler: Scheduler
    producer_expiration_ms: int = DEFAULT_EXPIRATION_MS
    #: `transaction.partition.verification.enable`, for a topic that clients write to.
    verify_transactions: bool = False


class Checkpointed(NamedTuple):
    """What was written down about a partition before the last stop.

    `clean`: the log directory was closed properly; otherwise everything from the recovery point on is checked.
    """

    recovery_point: int = 0
    log_start_offset: int = 0
    high_watermark: int | None = None
    clean: bool = True


class OpenedLog(NamedTuple):
    """The parts of a log, loaded and recovered. Nothing of it is open, unless recovery had to read it."""

    home: Home
    topic_partition: TopicPartition
    topic_id: bytes | None
    epochs: LeaderEpochs
    producers: ProducerStateManager
    loaded: LoadedLog


NOTHING_KNOWN = Checkpointed()


def open_parts(
    dir: Path,
    config: LogConfig,
    settings: LogSettings,
    known: Checkpointed,
    topic_id: bytes | None,
    sizes: Mapping[str, int] | None,
) -> OpenedLog:
    """Open (or make) the directory `topic-partition`. `sizes`: what lies in it, for a caller that has looked."""
    name = parse_dir(dir.name)
    if name is None:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{dir}: not the name of a partition's directory")
    fs = settings.fs
    home = Home(dir, fs, settings.clock, settings.files)
    with home:
        fresh = sizes is None and fs.mkdir(dir)
        if sizes is None:
            sizes = {} if fresh else fs.sizes(dir)
        topic_id = _settle_topic_id(home, topic_id, PARTITION_METADATA_FILE in sizes)
        epochs = LeaderEpochs.load(home) if LEADER_EPOCH_FILE in sizes else LeaderEpochs(home)
        if config.record_magic < MAGIC_V2:
            epochs.clear()
        loader = LogLoader(
            home,
            config,
            rng=settings.rng,
            epochs=epochs,
            log_start_offset=known.log_start_offset,
            recovery_point=known.recovery_point,
            clean=known.clean,
            expiration_ms=settings.producer_expiration_ms,
        )
        loaded, producers = loader.begin() if fresh else loader.load(sizes)
    return OpenedLog(home, name.topic_partition, topic_id, epochs, producers, loaded)


def _settle_topic_id(home: Home, topic_id: bytes | None, said: bool) -> bytes | None:
    """The topic's id: what the directory says, or from now on says, if the caller knows it.

    A directory of another id is what is left of a deleted topic of that name. Its records must not turn up in the new
    one, so it is refused here; who loads a whole directory sets it aside instead (`placing.py`).
    """
    known = partition_metadata.read(home.fs, home.path) if said else None
    if topic_id is None or topic_id == known:
        return known
    if known is not None:
        raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{home.path} belongs to another topic of that name")
    partition_metadata.write(home.fs, home.path, topic_id)
    home.unsynced.add_name()
    return topic_id
