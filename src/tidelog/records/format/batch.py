"""RecordBatch: a view of one batch of any magic that unpacks its records only when asked.

`iter_batches` yields the whole batches of a buffer in order. A batch that is cut off at the end is left out, as every
Kafka client does: a fetch may stop in the middle of one. Magic 0 and 1 have no batches, so each entry is one: a plain
message is a batch of one record, a compressed wrapper is the batch of those that it wraps.

This is the convenient face for tools, tests and code that looks at few batches. Brokers work on `BatchRun`s, which hold
many headers and no Python objects; whoever wants all records of a log takes columns (`records.arrow`).
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator

from tidelog.common.errors import CorruptRecordError
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import MAGIC_V2, BatchHeader, Codec, TimestampType
from tidelog.records.format.layout import RECORD_BATCH_OVERHEAD
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._messages import read_entry
from tidelog.records.kernel._record import Record, read_records

__all__ = ["BatchHeader", "Record", "RecordBatch", "iter_batches"]

Source = bytes | bytearray | memoryview | mmap.mmap


class RecordBatch:
    """One batch. The bytes are not copied, and neither checked nor unpacked before the records are asked for."""

    __slots__ = ("_records", "header", "raw")

    def __init__(self, run: BatchRun, index: int) -> None:
        self.header = run.header(index)
        self.raw = run.view(index)
        self._records: list[Record] | None = None

    @property
    def magic(self) -> int:
        return self.header.magic

    @property
    def size(self) -> int:
        return self.header.size

    @property
    def position(self) -> int:
        """Where the batch starts in the buffer that it was found in."""
        return self.header.position

    @property
    def base_offset(self) -> int:
        """The first offset; a compressed wrapper of magic 0 or 1 must be unpacked to know it."""
        if self.header.magic < MAGIC_V2 and self.header.is_compressed:
            records = self.records()
            return records[0].offset if records else self.header.base_offset
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        return self.header.last_offset

    @property
    def next_offset(self) -> int:
        return self.header.next_offset

    @property
    def max_timestamp(self) -> int:
        return self.header.max_timestamp

    @property
    def timestamp_type(self) -> TimestampType:
        return self.header.timestamp_type

    @property
    def codec(self) -> Codec:
        return self.header.codec

    @property
    def leader_epoch(self) -> int:
        return self.header.leader_epoch

    @property
    def producer_id(self) -> int:
        return self.header.producer_id

    @property
    def producer_epoch(self) -> int:
        return self.header.producer_epoch

    @property
    def base_sequence(self) -> int:
        return self.header.base_sequence

    @property
    def is_transactional(self) -> bool:
        return self.header.is_transactional

    @property
    def is_control(self) -> bool:
        return self.header.is_control

    @property
    def record_count(self) -> int:
        """From the header if it tells, else by unpacking: a wrapper of magic 0 or 1 does not say how many it holds."""
        return self.header.record_count if self.header.record_count >= 0 else len(self.records())

    def check_crc(self) -> None:
        """Raise CorruptRecordError if the checksum does not fit the bytes."""
        run = BatchRun(self.raw)
        run.scan()
        run.check(crc=True, records=False)

    def records(self, *, limit: int = DEFAULT_LIMIT) -> list[Record]:
        """All records; unpacked on the first call. `limit` bounds the unpacked bytes."""
        if self._records is None:
            self._records = self._read(limit)
        return self._records

    def _read(self, limit: int) -> list[Record]:
        """Records with absolute offsets and timestamps. With LogAppendTime the batch's largest timestamp holds for all:
        the broker has set that one, and has left the records as they were, which it could not have changed without
        unpacking them.
        """
        header = self.header
        if header.magic < MAGIC_V2:
            return read_entry(self.raw, limit=limit)
        payload: memoryview | bytes = self.raw[RECORD_BATCH_OVERHEAD:]
        if header.is_compressed:
            payload = decompress(codec_of(header), payload, limit=limit)
        fixed = header.max_timestamp if header.timestamp_type == TimestampType.LOG_APPEND_TIME else None
        return read_records(payload, header.record_count, header.base_offset, header.base_timestamp, fixed)

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records())

    def __repr__(self) -> str:
        return (
            f"RecordBatch(magic={self.magic}, offsets {self.header.base_offset}..{self.last_offset}, "
            f"{self.header.record_count} records, {self.size} bytes)"
        )


def codec_of(header: BatchHeader) -> Codec:
    """The header's codec, where the bits may be anything.

    Three bits hold eight values, of which five mean something: what came off a disk or a wire may hold any.
    """
    try:
        return header.codec
    except ValueError:
        raise CorruptRecordError(f"codec {header.attributes & 7}: expected 0 to 4", header.position) from None


def iter_batches(buffer: Source, *, check_crc: bool = False) -> Iterator[RecordBatch]:
    """Yield the buffer's whole batches; raise CorruptRecordError at the first one that is none.

    The whole batches in front of a bad one are yielded first, so that a reader gets all that is sound before it is
    told. Nothing is unpacked, and checksums are compared only if asked for: brokers have done it when they took the
    batch.
    """
    run = BatchRun(buffer)
    fault: CorruptRecordError | None = None
    try:
        run.scan()
    except CorruptRecordError as error:
        fault = error
    for index in range(len(run)):
        if check_crc:
            run.check(crc=True, records=False, first=index, stop=index + 1)
        yield RecordBatch(run, index)
    if fault is not None:
        raise fault
