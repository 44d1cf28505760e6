"""The attribute bits of a batch, and what its header says.

    bits 0-2   codec                       all magics
    bit  3     timestamp type              since magic 1 (0 CreateTime, 1 LogAppendTime)
    bit  4     part of a transaction       since magic 2
    bit  5     control batch (markers)     since magic 2
    bit  6     delete horizon              since magic 2: base_timestamp holds the horizon (see log.cleaner)

Magic 0 and 1 keep them in one byte, magic 2 in two; the bits are the same.

LogAppendTime is in the attributes rather than in the records because a broker sets it without touching them: one bit
and the largest timestamp, and every record of the batch has that time.
"""

from __future__ import annotations

from enum import IntEnum

from tidelog.common.named_tuple import NamedTuple

MAGIC_V0, MAGIC_V1, MAGIC_V2 = 0, 1, 2
CURRENT_MAGIC = MAGIC_V2

CODEC_MASK = 0x07
TIMESTAMP_TYPE_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40


class Codec(IntEnum):
    """Compression of a batch; the value is what the attribute bits hold."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4

    @classmethod
    def from_name(cls, name: str) -> Codec:
        """The codec of a `compression.type` value; Kafka also calls none `uncompressed`."""
        try:
            return cls.NONE if name == "uncompressed" else cls[name.upper()]
        except KeyError:
            raise ValueError(f"unknown codec {name!r}: expected one of none, gzip, snappy, lz4, zstd") from None

    @property
    def label(self) -> str:
        """The name as configuration writes it."""
        return self.name.lower()


class TimestampType(IntEnum):
    """Who set the timestamps: the producer, or the broker when it appended."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """One batch's header. Magic 0 and 1 entries fill what they have: `base_offset` is then the entry's offset,
    which for a compressed wrapper is that of its *last* record, and `record_count` is -1 if it is not known.

    `last_offset_delta` is kept by compaction when the last records go: the next batch's offset must not move, and
    followers and clients find out by it where a batch ends. `base_sequence` plus the delta is the last sequence number,
    which is why idempotent batches have no holes when they are produced.
    """

    position: int
    size: int
    base_offset: int
    last_offset_delta: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> Codec:
        return Codec(self.attributes & CODEC_MASK)

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == MAGIC_V0:
            return TimestampType.NO_TIMESTAMP
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_BIT else TimestampType.CREATE_TIME

    @property
    def is_compressed(self) -> bool:
        return bool(self.attributes & CODEC_MASK)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last record; sequences wrap from 2**31 - 1 to 0."""
        if self.base_sequence < 0:
            return self.base_sequence
        return (self.base_sequence + self.last_offset_delta) & 0x7FFFFFFF

    @property
    def delete_horizon(self) -> int | None:
        """When the tombstones and markers of this batch may go (ms), once the cleaner has set it."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON_BIT else None
