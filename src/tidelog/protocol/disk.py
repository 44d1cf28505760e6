"""Framing of the messages that lie on disk: the records of the internal topics and of KRaft's metadata log.

- Anything *versioned*: int16 version, then the message. Values of the internal topics, transaction index entries,
  producer snapshots, control records, and what consumers put into JoinGroup.
- Keys of the internal topics: int16 *type*, then the key message (which has but one version). The type says which
  message the value is; a null value is a tombstone.
- Metadata log: unsigned varints frame version (1), type and version, then the message; there are no keys.

A type that this code does not know raises `UnknownTypeError`: newer Kafkas add types, and readers skip those.
See docs/formats/internal-topics.md.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TypeVar

from tidelog.common.errors import ProtocolError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.varint import VarintError, decode_unsigned, encode_unsigned
from tidelog.protocol import messages
from tidelog.protocol.message import Buffer, Message

_SHORT = struct.Struct(">h")
_METADATA_FRAME = 1
AnyMessage = TypeVar("AnyMessage", bound=Message)


class UnknownTypeError(ProtocolError):
    """A record of a type that this code does not know; `type` is its number."""

    def __init__(self, place: str, type_: int) -> None:
        self.type = type_
        super().__init__(f"records of type {type_} on {place} are not known here")


def encode_versioned(message: Message, version: int) -> bytes:
    """The version in front, in two bytes, so that a later Kafka can read what an earlier one wrote."""
    out = bytearray(_SHORT.pack(version))
    message.encode_into(out, version)
    return bytes(out)


def decode_versioned(cls: type[AnyMessage], data: Buffer, *, newer_as_latest: bool = False) -> AnyMessage:
    """`newer_as_latest`: read a version above ours as our latest, as the embedded consumer protocol asks for."""
    version = _short(data, cls.__name__)
    known = cls.schema.versions
    if newer_as_latest:
        version = min(version, known.last)
    if version not in known:
        raise ProtocolError(f"{cls.__name__} has versions {known}, not {version}")
    return cls.decode(data, version, 2)


def _short(data: Buffer, what: str) -> int:
    if len(data) < 2:
        raise ProtocolError(f"{what}: {len(data)} bytes are too few for its leading int16")
    return int(_SHORT.unpack_from(data)[0])


class InternalTopic(NamedTuple):
    """The record types of an internal topic: type → names of the key's and of the value's message.

    Internal topics are compacted: for each key the latest value counts, and a null value removes it. The type is a part
    of the key's bytes, so that an offset and a group of the same name never replace each other. `__consumer_offsets`
    calls it the key's version in old documents: types 0 and 1 were two versions of the offset's key.
    """

    name: str
    types: Mapping[int, tuple[str, str]]

    def encode_key(self, key: Message) -> bytes:
        """The type, then the key in its only version: a key that could be written in two ways would be two keys."""
        out = bytearray(_SHORT.pack(self._type_of(key)))
        key.encode_into(out, 0)
        return bytes(out)

    def encode_value(self, value: Message | None, version: int) -> bytes | None:
        return None if value is None else encode_versioned(value, version)

    def decode_key(self, data: Buffer) -> Message:
        """The key's message, which tells by its class what the value is."""
        type_ = _short(data, f"a key on {self.name}")
        if type_ not in self.types:
            raise UnknownTypeError(self.name, type_)
        return _message(self.types[type_][0]).decode(data, 0, 2)

    def decode_value(self, key: Message, data: Buffer | None) -> Message | None:
        """The value that belongs to `key`; None is a tombstone."""
        return None if data is None else decode_versioned(_message(self.types[self._type_of(key)][1]), data)

    def _type_of(self, key: Message) -> int:
        name = type(key).__name__
        for type_, (key_name, _) in self.types.items():
            if key_name == name:
                return type_
        raise TypeError(f"{name} is no key on {self.name}")


def _message(name: str) -> type[Message]:
    found: type[Message] = getattr(messages, name)
    return found


def _pairs(**types: int) -> dict[int, tuple[str, str]]:
    """Kafka names the two messages of a type alike: `OffsetCommitKey`, `OffsetCommitValue`."""
    return {type_: (f"{name}Key", f"{name}Value") for name, type_ in types.items()}


CONSUMER_OFFSETS = InternalTopic(
    "__consumer_offsets",
    _pairs(
        LegacyOffsetCommit=0,
        OffsetCommit=1,
        GroupMetadata=2,
        ConsumerGroupMetadata=3,
        ConsumerGroupPartitionMetadata=4,
        ConsumerGroupMemberMetadata=5,
        ConsumerGroupTargetAssignmentMetadata=6,
        ConsumerGroupTargetAssignmentMember=7,
        ConsumerGroupCurrentMemberAssignment=8,
        ConsumerGroupRegularExpression=16,
    ),
)
TRANSACTION_STATE = InternalTopic("__transaction_state", _pairs(TransactionLog=0))

#: The numbers are what Kafka's schemas call the records' apiKey.
METADATA_RECORDS: Mapping[int, str] = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    10: "DelegationTokenRecord",
    11: "UserScramCredentialRecord",
    12: "FeatureLevelRecord",
    14: "ClientQuotaRecord",
    15: "ProducerIdsRecord",
    17: "BrokerRegistrationChangeRecord",
    18: "AccessControlEntryRecord",
    19: "RemoveAccessControlEntryRecord",
    20: "NoOpRecord",
    21: "ZkMigrationStateRecord",
    22: "RemoveUserScramCredentialRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    26: "RemoveDelegationTokenRecord",
    27: "RegisterControllerRecord",
    28: "ClearElrRecord",
}


def encode_metadata_record(record: Message, version: int) -> bytes:
    """A value of KRaft's log. Its keys are null: the log is not compacted but replaced by snapshots."""
    name = type(record).__name__
    for type_, known in METADATA_RECORDS.items():
        if known == name:
            out = bytearray(b"".join(encode_unsigned(number) for number in (_METADATA_FRAME, type_, version)))
            record.encode_into(out, version)
            return bytes(out)
    raise TypeError(f"{name} is no record of the metadata log")


def decode_metadata_record(data: Buffer) -> Message:
    """The value of a record of `__cluster_metadata` (control batches excepted)."""
    try:
        frame, position = decode_unsigned(data, 0)
        type_, position = decode_unsigned(data, position)
        version, position = decode_unsigned(data, position)
    except VarintError as error:
        raise ProtocolError(f"a metadata record without its frame: {error}") from None
    if frame != _METADATA_FRAME:
        raise ProtocolError(f"a metadata record with frame version {frame}, not {_METADATA_FRAME}")
    if type_ not in METADATA_RECORDS:
        raise UnknownTypeError("__cluster_metadata", type_)
    cls = _message(METADATA_RECORDS[type_])
    if version not in cls.schema.versions:
        raise ProtocolError(f"{cls.__name__} has versions {cls.schema.versions}, not {version}")
    return cls.decode(data, version, position)
