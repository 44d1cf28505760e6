"""The same requests to Apache Kafka and to Tidelog: the same answers, field by field.

Each case is a list of requests against topics that both brokers made alike. What may differ is named in `normal`:
texts of errors, ids and wall-clock times. `EXCEPTIONS` lists the cases that differ on purpose, each with its reason.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from support.kafka import KAFKA_4, KafkaBroker
from support.patience import eventually
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import decode_response, encode_request
from tidelog.protocol.messages import (
    DeleteRecordsRequest,
    DescribeProducersRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel.crc32c import crc32c

pytestmark = pytest.mark.java

NOW = time.time_ns() // 1_000_000
TOPICS = {
    "plain": (2, {}),
    "compacted": (1, {"cleanup.policy": "compact"}),
    "append-time": (1, {"message.timestamp.type": "LogAppendTime"}),
    "small": (1, {"max.message.bytes": "2000"}),
    "zstd": (1, {"compression.type": "zstd"}),
    "strict": (1, {"min.insync.replicas": "2"}),
    "ids": (1, {}),
    "deleted": (1, {}),
}


class Peer:
    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.host, _, port = address.rpartition(":")
        self.port = int(port)
        self.admin = AdminClient({"bootstrap.servers": address, "log_level": 3})
        self.ids: dict[str, bytes] = {}
        self.sock: socket.socket | None = None
        for topic, (partitions, config) in TOPICS.items():
            self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])[topic].result(60)
        self.wait_for_leaders()

    def wait_for_leaders(self) -> None:
        self.ids = eventually(self.topic_ids, lambda ids: ids.keys() == TOPICS.keys())
        for topic, (partitions, _) in TOPICS.items():
            for partition in range(partitions):
                asked = offsets(topic, -1, partition=partition)
                eventually(
                    lambda asked=asked: self.ask(ApiKey.LIST_OFFSETS, 5, asked).topics[0].partitions[0].error_code,
                    lambda code: code == 0,
                )

    def topic_ids(self) -> dict[str, bytes]:
        """Of the topics that the broker knows."""
        ids = {}
        for name, future in self.admin.describe_topics(TopicCollection(list(TOPICS))).items():
            with suppress(KafkaException):  # not known yet
                ids[name] = uuid_bytes(future.result(60).topic_id)
        return ids

    def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        """The decoded answer, "closed", or "silent" when there is none."""
        if self.sock is None:
            self.sock = socket.create_connection((self.host, self.port), 60)
        self.sock.sendall(encode_request(key, version, 1, "differential", request))
        data = bytearray()
        while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
            try:
                piece = self.sock.recv(1 << 20)
            except TimeoutError:
                self.sock.close()
                self.sock = None
                return "silent"
            except ConnectionError:
                piece = b""
            if not piece:
                self.sock.close()
                self.sock = None
                return "closed"
            data += piece
        return decode_response(key, version, bytes(data[4:]))[1]


def uuid_bytes(topic_id: Any) -> bytes:
    most, least = topic_id.get_most_significant_bits(), topic_id.get_least_significant_bits()
    return (most & (2**64 - 1)).to_bytes(8, "big") + (least & (2**64 - 1)).to_bytes(8, "big")


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    home = tmp_path_factory.mktemp("brokers")
    with KafkaBroker(KAFKA_4, home / "kafka") as kafka, TidelogServer(home / "tidelog") as tidelog:
        both = Peer("Kafka", kafka.address), Peer("Tidelog", tidelog.address)
        yield both
        for peer in both:
            if peer.sock is not None:
                peer.sock.close()


# -- requests ----------------------------------------------------------------------------------------------------------


def batch(*values: bytes | None, timestamp: int = NOW, key: bytes | None = b"k", **fields: Any) -> bytes:
    builder = BatchBuilder(**fields)
    for value in values:
        builder.append(timestamp, key, value)
    return builder.build()


def patched(data: bytes, position: int, new: bytes, *, crc: bool = True) -> bytes:
    changed = bytearray(data)
    changed[position : position + len(new)] = new
    if crc:
        changed[17:21] = crc32c(bytes(changed[21:])).to_bytes(4, "big")
    return bytes(changed)


def produce(
    topic: str | bytes, records: bytes | None, *, partition: int = 0, acks: int = 1, **fields: Any
) -> ProduceRequest:
    named = {"topic_id": topic} if isinstance(topic, bytes) else {"name": topic}
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    topics = [ProduceRequest.TopicProduceData(**named, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=3000, topic_data=topics, **fields)


def fetch(
    topic: str | bytes, offset: int, *, partition: int = 0, limit: int = 1 << 20, epochs: Any = None, **fields: Any
):
    named = {"topic_id": topic} if isinstance(topic, bytes) else {"topic": topic}
    part = FetchRequest.FetchPartition(
        partition=partition, fetch_offset=offset, partition_max_bytes=limit, **(epochs or {})
    )
    settings = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, **fields}
    return FetchRequest(topics=[FetchRequest.FetchTopic(**named, partitions=[part])], **settings)


def offsets(topic: str, timestamp: int, *, partition: int = 0, epoch: int = -1, **fields: Any) -> ListOffsetsRequest:
    asked = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch
    )
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])]
    return ListOffsetsRequest(replica_id=-1, topics=topics, **fields)


def delete(topic: str, offset: int, *, partition: int = 0) -> DeleteRecordsRequest:
    asked = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=partition, offset=offset)
    topics = [DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=[asked])]
    return DeleteRecordsRequest(topics=topics, timeout_ms=3000)


def epoch_end(topic: str, epoch: int, *, current: int = -1) -> OffsetForLeaderEpochRequest:
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
        partition=0, current_leader_epoch=current, leader_epoch=epoch
    )
    topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    return OffsetForLeaderEpochRequest(replica_id=-1, topics=topics)


def producers(topic: str, partition: int = 0) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=[partition])]
    )


def numbered(sequence: int, epoch: int = 0, producer: int = 4242) -> bytes:
    return batch(b"n", producer_id=producer, producer_epoch=epoch, base_sequence=sequence)


P, F, L, D, E = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.DELETE_RECORDS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
)
GOOD = batch(b"a", b"b", b"c")


def cases() -> dict[str, list[tuple[ApiKey, int, Any]]]:
    made: dict[str, list[tuple[ApiKey, int, Any]]] = {}
    for version in range(3, 13):
        made[f"produce v{version}"] = [(P, version, produce("plain", GOOD))]
    for name, records in bad_records().items():
        made[f"produce {name}"] = [(P, version, produce("plain", records)) for version in (3, 9, 12)]
    for topic, records in topic_rules():
        made[f"produce to {topic}: {len(made)}"] = [
            (P, 9, produce(topic, records)),
            (P, 12, produce(topic, records, acks=-1)),
        ]
    made |= {
        "produce acks": [(P, 9, produce("plain", GOOD, acks=acks)) for acks in (-1, 2, -2)],
        "produce unknown": [
            (P, 9, produce("nope", GOOD)),
            (P, 9, produce("plain", GOOD, partition=9)),
            (P, 9, produce("plain", GOOD, partition=-1)),
            (P, 9, produce("", GOOD)),
            (P, 9, produce("bad/name", GOOD)),
            (P, 13, produce(bytes(range(16)), GOOD)),
        ],
        "produce sequences": [
            (P, 9, produce("plain", numbered(sequence, epoch), partition=1))
            for sequence, epoch in [(0, 0), (1, 0), (0, 0), (1, 0), (5, 0), (2, 0), (0, 1), (3, 0), (1, 1), (7, 2)]
        ],
        "produce new producer in the middle": [(P, 9, produce("plain", numbered(7, producer=77), partition=1))],
        "list offsets": [
            (L, version, offsets("plain", timestamp))
            for version in range(1, 12)
            for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, NOW, NOW + 10**9)
        ],
        "list offsets errors": [
            (L, 5, offsets("nope", -1)),
            (L, 5, offsets("plain", -1, partition=5)),
            (L, 5, offsets("plain", -1, epoch=7)),
            (L, 5, offsets("plain", -1, epoch=0)),
            (L, 5, offsets("plain", -1, isolation_level=1)),
        ],
        "fetch": [(F, version, fetch("plain", 0)) for version in range(4, 13)],
        "fetch errors": [
            request
            for version in (4, 11, 12)
            for request in [
                (F, version, fetch("nope", 0)),
                (F, version, fetch("plain", 0, partition=9)),
                (F, version, fetch("plain", 10**9)),
                (F, version, fetch("plain", -1)),
                (F, version, fetch("plain", -5)),
                (F, version, fetch("plain", 1, limit=1)),
                (F, version, fetch("plain", 1, limit=0)),
                (F, version, fetch("plain", 1, isolation_level=1)),
            ]
        ],
        "fetch epochs": [
            (F, 12, fetch("plain", 0, epochs={"current_leader_epoch": epoch})) for epoch in (-1, 0, 1, 9, -2)
        ]
        + [(F, 12, fetch("plain", 1, epochs={"last_fetched_epoch": epoch})) for epoch in (-1, 0, 1, 9)],
        "fetch sessions": [
            (F, 12, fetch("plain", 0, session_id=12345, session_epoch=1)),
            (F, 12, fetch("plain", 0, session_id=12345, session_epoch=-1)),
            (F, 12, fetch("plain", 0, session_id=0, session_epoch=5)),
        ],
        "leader epochs": [
            (E, version, epoch_end("plain", epoch, current=current))
            for version in (2, 3, 4)
            for epoch, current in [(0, -1), (1, -1), (-1, -1), (5, -1), (0, 0), (0, 4), (0, -2)]
        ]
        + [(E, 4, epoch_end("nope", 0))],
        "delete records": [
            (P, 9, produce("deleted", GOOD)),
            (D, 2, delete("deleted", 1)),
            (D, 1, delete("deleted", 0)),
            (D, 0, delete("deleted", 99)),
            (D, 2, delete("deleted", -2)),
            (F, 12, fetch("deleted", 0)),
            (L, 5, offsets("deleted", -2)),
            (D, 2, delete("deleted", -1)),
            (D, 2, delete("compacted", 0)),
            (D, 2, delete("nope", 0)),
            (D, 2, delete("deleted", 0, partition=4)),
        ],
        "describe producers": [
            (ApiKey.DESCRIBE_PRODUCERS, 0, producers("plain", 1)),
            (ApiKey.DESCRIBE_PRODUCERS, 0, producers("nope")),
            (ApiKey.DESCRIBE_PRODUCERS, 0, producers("plain", 8)),
        ],
    }
    return made


def bad_records() -> dict[str, bytes | None]:
    return {
        "nothing": b"",
        "null": None,
        "half": GOOD[:-4],
        "header only": GOOD[:61],
        "few bytes": GOOD[:10],
        "two batches": GOOD + GOOD,
        "trailing byte": GOOD + b"\x00",
        "wrong crc": patched(GOOD, 80, b"\xff", crc=False),
        "wrong count": patched(GOOD, 57, (9).to_bytes(4, "big")),
        "no records": patched(GOOD, 57, (0).to_bytes(4, "big")),
        "wrong last delta": patched(GOOD, 23, (7).to_bytes(4, "big")),
        "negative count": patched(GOOD, 57, (-1).to_bytes(4, "big", signed=True)),
        "magic 3": patched(GOOD, 16, b"\x03"),
        "magic 1": batch(b"a", magic=1),
        "magic 0": batch(b"a", magic=0),
        "control": batch(b"a", control=True, producer_id=1, producer_epoch=0, base_sequence=0),
        "codec 7": patched(GOOD, 21, (7).to_bytes(2, "big")),
        "not really gzip": patched(GOOD, 21, (1).to_bytes(2, "big")),
        "append time": batch(b"a", timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=NOW),
        "future": batch(b"a", b"b", timestamp=NOW + 7_200_000),
        "no timestamp": batch(b"a", timestamp=-1),
        "producer without sequence": patched(numbered(0), 53, (-1).to_bytes(4, "big", signed=True)),
        "base offset set": patched(GOOD, 0, (55).to_bytes(8, "big"), crc=False),
        "epoch set": patched(GOOD, 12, (9).to_bytes(4, "big"), crc=False),
        **{codec.name.lower(): batch(b"a", b"b" * 500, codec=codec) for codec in Codec},
        "gzip wrong count": patched(batch(b"a", b"b", codec=Codec.GZIP), 57, (1).to_bytes(4, "big")),
    }


def topic_rules() -> list[tuple[str, bytes]]:
    return [
        ("compacted", batch(b"a", b"b", key=None)),
        ("compacted", GOOD),
        ("append-time", batch(b"a", timestamp=5)),
        ("small", batch(bytes(3000))),
        ("small", batch(bytes(3000), codec=Codec.GZIP)),
        ("zstd", GOOD),
        ("zstd", batch(b"a", codec=Codec.LZ4)),
        ("strict", GOOD),
        ("__consumer_offsets", GOOD),
    ]


# -- comparison --------------------------------------------------------------------------------------------------------

#: Cases in which Tidelog answers otherwise, and why.
EXCEPTIONS: dict[str, str] = {
    "produce null": "Kafka fails inside and never answers; Tidelog answers as it does for no records",
    "produce codec 7": "Kafka fails inside (UNKNOWN_SERVER_ERROR); Tidelog says INVALID_RECORD",
    "produce not really gzip": "Kafka fails inside (UNKNOWN_SERVER_ERROR); Tidelog says INVALID_RECORD",
}


def normal(response: Any) -> Any:
    """A response without what may differ."""
    if isinstance(response, str):
        return response
    return _strip(response.to_dict())


def _strip(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _keep(key, one) for key, one in value.items()}
    if isinstance(value, list):
        return [_strip(one) for one in value]
    return bytes(value) if isinstance(value, (memoryview, bytearray)) else value


def _keep(key: str, value: Any) -> Any:
    if key in ("error_message", "batch_index_error_message"):
        return value is not None
    if key in ("log_append_time_ms", "last_timestamp", "timestamp") and isinstance(value, int):
        return "now" if abs(value - NOW) < 3_600_000 else value
    if key in ("topic_id", "throttle_time_ms"):
        return None
    if key == "records":
        return _records(value)
    return _strip(value)


def _records(value: Any) -> Any:
    """Batches by what a consumer sees; packed ones may be packed differently."""
    from tidelog.records.format.batch import iter_batches

    if not value:
        return []
    return [
        (one.header.base_offset, one.header.attributes, [(r.offset, r.key, r.value) for r in one.records()])
        for one in iter_batches(bytes(value))
    ]


def differences(theirs: Any, ours: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The fields in which two answers differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in theirs:
            yield from differences(theirs[key], ours[key], f"{path}.{key}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for number, (one, other) in enumerate(zip(theirs, ours, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif theirs != ours:
        yield path, theirs, ours


ALL = cases()


@pytest.mark.parametrize("case", ALL)
def test_answers_are_alike(peers, case):
    if case in EXCEPTIONS:
        pytest.skip(EXCEPTIONS[case])
    different = []
    for number, (key, version, request) in enumerate(ALL[case]):
        theirs, ours = (normal(peer.ask(key, version, request)) for peer in peers)
        for path, kafka, tidelog in differences(theirs, ours):
            different.append(f"request {number} ({key.name} v{version}) {path}: Kafka {kafka}, Tidelog {tidelog}")
    assert not different, "\n".join(different)


def test_topic_ids(peers):
    for version in (13, 15, 17):
        found = []
        for peer in peers:
            topic_id = peer.ids["ids"]
            answers = [normal(peer.ask(P, 13, produce(topic_id, GOOD)))]
            answers += [normal(peer.ask(F, version, fetch(topic_id, 0)))]
            answers += [normal(peer.ask(F, version, fetch(bytes(range(16)), 0)))]
            answers += [normal(peer.ask(F, version, fetch(topic_id, 0, partition=3)))]
            found.append(answers)
        assert found[0] == found[1]


def test_a_changed_limit_applies_at_once(peers):
    found = []
    for peer in peers:
        entry = ConfigEntry("max.message.bytes", "300", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.TOPIC, "ids", incremental_configs=[entry])
        peer.admin.incremental_alter_configs([resource])[resource].result(60)
        answer = eventually(  # Apache Kafka's broker hears of it after its controller
            lambda peer=peer: normal(peer.ask(P, 9, produce("ids", batch(bytes(1000))))),
            lambda answer: answer["responses"][0]["partition_responses"][0]["error_code"],
        )
        answer["responses"][0]["partition_responses"][0].pop("base_offset")
        found.append(answer)
    assert found[0] == found[1]
