"""KRaft's metadata log, read: the newest snapshot, then every record after it, folded into tables.

Only what a broker alone can use is kept. Records between a BeginTransaction and its end count when the end does. Types
that are not known are passed over, as newer Kafkas add some; a record that is known and does not parse is an error: it
is better not to start than to serve half a cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tidelog.broker.adoption.metadata_files import first_offset, segments, snapshots
from tidelog.common.errors import StorageError, TidelogError
from tidelog.common.fs import FileSystem
from tidelog.protocol.disk import UnknownTypeError, decode_metadata_record
from tidelog.protocol.message import Message
from tidelog.records.format.batch import iter_batches

#: Kinds of resources that configs belong to.
TOPIC_RESOURCE = 2
BROKER_RESOURCE = 4


@dataclass
class KafkaPartition:
    """Of a cluster's partition, what matters to one of its brokers alone: who had it, and how far its epochs went."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader_epoch: int


@dataclass
class KafkaTopic:
    name: str
    topic_id: bytes
    partitions: dict[int, KafkaPartition] = field(default_factory=dict)


@dataclass
class KafkaMetadata:
    """The state that the records add up to."""

    topics: dict[bytes, KafkaTopic] = field(default_factory=dict)
    #: (resource type, name) → configs
    configs: dict[tuple[int, str], dict[str, str]] = field(default_factory=dict)
    #: entity as sorted (type, name) pairs → quotas
    quotas: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = field(default_factory=dict)
    #: (user, mechanism) → credential record
    scram: dict[tuple[str, int], Any] = field(default_factory=dict)
    acls: int = 0
    next_producer_id: int = 0
    _pending: list[Message] | None = None

    def replay(self, record: Message) -> None:
        """One record more. KRaft writes large changes as transactions (KIP-868): whoever reads sees all of one or none.
        A snapshot that ends inside of one does not exist; a log that does was cut off, and the rest never happened."""
        kind = type(record).__name__
        if kind == "BeginTransactionRecord":
            self._pending = []
        elif kind == "AbortTransactionRecord":
            self._pending = None
        elif kind == "EndTransactionRecord":
            pending, self._pending = self._pending or [], None
            for held in pending:
                self._apply(held)
        elif self._pending is not None:
            self._pending.append(record)
        else:
            self._apply(record)

    def _apply(self, record: Any) -> None:
        """By the name of its type; records that concern brokers, voters or features say nothing to a broker alone."""
        apply = getattr(self, "_" + type(record).__name__, None)
        if apply is not None:
            apply(record)

    def _TopicRecord(self, record: Any) -> None:
        self.topics[record.topic_id] = KafkaTopic(record.name, record.topic_id)

    def _RemoveTopicRecord(self, record: Any) -> None:
        """Its configs go with it, without records of their own."""
        topic = self.topics.pop(record.topic_id, None)
        if topic is not None:
            self.configs.pop((TOPIC_RESOURCE, topic.name), None)

    def _PartitionRecord(self, record: Any) -> None:
        topic = self.topics.get(record.topic_id)
        if topic is not None:
            topic.partitions[record.partition_id] = KafkaPartition(
                tuple(record.replicas), tuple(record.isr), record.leader_epoch
            )

    def _PartitionChangeRecord(self, record: Any) -> None:
        """Only what changed is in the record; a leader of -2 means that it did not. Each new leader, and each time that
        there is none (-1), is a new leader epoch, which the record does not name: it is counted."""
        topic = self.topics.get(record.topic_id)
        partition = topic.partitions.get(record.partition_id) if topic is not None else None
        if partition is None:
            return
        if record.isr is not None:
            partition.isr = tuple(record.isr)
        if record.replicas is not None:
            partition.replicas = tuple(record.replicas)
        if record.leader != -2:
            partition.leader_epoch += 1

    def _ConfigRecord(self, record: Any) -> None:
        values = self.configs.setdefault((record.resource_type, record.resource_name), {})
        if record.value is None:
            values.pop(record.name, None)
        else:
            values[record.name] = record.value

    def _ClientQuotaRecord(self, record: Any) -> None:
        """An entity is a set of (type, name), such as user and client id together; a name of None is the default."""
        entity = tuple(sorted(((part.entity_type, part.entity_name) for part in record.entity), key=str))
        values = self.quotas.setdefault(entity, {})
        if record.remove:
            values.pop(record.key, None)
        else:
            values[record.key] = record.value

    def _UserScramCredentialRecord(self, record: Any) -> None:
        self.scram[record.name, record.mechanism] = record

    def _RemoveUserScramCredentialRecord(self, record: Any) -> None:
        self.scram.pop((record.name, record.mechanism), None)

    def _AccessControlEntryRecord(self, record: Any) -> None:
        self.acls += 1

    def _RemoveAccessControlEntryRecord(self, record: Any) -> None:
        self.acls -= 1

    def _ProducerIdsRecord(self, record: Any) -> None:
        """Each names the first id that no block has had yet. Blocks are given to brokers, used up or not."""
        self.next_producer_id = max(self.next_producer_id, record.next_producer_id)


def read_metadata_log(fs: FileSystem, directory: Path) -> KafkaMetadata:
    """Fold the newest snapshot and the log behind it. Segments may begin before the snapshot's end: Kafka deletes them
    later, so what the snapshot has already is passed over by its offset."""
    names = fs.listdir(directory)
    metadata = KafkaMetadata()
    first = 0
    for name in snapshots(names)[-1:]:
        first = first_offset(name)
        for _, record in _records(fs, directory / name):
            metadata.replay(record)
    for name in segments(names):
        for offset, record in _records(fs, directory / name):
            if offset >= first:
                metadata.replay(record)
    return metadata


def _records(fs: FileSystem, path: Path) -> Iterator[tuple[int, Message]]:
    """(offset, record) of every data record of a file; a torn batch at its end is not there."""
    try:
        for batch in iter_batches(fs.read_bytes(path), check_crc=True):
            if batch.is_control:
                continue
            for record in batch:
                try:
                    yield record.offset, decode_metadata_record(record.value or b"")
                except UnknownTypeError:
                    continue
    except TidelogError as error:
        raise StorageError(f"{path}, the metadata log, cannot be read: {error}") from error
