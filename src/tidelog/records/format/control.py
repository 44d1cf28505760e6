"""Control batches: the markers that end transactions, and the types that KRaft adds.

A control batch has the control bit set and, for transactions, exactly one record: its key says what it is, its value
who wrote it. Consumers skip it; with `read_committed` they use it to tell which records count.

    key     version int16 (0) | type int16
    value   version int16 (0) | coordinator epoch int32          of an end-of-transaction marker

Why markers are records: a reader learns in the right place of the log that a transaction has ended, followers get it
like anything else, and recovery finds it. They take offsets, which is why a consumer's position may jump by one where
no record was seen.
"""

from __future__ import annotations

import struct
from enum import IntEnum

from tidelog.common.errors import CorruptRecordError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH
from tidelog.records.format.batch import Record, RecordBatch
from tidelog.records.format.builder import BatchBuilder

KEY = struct.Struct(">hh")
END_TXN = struct.Struct(">hi")
VERSION = 0


class ControlType(IntEnum):
    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class EndTxnMarker(NamedTuple):
    """The end of a transaction on one partition."""

    type: ControlType
    coordinator_epoch: int

    @property
    def committed(self) -> bool:
        return self.type == ControlType.COMMIT


def end_txn_marker(
    producer_id: int,
    producer_epoch: int,
    *,
    committed: bool,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_EPOCH,
) -> bytes:
    """The batch that commits or aborts the producer's open transaction."""
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )
    kind = ControlType.COMMIT if committed else ControlType.ABORT
    builder.append(timestamp, KEY.pack(VERSION, kind), END_TXN.pack(VERSION, coordinator_epoch))
    return builder.build()


def control_type(key: bytes | None) -> ControlType:
    """What the control record with this key is; a type newer than this table is UNKNOWN."""
    if key is None or len(key) < KEY.size:
        raise CorruptRecordError(f"a control record's key has at least {KEY.size} bytes: found {key!r}")
    version, kind = KEY.unpack_from(key)
    if version < 0:
        raise CorruptRecordError(f"a control record's version is 0 or more: found {version}")
    return ControlType(kind) if kind in ControlType._value2member_map_ else ControlType.UNKNOWN


def end_txn_of(record: Record) -> EndTxnMarker | None:
    """The marker that a control record is, or None if it is another kind of control record."""
    kind = control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < END_TXN.size:
        raise CorruptRecordError(f"a marker's value has at least {END_TXN.size} bytes: found {record.value!r}")
    version, epoch = END_TXN.unpack_from(record.value)
    if version < 0:
        raise CorruptRecordError(f"a marker's version is 0 or more: found {version}")
    return EndTxnMarker(kind, epoch)


def parse_end_txn_marker(batch: RecordBatch) -> EndTxnMarker | None:
    """The marker that a control batch holds; None for any other batch, an emptied one included."""
    records = batch.records() if batch.is_control else []
    return end_txn_of(records[0]) if records else None
