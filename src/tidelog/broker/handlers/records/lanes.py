"""Which partitions the compiled Produce may serve, and what it must heed there.

The compiled form knows one kind of append: an uncompressed batch of magic 2 goes into the log as it came, and its
answer leaves at once. Here it is decided where that is all that Kafka asks for:

- the broker leads the partition, and the topic is not internal (clients may not write to those);
- nothing has to be converted: `compression.type` is `producer` or `uncompressed`, the message format is the present
one;
- nothing has to be waited for: no `flush.messages`, and with acks=all no other replica.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.handlers.records._lane import Lane
from tidelog.common.types import INTERNAL_TOPICS, MAX_INT64
from tidelog.records.format.attributes import MAGIC_V2, Codec

if TYPE_CHECKING:  # a broker starts without the modules of partitions: one that has none needs none
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.partition import Partition


def lanes_of(replicas: ReplicaManager, key: bytes, by_id: bool) -> list[Lane | None] | None:
    """The lanes of a topic's partitions, by number; None for a topic that is not hosted here.

    `key` is the topic's name or (from Produce version 13 on) its id, as it stands in the request.
    """
    name = replicas.topic_name(key) if by_id else key.decode("utf-8", "replace")
    if name is None or name in INTERNAL_TOPICS:
        return None
    partitions = replicas.topic(name)
    if not partitions:
        return None
    return [lane_of(partitions[number]) if number in partitions else None for number in range(max(partitions) + 1)]


def lane_of(partition: Partition) -> Lane:
    """With `message.timestamp.type=LogAppendTime` the broker stamps the batch: what its timestamps were is no
    matter."""
    config = partition.log.config
    own_time = config.log_append_time
    return Lane(
        partition,
        open=partition.is_leader
        and partition.rules.codec in (None, Codec.NONE)
        and partition.rules.magic == MAGIC_V2
        and config.flush_messages == MAX_INT64,
        acks_all=partition.alone and partition.min_isr <= len(partition.isr),
        needs_keys=config.compact,
        max_batch=min(config.max_message_bytes, config.segment_size),
        before_max=MAX_INT64 if own_time else config.message_timestamp_before_max_ms,
        after_max=MAX_INT64 if own_time else config.message_timestamp_after_max_ms,
    )
