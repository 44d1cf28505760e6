"""A broker with several log directories in the test's own loop: topics, records and moves without a client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.appending import append
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.server import Broker
from tidelog.common.errors import KafkaError
from tidelog.common.fs import LOCAL_FS, FileSystem
from tidelog.common.types import TopicPartition
from tidelog.log.directory.log_dir import LogDir
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.builder import BatchBuilder

#: A move of a chunk takes hours: it is under way for as long as a test wants.
SLOW = {"replica.alter.log.dirs.io.max.bytes.per.second": "1"}


def broker_on(*dirs: Path, fs: FileSystem = LOCAL_FS, **settings: str) -> Broker:
    """A broker over these directories; the first holds the store."""
    values = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": ",".join(map(str, dirs)),
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    return Broker(values, fs=fs)


async def create(broker: Broker, topic: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
    outcome = (await broker.controller.create_topics([NewTopic(topic, partitions, 1, configs=dict(configs or {}))]))[0]
    if isinstance(outcome, KafkaError):
        raise outcome


async def write(broker: Broker, tp: TopicPartition, values: Sequence[bytes]) -> int:
    """Append a batch, acks=all; the offset after it."""
    builder = BatchBuilder()
    for value in values:
        builder.append(broker.clock.time_ms(), b"k", value)
    return (await append(broker.replicas, tp, builder.build())).last_offset + 1


def log_of(broker: Broker, tp: TopicPartition) -> PartitionLog:
    partition = broker.replicas.partition(tp)
    assert partition is not None
    return partition.log


def other_dir(broker: Broker, tp: TopicPartition) -> LogDir:
    """A directory in which the partition does not lie."""
    manager = broker.log_manager
    here = manager.dir_of(log_of(broker, tp))
    return next(directory for directory in manager.live_dirs if directory is not here)


def move(broker: Broker, tp: TopicPartition) -> LogDir:
    """Begin to move a partition to another directory; returns that."""
    partition, target = broker.replicas.partition(tp), other_dir(broker, tp)
    assert partition is not None
    broker.movers.move(partition, target)
    return target


def leftovers(*dirs: Path) -> list[str]:
    """The partitions' directories that are neither plain nor on their way out."""
    return [
        path.name for directory in dirs for path in directory.iterdir() if path.name.endswith(("-future", "-stray"))
    ]
