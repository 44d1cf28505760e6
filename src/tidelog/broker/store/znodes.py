"""What is inside the nodes: JSON, with the fields and versions that Apache Kafka 3.9 writes and reads.

Encoders write the newest version; decoders also take older ones (a topic of version 1 or 2 has no topic id), because a
store could be a ZooKeeper that others wrote to. A node that cannot be read raises `StoreError` naming its path.

The fields are Kafka's, odd ones included, as its brokers read them: numbers in quotes (timestamps, blocks of producer
ids), partitions as names of an object (JSON has no other keys), a `jmx_port` of -1 for none.

    /brokers/topics/t                     {"partitions": {"0": [1, 2]}, "topic_id": "…", "adding_replicas": {}, …}
    /brokers/topics/t/partitions/0/state  {"leader": 1, "leader_epoch": 4, "isr": [1, 2], "controller_epoch": 9, …}
    /brokers/ids/1                        {"endpoints": ["PLAINTEXT://host:9092"], "rack": "a", "version": 5, …}
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tidelog.broker.store.errors import StoreError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.uuids import ZERO_UUID, uuid_from_text, uuid_to_text

PRODUCER_ID_BLOCK_SIZE = 1000


class TopicNode(NamedTuple):
    """`assignment` is what a topic's replicas are to be; while they are moved, it holds old and new ones together, and
    the other two say which of them come and which go (KIP-455)."""

    topic_id: bytes
    assignment: dict[int, tuple[int, ...]]
    adding: dict[int, tuple[int, ...]]
    removing: dict[int, tuple[int, ...]]


class StateNode(NamedTuple):
    """Who leads a partition. The node's own version, which counts every write, is the *partition epoch*: a leader that
    wants to change its in-sync replicas names the one it knows (KIP-497)."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int


class BrokerNode(NamedTuple):
    """A live broker, as others read it: listener name → security protocol, and where each listener is."""

    endpoints: list[str]
    protocols: dict[str, str]
    rack: str | None


class ProducerIdBlock(NamedTuple):
    """Ids [first, first + size). The store is asked once for a thousand producers, and what a broker had left of its
    block when it stopped is never given out: ids are plenty, and one that is used twice would mix two producers up."""

    first: int
    size: int


def encode_cluster_id(cluster_id: str) -> bytes:
    return _encode({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return str(_decode("/cluster/id", data)["id"])


def encode_broker(
    endpoints: Sequence[str], protocols: Mapping[str, str], host: str, port: int, rack: str | None, timestamp_ms: int
) -> bytes:
    value: dict[str, Any] = {
        "features": {},
        "listener_security_protocol_map": dict(protocols),
        "endpoints": list(endpoints),
        "jmx_port": -1,
        "port": port,
        "host": host,
        "version": 5,
        "timestamp": str(timestamp_ms),
    }
    if rack is not None:
        value["rack"] = rack
    return _encode(value)


def decode_broker(path: str, data: bytes) -> BrokerNode:
    """Versions before 2 (Kafka 0.8) know no endpoints: one plain listener, by host and port."""
    value = _decode(path, data)
    endpoints = value.get("endpoints") or [f"PLAINTEXT://{value['host']}:{value['port']}"]
    return BrokerNode(endpoints, dict(value.get("listener_security_protocol_map") or {}), value.get("rack"))


def encode_topic(node: TopicNode) -> bytes:
    """Version 3: with the topic's id, by which a topic that was deleted and made anew is told from the old one."""
    return _encode(
        {
            "removing_replicas": _lists(node.removing),
            "partitions": _lists(node.assignment),
            "topic_id": uuid_to_text(node.topic_id),
            "adding_replicas": _lists(node.adding),
            "version": 3,
        }
    )


def decode_topic(path: str, data: bytes) -> TopicNode:
    """A topic of before Kafka 2.8 has no id, which reads as zeros here: the controller gives it one when it loads."""
    value = _decode(path, data)
    try:
        topic_id = uuid_from_text(value["topic_id"]) if value.get("topic_id") else ZERO_UUID
        return TopicNode(
            topic_id,
            _tuples(value["partitions"]),
            _tuples(value.get("adding_replicas") or {}),
            _tuples(value.get("removing_replicas") or {}),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise StoreError(path, f"is no topic: {error!r}") from error


def encode_state(node: StateNode) -> bytes:
    """Version 1 is all that there ever was of this node, in Kafka as here."""
    isr = ",".join(map(str, node.isr))
    # Written by hand: a thousand of these make a topic, and they are all alike.
    return (
        f'{{"controller_epoch":{node.controller_epoch},"leader":{node.leader},"version":1,'
        f'"leader_epoch":{node.leader_epoch},"isr":[{isr}]}}'
    ).encode()


def decode_state(path: str, data: bytes) -> StateNode:
    value = _decode(path, data)
    try:
        return StateNode(
            int(value["leader"]),
            int(value["leader_epoch"]),
            tuple(map(int, value["isr"])),
            int(value["controller_epoch"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(path, f"is no partition state: {error!r}") from error


def encode_config(config: Mapping[str, str]) -> bytes:
    return _encode({"version": 1, "config": dict(config)})


def decode_config(path: str, data: bytes) -> dict[str, str]:
    """A node without data has nothing set. All values are text in either direction; what they mean is for the
    declaration of their key to say."""
    if not data:
        return {}
    config = _decode(path, data).get("config")
    if not isinstance(config, dict):
        raise StoreError(path, "is no configuration")
    return {str(name): str(value) for name, value in config.items()}


def encode_config_change(entity_path: str) -> bytes:
    """`topics/orders`, `brokers/1`, `users/<default>`…: what has been changed."""
    return _encode({"version": 2, "entity_path": entity_path})


def encode_controller(node_id: int, timestamp_ms: int) -> bytes:
    """Version 2 names KRaft's epoch, for clusters on their way from ZooKeeper to KRaft: -1 where nobody moves."""
    return _encode({"version": 2, "brokerid": node_id, "timestamp": str(timestamp_ms), "kraftControllerEpoch": -1})


def decode_controller(data: bytes) -> int:
    return int(_decode("/controller", data)["brokerid"])


def encode_producer_id_block(block: ProducerIdBlock, node_id: int) -> bytes:
    """Kafka writes the last id of the block, not the first of the next one, and both as text."""
    last = block.first + block.size - 1
    return _encode({"version": 1, "broker": node_id, "block_start": str(block.first), "block_end": str(last)})


def decode_producer_id_block(path: str, data: bytes) -> ProducerIdBlock | None:
    """The last block that was given out; None when there was none yet."""
    if not data:
        return None
    value = _decode(path, data)
    try:
        first, last = int(value["block_start"]), int(value["block_end"])
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(path, f"is no block of producer ids: {error!r}") from error
    return ProducerIdBlock(first, last - first + 1)


def encode_json(value: Mapping[str, Any]) -> bytes:
    return _encode(value)


def decode_json(path: str, data: bytes) -> dict[str, Any]:
    return _decode(path, data)


def _encode(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _decode(path: str, data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise StoreError(path, f"holds no JSON: {error}") from error
    if not isinstance(value, dict):
        raise StoreError(path, "holds no JSON object")
    return value


def _lists(replicas: Mapping[int, Sequence[int]]) -> dict[str, list[int]]:
    return {str(partition): list(nodes) for partition, nodes in replicas.items()}


def _tuples(replicas: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """By the number of the partition: as text, "10" would come before "2"."""
    return {
        int(partition): tuple(map(int, nodes)) for partition, nodes in sorted(replicas.items(), key=lambda i: int(i[0]))
    }
