"""Typed records <-> the bytes of the internal topics (docs/formats/group-records.md).

A key is `type: int16` followed by the key's body; a value is `version: int16` followed by the value's body, and a null
value is a tombstone. The type says which key class, and with it which value class, follows. Keys of types that this
broker does not know (share and streams groups) are skipped at load, as Apache Kafka skips them.

Value versions written are those of Kafka 3.9 (decision 11 of the design): a 3.9 broker must be able to load them.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

from tidelog.common.errors import CorruptRecordError, ProtocolError
from tidelog.protocol import messages

_INT16 = struct.Struct(">h")


class CoordinatorRecord(NamedTuple):
    """A typed key with its typed value; a value of None is a tombstone."""

    key: Any
    value: Any = None


class RecordType(NamedTuple):
    """One kind of record: its key type, its classes, and the highest value version that is understood."""

    type: int
    key_class: str
    value_class: str
    highest_version: int


GROUP_RECORD_TYPES = (
    RecordType(0, "LegacyOffsetCommitKey", "LegacyOffsetCommitValue", 0),
    RecordType(1, "OffsetCommitKey", "OffsetCommitValue", 4),
    RecordType(2, "GroupMetadataKey", "GroupMetadataValue", 4),
    RecordType(3, "ConsumerGroupMetadataKey", "ConsumerGroupMetadataValue", 0),
    RecordType(4, "ConsumerGroupPartitionMetadataKey", "ConsumerGroupPartitionMetadataValue", 0),
    RecordType(5, "ConsumerGroupMemberMetadataKey", "ConsumerGroupMemberMetadataValue", 0),
    RecordType(6, "ConsumerGroupTargetAssignmentMetadataKey", "ConsumerGroupTargetAssignmentMetadataValue", 0),
    RecordType(7, "ConsumerGroupTargetAssignmentMemberKey", "ConsumerGroupTargetAssignmentMemberValue", 0),
    RecordType(8, "ConsumerGroupCurrentMemberAssignmentKey", "ConsumerGroupCurrentMemberAssignmentValue", 0),
    RecordType(16, "ConsumerGroupRegularExpressionKey", "ConsumerGroupRegularExpressionValue", 0),
)
TRANSACTION_RECORD_TYPES = (RecordType(0, "TransactionLogKey", "TransactionLogValue", 1),)


class RecordCodec:
    """Encodes and decodes the records of one internal topic. Message classes are compiled on first use."""

    def __init__(self, types: tuple[RecordType, ...]) -> None:
        self._by_type: Mapping[int, RecordType] = {entry.type: entry for entry in types}
        self._by_key_class: Mapping[str, RecordType] = {entry.key_class: entry for entry in types}

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """The key and value bytes of a record."""
        key, value = record
        entry = self._by_key_class[type(key).__name__]
        key_bytes = _INT16.pack(entry.type) + key.encode(0)
        if value is None:
            return key_bytes, None
        version = written_version(value)
        return key_bytes, _INT16.pack(version) + value.encode(version)

    def decode(self, key: bytes | memoryview | None, value: bytes | memoryview | None) -> CoordinatorRecord | None:
        """The typed record, or None when its type is not ours to know; CorruptRecordError when it is malformed."""
        if key is None or len(key) < 2:
            raise CorruptRecordError("a coordinator record needs a key that starts with its type")
        entry = self._by_type.get(_INT16.unpack_from(key)[0])
        if entry is None:
            return None
        try:
            typed_key = getattr(messages, entry.key_class).decode(key, 0, 2)
            return CoordinatorRecord(typed_key, None if value is None else _decode_value(entry, value))
        except ProtocolError as error:
            raise CorruptRecordError(f"{entry.key_class}: {error}") from error


def _decode_value(entry: RecordType, value: bytes | memoryview) -> Any:
    if len(value) < 2:
        raise CorruptRecordError("a coordinator record's value starts with its version")
    version = _INT16.unpack_from(value)[0]
    if not 0 <= version <= entry.highest_version:
        raise CorruptRecordError(f"{entry.value_class} has no version {version}")
    return getattr(messages, entry.value_class).decode(value, version, 2)


def written_version(value: Any) -> int:
    """The version in which a value goes to disk."""
    name = type(value).__name__
    if name == "OffsetCommitValue":
        return 1 if value.expire_timestamp != -1 else 3
    if name == "GroupMetadataValue":
        return 3
    if name == "TransactionLogValue":
        return 1 if value.client_transaction_version or value.previous_producer_id != -1 else 0
    return 0


GROUP_CODEC = RecordCodec(GROUP_RECORD_TYPES)
TRANSACTION_CODEC = RecordCodec(TRANSACTION_RECORD_TYPES)
