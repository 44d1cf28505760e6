"""What the records of the internal topics mean: committed offsets, group metadata, transactions, cluster metadata.

In `__consumer_offsets` and `__transaction_state` keys start with an int16 that names the kind of record, values with an
int16 version of that kind. In a KRaft broker's `__cluster_metadata` there are no keys; a value starts with three
unsigned varints: frame version (1), kind, version of the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from tidelog.common.varint import VarintError, decode_unsigned
from tidelog.records.batch import Record

#: topic → kind → the message's name without Key and Value
KINDS: Mapping[str, Mapping[int, str]] = {
    GROUP_METADATA_TOPIC: {
        0: "OffsetCommit",
        1: "OffsetCommit",
        2: "GroupMetadata",
        3: "ConsumerGroupMetadata",
        4: "ConsumerGroupPartitionMetadata",
        5: "ConsumerGroupMemberMetadata",
        6: "ConsumerGroupTargetAssignmentMetadata",
        7: "ConsumerGroupTargetAssignmentMember",
        8: "ConsumerGroupCurrentMemberAssignment",
        16: "ConsumerGroupRegularExpression",
    },
    TRANSACTION_STATE_TOPIC: {0: "TransactionLog"},
}

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
METADATA_KINDS: Mapping[int, str] = {
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

TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip


def decode_internal(topic: str, record: Record) -> dict[str, Any] | None:
    """{"type", "key", "value"} of an internal topic's record; None for other topics and for what is not understood."""
    if topic == CLUSTER_METADATA_TOPIC:
        return _decode_metadata(record)
    kinds = KINDS.get(topic)
    if kinds is None or record.key is None or len(record.key) < 2:
        return None
    kind = int.from_bytes(record.key[:2], "big", signed=True)
    name = kinds.get(kind)
    if name is None:
        return None
    try:
        key = _decode(f"{name}Key", record.key, 0)
        value = None
        if record.value is not None:
            value = _decode(f"{name}Value", record.value, int.from_bytes(record.value[:2], "big", signed=True))
    except (ProtocolError, KafkaError):
        return None
    if topic == TRANSACTION_STATE_TOPIC and value is not None:
        status = value.get("transaction_status")
        if isinstance(status, int) and 0 <= status < len(TRANSACTION_STATES):
            value["transaction_status"] = TRANSACTION_STATES[status]
    return {"type": name, "key": key, "value": value}


def _decode_metadata(record: Record) -> dict[str, Any] | None:
    position = 0
    numbers: list[int] = []
    try:
        for _ in range(3):
            number, position = decode_unsigned(record.value or b"", position)
            numbers.append(number)
        frame, kind, version = numbers
        if frame != 1 or kind not in METADATA_KINDS:
            return None
        value = _decode(METADATA_KINDS[kind], record.value or b"", version, position)
    except (VarintError, ProtocolError, KafkaError):
        return None
    return {"type": METADATA_KINDS[kind], "key": None, "value": value}


def _decode(name: str, data: bytes, version: int, position: int = 2) -> dict[str, Any]:
    from tidelog.protocol import messages

    decoded = getattr(messages, name).decode(data, version, position).to_dict()
    return dict(decoded)
