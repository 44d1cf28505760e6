"""What the records of the internal topics mean: committed offsets, group metadata, transactions.

Their keys start with an int16 that names the kind of record, their values with an int16 version of that kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
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

TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip


def decode_internal(topic: str, record: Record) -> dict[str, Any] | None:
    """{"type", "key", "value"} of an internal topic's record; None for other topics and for what is not understood."""
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


def _decode(name: str, data: bytes, version: int) -> dict[str, Any]:
    from tidelog.protocol import messages

    decoded = getattr(messages, name).decode(data, version, 2).to_dict()
    return dict(decoded)
