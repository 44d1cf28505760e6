"""What a topic asks of the records that clients send to it: rules that come from its config, and two that always hold.

They are looked at before a byte is written, on whatever thread has time; only what depends on the log's end (producers'
sequences, timestamps that the broker stamps) is left to the append itself.
"""

from __future__ import annotations

from functools import lru_cache

from tidelog.common.errors import ErrorCode, InvalidRecordError
from tidelog.log.config import LogConfig
from tidelog.records.format.attributes import MAGIC_V2, Codec, TimestampType
from tidelog.records.format.layout import LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET
from tidelog.records.format.validate import ProduceRules
from tidelog.records.kernel._batches import BatchRun

Records = BatchRun | bytes | bytearray | memoryview

#: Few packed bytes may hold many: what turns out to hold more than this is not unpacked on the event loop.
UNPACKED_ON_LOOP = 256 << 10
#: Errors whose answer does not carry the log start offset.
TELL_NO_START = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    }
)


def produce_rules(config: LogConfig) -> ProduceRules:
    """What a topic's config asks of the records that clients send."""
    name = config.compression_type
    codec = None if name == "producer" else Codec.NONE if name == "uncompressed" else Codec.from_name(name)
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return ProduceRules(
        codec=codec,
        level=None if codec is None else levels.get(codec),
        timestamp_type=TimestampType.LOG_APPEND_TIME if config.log_append_time else TimestampType.CREATE_TIME,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
        compacted=config.compact,
        magic=config.record_magic,
    )


@lru_cache(maxsize=256)
def on_the_loop(rules: ProduceRules) -> ProduceRules:
    """The same rules with little room for what is unpacked. Topics have few different ones; they are kept here, because
    to make them anew would be a tenth of a small request's cost, and to keep them in each partition a third of its
    rules' memory."""
    return rules._replace(max_unpacked_bytes=UNPACKED_ON_LOOP)


def refuse_base_offset(records: Records) -> None:
    """A producer counts its records from 0; the offsets are the log's to give. (Old formats may carry any.)"""
    if isinstance(records, BatchRun):
        base = max((header.base_offset for header in records.headers() if header.magic == MAGIC_V2), default=0)
    else:
        is_batch = len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] == MAGIC_V2
        base = int.from_bytes(records[:LENGTH_OFFSET], "big", signed=True) if is_batch else 0
    if base != 0:
        raise InvalidRecordError(f"The baseOffset of the record batch should be 0, but it is {base}")


def largest_batch(records: Records, limit: int) -> int:
    """The size of the first batch above `limit`, or 0: there is none. Nothing is unpacked for it, and batches that came
    through compiled code were measured there."""
    if isinstance(records, BatchRun) or len(records) <= limit:
        return 0
    position = 0
    while len(records) - position >= LOG_OVERHEAD:
        size = LOG_OVERHEAD + int.from_bytes(records[position + LENGTH_OFFSET : position + LOG_OVERHEAD], "big")
        if size > limit:
            return size
        position += size
    return 0
