"""The records field of a Produce request: where batches begin and end, before anybody looks inside.

The field is a byte string that Kafka reads as a sequence of batches (or, before version 3, of messages): 8 bytes of
offset, 4 of length, then as many bytes as the length says. What follows the last whole one does not count: producers of
old cut their message sets off at a size, in the middle of a message. From version 3 on the field must hold exactly one
batch, of magic 2; more, none, or an older magic is INVALID_RECORD. A length that no batch can have, or a magic that
nobody knows, is CORRUPT_MESSAGE.
"""

from __future__ import annotations

from typing import Any

from tidelog.broker.handlers.records.versions import Produce
from tidelog.common.errors import CorruptRecordError, InvalidRecordError
from tidelog.common.types import TopicPartition
from tidelog.records.format.attributes import CODEC_MASK, MAGIC_V2, TRANSACTIONAL_BIT
from tidelog.records.format.layout import (
    ATTRIBUTES_OFFSET,
    LENGTH_OFFSET,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MESSAGE_ATTRIBUTES_OFFSET,
    MESSAGE_OVERHEAD_V0,
)
from tidelog.records.kernel._messages import whole_end


class MisshapenRecords(InvalidRecordError):
    """The records field itself is wrong: refused before anything is looked up, so that the answer names no offset."""


class UnreadableRecords(CorruptRecordError):
    """Not even the shape of a batch; the answer says in words what is wrong."""


def is_transactional(records: Any) -> bool:
    """By the attributes of the first batch; what is too short to have any is refused elsewhere."""
    if not records or len(records) <= ATTRIBUTES_OFFSET + 1 or records[MAGIC_OFFSET] != MAGIC_V2:
        return False
    return bool(records[ATTRIBUTES_OFFSET + 1] & TRANSACTIONAL_BIT)


def codec_of(records: Any) -> int:
    """How the (first) batch is packed; 0 if it is not, or too short to tell."""
    if len(records) <= ATTRIBUTES_OFFSET + 1:
        return 0
    is_batch = records[MAGIC_OFFSET] == MAGIC_V2
    return int(records[ATTRIBUTES_OFFSET + 1 if is_batch else MESSAGE_ATTRIBUTES_OFFSET] & CODEC_MASK)


def one_batch(records: Any, version: int, tp: TopicPartition) -> Any:
    """The records field as Kafka reads it: bytes behind the last whole batch do not count; from version 3 on there is
    exactly one batch, of magic 2."""
    if version < Produce.TRANSACTIONS:
        return _whole_messages(records or b"")
    size = _whole_batch(records or b"")
    if size == 0:
        raise MisshapenRecords(f"the request has no whole record batch for {tp}")
    if records[MAGIC_OFFSET] < 2:
        raise MisshapenRecords(f"the records for {tp} have magic {records[MAGIC_OFFSET]}: expected 2")
    try:
        another = _whole_batch(records[size:])
    except UnreadableRecords as error:
        raise CorruptRecordError(str(error)) from error
    if another:
        raise MisshapenRecords(f"the request has more than one record batch for {tp}")
    return records[:size]


def _whole_messages(records: Any) -> Any:
    """A message set without what is cut off at its end."""
    end, wrong = whole_end(records)
    if wrong is not None:
        _whole_batch(records[end:])  # raises, with words
    return records[:end]


def _whole_batch(records: Any) -> int:
    """The size of the batch at the front, 0 if it is cut off or none."""
    if len(records) < LOG_OVERHEAD:
        return 0
    size = int.from_bytes(records[LENGTH_OFFSET:LOG_OVERHEAD], "big", signed=True)
    if size < MESSAGE_OVERHEAD_V0:
        raise UnreadableRecords(f"Record size {size} is less than the minimum record overhead ({MESSAGE_OVERHEAD_V0})")
    if len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] > MAGIC_V2:
        raise UnreadableRecords(f"Invalid magic found in record: {records[MAGIC_OFFSET]}")
    return LOG_OVERHEAD + size if LOG_OVERHEAD + size <= len(records) else 0
