"""Typed records <-> the bytes of the internal topics (docs/formats/group-records.md).

`protocol.disk` knows the framing: a key is its type and its body, a value its version and its body, a null value is a
tombstone. Here is what a coordinator adds: which version a value is written in, and what it does with records that it
cannot read. Keys of types that this broker does not know (share and streams groups) are skipped at load, as Apache
Kafka skips them.

Value versions written are those of Kafka 3.9 (decision 11 of the design): a 3.9 broker must be able to load them.
"""

from __future__ import annotations

import struct
from typing import Any

from tidelog.broker.coordinator._offset_record import encode_offset
from tidelog.common.errors import CorruptRecordError, KafkaError, ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.disk import CONSUMER_OFFSETS, TRANSACTION_STATE, InternalTopic, UnknownTypeError
from tidelog.protocol.messages import OffsetCommitKey

_INT16 = struct.Struct(">h")


class CoordinatorRecord(NamedTuple):
    """A typed key with its typed value; a value of None is a tombstone."""

    key: Any
    value: Any = None


class RecordCodec:
    """Encodes and decodes the records of one internal topic. Offsets, of which there are most by far, are encoded by
    compiled code; everything else goes through its schema.
    """

    def __init__(self, topic: InternalTopic) -> None:
        self._topic = topic
        self._prefix = {key: _INT16.pack(number) for number, (key, _) in topic.types.items()}

    def encode(self, record: CoordinatorRecord) -> tuple[bytes, bytes | None]:
        """The key and value bytes of a record."""
        key, value = record
        if type(key) is OffsetCommitKey and value is not None and value.expire_timestamp == -1:
            return encode_offset(
                key.group,
                key.topic,
                key.partition,
                value.offset,
                value.leader_epoch,
                value.metadata,
                value.commit_timestamp,
            )
        key_bytes = self._prefix[type(key).__name__] + key.encode(0)
        if value is None:
            return key_bytes, None
        version = written_version(value)
        return key_bytes, _INT16.pack(version) + value.encode(version)

    def decode(self, key: bytes | None, value: bytes | None) -> CoordinatorRecord | None:
        """The typed record, or None when its type is not ours to know; CorruptRecordError when it is malformed."""
        if key is None:
            raise CorruptRecordError("a coordinator record without a key")
        try:
            typed = self._topic.decode_key(key)
            return CoordinatorRecord(typed, self._topic.decode_value(typed, value))
        except UnknownTypeError:
            return None
        except (ProtocolError, KafkaError) as error:
            raise CorruptRecordError(f"{self._topic.name}: {error}") from error


def written_version(value: Any) -> int:
    """The version in which a value goes to disk: the lowest that holds what it says, as Kafka 3.9 writes it. A commit
    with an expiry of its own needs the old version 1 (later ones have no field for it); a transaction needs version 1
    only for what KIP-890 has added, so that what an old client does can be read by an old broker.
    """
    name = type(value).__name__
    if name == "OffsetCommitValue":
        return 1 if value.expire_timestamp != -1 else 3
    if name == "GroupMetadataValue":
        return 3
    if name == "TransactionLogValue":
        return 1 if value.client_transaction_version or value.previous_producer_id != -1 else 0
    return 0


GROUP_CODEC = RecordCodec(CONSUMER_OFFSETS)
TRANSACTION_CODEC = RecordCodec(TRANSACTION_STATE)
