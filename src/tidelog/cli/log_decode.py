"""What the records of the internal topics mean, for people: committed offsets, groups, transactions, cluster metadata.

`protocol.disk` knows how they are framed; here they become plain dictionaries, and what is not understood (a newer
type, broken bytes) becomes None: the tools then show the bytes.
"""

from __future__ import annotations

from typing import Any

from tidelog.common.errors import KafkaError, ProtocolError
from tidelog.common.uuids import uuid_to_text
from tidelog.protocol.disk import CONSUMER_OFFSETS, TRANSACTION_STATE, InternalTopic, decode_metadata_record
from tidelog.protocol.message import Message
from tidelog.protocol.schema import Struct
from tidelog.records.format.batch import Record

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
TOPICS = {topic.name: topic for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE)}
TRANSACTION_STATES = (
    "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence",
)  # fmt: skip


def decode_internal(topic: str, record: Record) -> dict[str, Any] | None:
    """{"type", "key", "value"} of an internal topic's record; None for other topics and for what is not understood."""
    try:
        if topic == CLUSTER_METADATA_TOPIC:
            metadata = decode_metadata_record(record.value or b"")
            return {"type": type(metadata).__name__, "key": None, "value": _plain(metadata)}
        if topic in TOPICS and record.key is not None:
            return _decode_pair(TOPICS[topic], record.key, record.value)
    except (ProtocolError, KafkaError):
        return None
    return None


def _decode_pair(topic: InternalTopic, raw_key: bytes, raw_value: bytes | None) -> dict[str, Any]:
    """The state of a transaction is a number on disk and a word for people. The legacy offset key is shown as the
    offset commit that it is.
    """
    key = topic.decode_key(raw_key)
    value = _plain(topic.decode_value(key, raw_value))
    if value is not None and topic is TRANSACTION_STATE:
        status = value["transaction_status"]
        if 0 <= status < len(TRANSACTION_STATES):
            value["transaction_status"] = TRANSACTION_STATES[status]
    name = type(key).__name__.removesuffix("Key").removeprefix("Legacy")
    return {"type": name, "key": _plain(key), "value": value}


def _plain(message: Message | None) -> dict[str, Any] | None:
    """Its fields; ids as people write them."""
    if message is None:
        return None
    fields = dict(message.to_dict())
    _spell_ids(fields, message._schema_)
    return fields


def _spell_ids(fields: dict[str, Any], schema: Struct) -> None:
    for field in schema.fields:
        value = fields[field.name]
        if field.type == "uuid" and value is not None:
            fields[field.name] = [uuid_to_text(one) for one in value] if field.array else uuid_to_text(value)
        elif field.struct is not None and value is not None:
            for inner in value if field.array else [value]:
                _spell_ids(inner, field.struct)
