"""From the log to the machine: every record of an internal-topic partition, once and in order.

What compaction has left is enough: the last record of each key, and tombstones that are not old enough to go. The order
of what is left is the order in which it was written, which is all that `replay` asks for.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from tidelog.broker.coordinator.ports import Machine, PartitionWriter
from tidelog.broker.coordinator.records import CoordinatorRecord, RecordCodec
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.control import parse_end_txn_marker

logger = logging.getLogger(__name__)


def replay_log(tp: TopicPartition, writer: PartitionWriter, machine: Machine, codec: RecordCodec) -> Iterator[None]:
    """Batch by batch; a step is one batch. Control batches are the ends of transactions: they decide what becomes
    of the offsets that were replayed as pending before them.
    """
    for buffer in writer.read_all(tp):
        for batch in iter_batches(buffer):
            if batch.is_control:
                marker = parse_end_txn_marker(batch)
                if marker is not None:
                    machine.replay_marker(batch.producer_id, batch.producer_epoch, marker.committed)
                continue
            producer_id = batch.producer_id if batch.is_transactional else -1
            for record in batch:
                typed = _decoded(tp, codec, record.key, record.value, record.offset)
                if typed is not None:
                    machine.replay(typed, producer_id)
            yield


def _decoded(
    tp: TopicPartition, codec: RecordCodec, key: bytes | None, value: bytes | None, offset: int
) -> CoordinatorRecord | None:
    """A record that cannot be read is logged and passed over: one broken record must not keep a thousand groups
    from being served. A record that can be read and not replayed is a bug, and stops the load.
    """
    try:
        return codec.decode(key, value)
    except CorruptRecordError as error:
        logger.error("%s: skipping the record at offset %d: %s", tp, offset, error)
        return None
