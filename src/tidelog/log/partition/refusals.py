"""Why a log refuses something before anything is written or read: the error that a client gets, in Kafka's words.

The texts are Kafka's own where a client or an operator may look for them. Each of these errors is final for the
request: sending it again would not help.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig


def too_large(topic_partition: TopicPartition, config: LogConfig, size: int) -> KafkaError:
    """The error for a batch of this size. `max.message.bytes` is a topic's limit, to be raised by its owner; a batch
    that passes it and fits into no segment is the sign of a `segment.bytes` set below it."""
    if size > config.max_message_bytes:
        return KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"The record batch size in the append to {topic_partition} is {size} bytes which exceeds the "
            f"maximum configured value of {config.max_message_bytes}.",
        )
    return KafkaError(
        ErrorCode.RECORD_LIST_TOO_LARGE,
        f"Message batch size is {size} bytes in append to partition {topic_partition}, which exceeds the "
        f"maximum configured segment size of {config.segment_size}.",
    )


def out_of_range(topic_partition: TopicPartition, offset: int, start: int, end: int) -> KafkaError:
    """The error for a read that begins outside the log; a consumer answers it by `auto.offset.reset`."""
    return KafkaError(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"Received request for offset {offset} for partition {topic_partition}, but we only have log "
        f"segments from offset {start} up to {end}.",
    )


def start_past_the_high_watermark(topic_partition: TopicPartition, offset: int, high_watermark: int) -> KafkaError:
    """The error for DeleteRecords beyond what is replicated: a follower could come back with what was deleted."""
    return KafkaError(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        f"Cannot increment the log start offset to {offset} of partition {topic_partition} since it is "
        f"larger than the high watermark {high_watermark}",
    )
