"""BatchBuilder: makes one batch of any magic, record by record.

Two writers stand behind it, chosen once by the magic: `BatchWriter` in the kernel for magic 2, `MessageSetWriter` for
the old formats. `append` is bound to the writer's own method, so that a call per record is one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tidelog.common.types import NO_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE
from tidelog.records.format.attributes import CONTROL_BIT, MAGIC_V2, TRANSACTIONAL_BIT, Codec, TimestampType
from tidelog.records.format.legacy import MessageSetWriter
from tidelog.records.kernel._builder import BatchWriter

Headers = Sequence[tuple[str, bytes | None]]


class AppendRecord(Protocol):
    """Adds a record after the others, or at `offset`, and answers its offset."""

    def __call__(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        offset: int | None = None,
    ) -> int: ...


class BatchBuilder:
    """One batch in the making. `append` records, watch `size_estimate`, then `build` it.

    With LOG_APPEND_TIME, `log_append_time` becomes the batch's timestamp, as a broker sets it. With `delete_horizon`
    the base timestamp holds that time (see `log.cleaner`).

    The offset of a record may be given, and must rise: compaction and conversion keep offsets, and leave holes where
    records are gone. `size_estimate` counts plain bytes, so that a codec makes a batch smaller than planned, never
    larger than a limit; a producer's `batch.size` is meant so.
    """

    __slots__ = ("_writer", "append")

    append: AppendRecord

    def __init__(
        self,
        magic: int = MAGIC_V2,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        timestamp_type: TimestampType = TimestampType.CREATE_TIME,
        *,
        base_offset: int = 0,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = NO_EPOCH,
        log_append_time: int | None = None,
        delete_horizon: int | None = None,
    ) -> None:
        if (timestamp_type == TimestampType.LOG_APPEND_TIME) != (log_append_time is not None):
            raise ValueError("log_append_time goes with TimestampType.LOG_APPEND_TIME, and only with it")
        self._writer: BatchWriter | MessageSetWriter
        if magic < MAGIC_V2:
            if producer_id >= 0 or transactional or control or delete_horizon is not None:
                raise ValueError(f"magic {magic} has no producers, transactions, control batches or delete horizons")
            self._writer = MessageSetWriter(magic, codec, level, base_offset, log_append_time)
        else:
            self._writer = BatchWriter(
                attributes=codec | (TRANSACTIONAL_BIT if transactional else 0) | (CONTROL_BIT if control else 0),
                level=level,
                base_offset=base_offset,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=base_sequence,
                leader_epoch=leader_epoch,
                log_append_time=log_append_time,
                delete_horizon=delete_horizon,
            )
        self.append = self._writer.append

    @property
    def size_estimate(self) -> int:
        """Bytes of the batch so far, before compression."""
        return self._writer.size_estimate

    @property
    def record_count(self) -> int:
        return self._writer.count

    @property
    def next_offset(self) -> int:
        """The offset that the next record gets."""
        return self._writer.next_offset

    @property
    def max_timestamp(self) -> int:
        return self._writer.max_timestamp

    def build(self, *, last_offset: int | None = None) -> bytes:
        """The batch. `last_offset` keeps that of the batch that this one replaces when its last records are gone."""
        if isinstance(self._writer, BatchWriter):
            return self._writer.build(last_offset)
        return self._writer.build()

    def build_empty(self, *, last_offset: int, timestamp: int) -> bytes:
        """A header without records, as compaction keeps it for a producer's last sequence (magic 2 only)."""
        if not isinstance(self._writer, BatchWriter):
            raise ValueError("only magic 2 has batches without records")
        return self._writer.build_empty(last_offset, timestamp)
