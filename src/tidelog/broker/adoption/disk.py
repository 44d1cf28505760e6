"""What the log directories say by themselves: topics, ids, partitions, leader epochs, producer ids.

A directory of ZooKeeper's time has nothing else: its metadata was in a ZooKeeper that may be gone. Names of directories
give topics and partitions, `partition.metadata` (since Kafka 2.8) the topic's id, `leader-epoch-checkpoint` the epochs.
Which configs a topic had is nowhere on the disk: such topics are guarded (`guard.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.common.fs import FileSystem
from tidelog.common.types import NO_EPOCH, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.log import checkpoint, partition_metadata
from tidelog.log.names import LEADER_EPOCH_FILE
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.protocol.disk import TRANSACTION_STATE
from tidelog.records.format.batch import iter_batches

logger = logging.getLogger(__name__)

READ_CHUNK = 4 << 20


@dataclass
class DiskTopic:
    """A topic as its directories have it. Without an id it was made before topics had one, and gets one now."""

    name: str
    topic_id: bytes | None = None
    #: partition → the newest leader epoch that its log knows
    partitions: dict[int, int] = field(default_factory=dict)


def read_topics(fs: FileSystem, found: Mapping[TopicPartition, Path]) -> dict[str, DiskTopic]:
    """The topics of these partitions. A topic's id must be the same in all of them."""
    topics: dict[str, DiskTopic] = {}
    for tp, path in sorted(found.items()):
        topic = topics.setdefault(tp.topic, DiskTopic(tp.topic))
        topic_id = partition_metadata.read(fs, path)
        if topic.topic_id is None:
            topic.topic_id = topic_id
        elif topic_id is not None and topic_id != topic.topic_id:
            logger.error("%s has another topic id than its topic's other partitions: it will not be served", path)
            continue
        topic.partitions[tp.partition] = _latest_epoch(fs, path)
    return topics


def _latest_epoch(fs: FileSystem, path: Path) -> int:
    """What cannot be read is no reason to refuse the log: recovery builds the file anew from the batches' headers."""
    file = path / LEADER_EPOCH_FILE
    try:
        lines = checkpoint.read_lines(fs, file)
        return max((int(line.split()[0]) for line in lines), default=NO_EPOCH)
    except (KafkaError, ValueError, IndexError) as error:
        logger.warning("%s cannot be read (%s); its epochs are taken from the log", file, error)
        return NO_EPOCH


def highest_producer_id(logs: Iterable[PartitionLog]) -> int:
    """The largest producer id that the logs know of; -1 when there is none.

    A log remembers those whose records it still has, for a day after the last (producer.id.expiration.ms). A
    transactional id may hold one that has written nothing for longer; the coordinators' topic knows it.
    """
    highest = -1
    for log in logs:
        highest = max(highest, max(log.producers.entries, default=-1))
        if log.topic_partition.topic == TRANSACTION_STATE_TOPIC:
            highest = max(highest, _highest_transactional(log))
    return highest


def _highest_transactional(log: PartitionLog) -> int:
    """Transactional ids keep their producer id for a week, long after its records: read them all."""
    highest, offset = -1, log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, READ_CHUNK)
        if found.slice is None:
            break
        try:
            data = found.slice.read()
        finally:
            found.slice.release()
        for batch in iter_batches(data):
            offset = batch.next_offset
            if batch.is_control:
                continue
            for record in batch:
                if record.key is None or record.value is None:
                    continue
                try:
                    value = TRANSACTION_STATE.decode_value(TRANSACTION_STATE.decode_key(record.key), record.value)
                except ProtocolError as error:
                    logger.warning("%s offset %d cannot be read: %s", log.topic_partition, record.offset, error)
                    continue
                highest = max(highest, getattr(value, "producer_id", -1))
    return highest
