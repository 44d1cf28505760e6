"""What a producer has written, read straight from the broker's files."""

from __future__ import annotations

from tidelog.records.format.batch import Record, RecordBatch, iter_batches
from tidelog.testing import Broker


def batches_of(broker: Broker, topic: str, partition: int) -> list[RecordBatch]:
    """The batches of a partition, in order."""
    files = sorted((broker.data_dir / f"{topic}-{partition}").glob("*.log"))
    return [batch for file in files for batch in iter_batches(file.read_bytes())]


def records_of(broker: Broker, topic: str, partition: int) -> list[Record]:
    """The records of a partition, markers left out."""
    found = [batch for batch in batches_of(broker, topic, partition) if not batch.header.is_control]
    return [record for batch in found for record in batch.records()]


def values_of(broker: Broker, topic: str, partition: int) -> list[bytes | None]:
    return [record.value for record in records_of(broker, topic, partition)]
