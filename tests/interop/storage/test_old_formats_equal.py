"""Topics of message formats 0, 1 and 2, on Apache Kafka 3.9 (which still stores them all) and on Tidelog: every kind of
produce request gets the same answer, leaves the same records in the log, and reads back the same."""

from __future__ import annotations

import struct
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from reference.records.message_set import iter_messages, unwrap
from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_3, KafkaBroker, dump_log_class, java_tool
from support.tidelog import TidelogServer
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    CreateTopicsRequest,
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.format.legacy import encode_message

pytestmark = pytest.mark.java

NOW = time.time_ns() // 1_000_000 - 60_000
TIMES = (NOW - 5, NOW - 1, NOW - 3)
KEYS: tuple[bytes | None, ...] = (b"a", b"b", b"c")
VALUES = (b"1", None, b"3" * 40)
OLD_PROTOCOL = {"inter.broker.protocol.version": "2.8"}
FORMATS = {0: "0.9.0", 1: "0.10.2", 2: "2.8"}
KINDS = {
    "plain": {},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "compacted": {"cleanup.policy": "compact"},
    "packed": {"compression.type": "gzip"},
    "unpacked": {"compression.type": "uncompressed"},
}
TOPICS = {
    f"{kind}{magic}": {"message.format.version": version, "message.timestamp.after.max.ms": "3600000", **configs}
    for magic, version in FORMATS.items()
    for kind, configs in KINDS.items()
}


class Case(NamedTuple):
    version: int
    records: bytes


class Seen(NamedTuple):
    """What one broker made of a case, sent twice."""

    answers: list[tuple[Any, ...]]
    log: list[Any]
    exact: bytes
    offsets: list[tuple[int, ...]]
    fetched: list[Any]
    epoch: tuple[int, int, int]


def messages(
    magic: int,
    offsets: tuple[int, ...] = (0, 1, 2),
    attributes: int = 0,
    times: tuple[int, ...] = TIMES,
    keys: tuple[bytes | None, ...] = KEYS,
) -> bytes:
    rows = zip(offsets, times, keys, VALUES, strict=True)
    return b"".join(encode_message(magic, offset, attributes, at, key, value) for offset, at, key, value in rows)


def wrapped(
    magic: int, inner: bytes, codec: Codec = Codec.GZIP, offset: int = 2, attributes: int = 0, at: int = NOW - 1
) -> bytes:
    return encode_message(magic, offset, codec | attributes, at, None, compress(codec, inner, magic=magic))


def batch(codec: Codec = Codec.NONE, **options: Any) -> bytes:
    builder = BatchBuilder(2, codec, **options)
    for at, key, value in zip(TIMES, KEYS, VALUES, strict=True):
        builder.append(at, key, value)
    return builder.build()


def damaged(data: bytes, position: int) -> bytes:
    copy = bytearray(data)
    copy[position] ^= 1
    return bytes(copy)


def overlong_key(magic: int) -> bytes:
    """Sound but for the length of the first key."""
    data = bytearray(messages(magic))
    end = 12 + struct.unpack_from(">i", data, 8)[0]
    struct.pack_into(">i", data, 18 + 8 * magic, 1000)
    struct.pack_into(">I", data, 12, zlib.crc32(data[16:end]))
    return bytes(data)


def cases_of(magic: int) -> dict[str, Case]:
    """Message sets of one magic."""
    plain, late = messages(magic), (NOW, NOW + 10**10, NOW + 10**10)
    keyless = messages(magic, keys=(b"a", None, None))
    sets = {
        "plain": plain,
        "odd offsets": messages(magic, (7, 7, 9)),
        "gzip": wrapped(magic, plain),
        "snappy": wrapped(magic, plain, Codec.SNAPPY),
        "lz4": wrapped(magic, plain, Codec.LZ4),
        "wrapper at 0": wrapped(magic, plain, offset=0),
        "inner offsets 0": wrapped(magic, messages(magic, (0, 0, 0))),
        "inner offsets absolute": wrapped(magic, messages(magic, (10, 11, 12)), offset=12),
        "wrapper before its last": wrapped(magic, messages(magic, (10, 11, 12)), offset=5),
        "two wrappers": wrapped(magic, plain) * 2,
        "wrapper, then plain": wrapped(magic, plain) + plain,
        "plain, then wrapper": plain + wrapped(magic, plain),
        "nested": wrapped(magic, wrapped(magic, plain)),
        "damaged": damaged(plain, -1),
        "damaged inside": wrapped(magic, damaged(plain, -1)),
        "no key": keyless,
        "no key inside": wrapped(magic, keyless),
        "late": messages(magic, times=late),
        "late inside": wrapped(magic, messages(magic, times=late)),
        "no times": messages(magic, times=(-1, -1, -1)),
        "no times inside": wrapped(magic, messages(magic, times=(-1, -1, -1)), at=-1),
        "wrong wrapper time": wrapped(magic, plain, at=NOW - 77_777),
        "claims broker time": messages(magic, attributes=8),
        "claims broker time, has none": messages(magic, attributes=8, times=(-1, -1, -1)),
        "wrapper claims broker time": wrapped(magic, plain, attributes=8),
        "inner claim broker time": wrapped(magic, messages(magic, attributes=8)),
        "bits of no meaning": messages(magic, attributes=0x70),
        "cut tail": plain[:-3],
        "cut tail inside": wrapped(magic, plain + plain[:11]),
        "noise inside": wrapped(magic, plain + bytes(17)),
        "nothing inside": wrapped(magic, b""),
        "nothing whole": plain[:20],
        "other magic inside": wrapped(magic, messages(1 - magic)),
        "mixed": plain + messages(1 - magic),
        "wrapper of null": encode_message(magic, 0, Codec.GZIP, NOW, None, None),
        "zstd": encode_message(magic, 0, Codec.ZSTD, NOW, b"k", b"v"),
        # What follows Apache Kafka answers with an internal error, or stores although no client can read it.
        "codec 5": encode_message(magic, 0, 5, NOW, b"k", b"v"),
        "no gzip": encode_message(magic, 0, Codec.GZIP, NOW, b"k", b"nonsense"),
        "overlong key": overlong_key(magic),
        "overlong key inside": wrapped(magic, overlong_key(magic)),
    }
    found = {f"{magic} {name}": Case(2, data) for name, data in sets.items()}
    return {**found, f"{magic} old request": Case(magic, plain), f"{magic} too new a request": Case(3, plain)}


PRODUCER = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 0}
CASES = {
    **cases_of(0),
    **cases_of(1),
    **{f"2 plain, version {version}": Case(version, batch()) for version in (2, 3, 7, 8)},
    **{f"2 {codec.label}": Case(8, batch(codec)) for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD)},
    "2 idempotent": Case(8, batch(**PRODUCER)),
    "2 twice": Case(2, batch() + batch()),
    "2 after 1": Case(2, messages(1) + batch()),
}
#: Where Apache Kafka fails with an internal error (-1) or stores what cannot be read, Tidelog refuses in words.
REFUSED = {
    "codec 5": ErrorCode.INVALID_RECORD,
    "no gzip": ErrorCode.INVALID_RECORD,
    "overlong key": ErrorCode.INVALID_RECORD,
    "overlong key inside": ErrorCode.INVALID_RECORD,
}


class Broker:
    def __init__(self, address: str, data: Path) -> None:
        self.wire, self.data = BlockingWire(address, timeout=120), data

    def create(self) -> None:
        for name, configs in TOPICS.items():
            own = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=text) for key, text in configs.items()]
            new = CreateTopicsRequest.CreatableTopic(
                name=name, num_partitions=len(CASES), replication_factor=1, configs=own
            )
            answer = self.wire.ask(ApiKey.CREATE_TOPICS, 4, CreateTopicsRequest(topics=[new], timeout_ms=120_000))
            assert answer.topics[0].error_code == 0, answer

    def produce(self, topic: str, partition: int, case: Case) -> tuple[Any, ...]:
        data = ProduceRequest.PartitionProduceData(index=partition, records=case.records)
        topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
        request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topics)
        for _ in range(600):
            answer = self.wire.ask(ApiKey.PRODUCE, case.version, request).responses[0].partition_responses[0]
            if answer.error_code not in (3, 5, 6):  # the leader of a topic that was just made
                break
            time.sleep(0.1)
        has_time = case.version >= 2 and answer.log_append_time_ms > 0
        start = answer.log_start_offset if case.version >= 5 else None
        return answer.error_code, answer.base_offset, has_time, start

    def list_offset(self, topic: str, partition: int, timestamp: int, version: int) -> tuple[int, ...]:
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        request = ListOffsetsRequest(
            replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])]
        )
        answer = self.wire.ask(ApiKey.LIST_OFFSETS, version, request).topics[0].partitions[0]
        return answer.error_code, answer.offset, answer.leader_epoch

    def fetch(self, topic: str, partition: int, version: int) -> tuple[int, int, bytes]:
        asked = FetchRequest.FetchPartition(partition=partition, fetch_offset=0, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 20,
            topics=[FetchRequest.FetchTopic(topic=topic, partitions=[asked])],
        )
        answer = self.wire.ask(ApiKey.FETCH, version, request).responses[0].partitions[0]
        return answer.error_code, answer.high_watermark, bytes(answer.records or b"")

    def epoch_end(self, topic: str, partition: int) -> tuple[int, int, int]:
        asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=partition, current_leader_epoch=-1, leader_epoch=0
        )
        topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
        request = OffsetForLeaderEpochRequest(replica_id=-2, topics=topics)
        answer = self.wire.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 3, request).topics[0].partitions[0]
        return answer.error_code, answer.leader_epoch, answer.end_offset

    def segment(self, topic: str, partition: int) -> bytes:
        return (self.data / f"{topic}-{partition}" / "00000000000000000000.log").read_bytes()

    def run(self, topic: str, partition: int, case: Case) -> Seen:
        answers = [self.produce(topic, partition, case) for _ in range(2)]
        times = [(-1, 4), (-2, 4), (0, 4), (NOW - 4, 4)]
        broker_time = topic.startswith("stamped")
        exact = self.segment(topic, partition)
        fetched = [self.fetch(topic, partition, version) for version in (0, 2, 4)]
        return Seen(
            answers,
            shape(exact, broker_time),
            exact,
            [self.list_offset(topic, partition, *question) for question in times],
            [(code, end, shape(data, broker_time)) for code, end, data in fetched],
            self.epoch_end(topic, partition),
        )


def shape(data: bytes, broker_time: bool) -> list[Any]:
    """The entries, packed ones unpacked: two libraries do not pack alike. Times of the broker's own become one."""

    def at(timestamp: int) -> int:
        return 1 if broker_time and NOW + 30_000 < timestamp < NOW + 10**9 else timestamp

    found: list[Any] = []
    for entry in iter_batches(data, check_crc=True):
        header = entry.header
        head = (header.magic, header.last_offset, header.attributes, at(header.max_timestamp), header.leader_epoch)
        if header.magic == 2:
            inner = [(r.offset, at(r.timestamp), r.key, r.value) for r in entry]
        else:
            (message,) = iter_messages(entry.raw)
            parts = unwrap(message) if header.is_compressed else [message]
            inner = [(m.offset, at(m.timestamp), _copy(m.key), _copy(m.value)) for m in parts]
            head = (*head, [m.attributes for m in parts])
        found.append((head, inner))
    return found


def _copy(data: memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Broker]]:
    home = tmp_path_factory.mktemp("formats")
    (home / "tidelog").mkdir()
    with (
        KafkaBroker(KAFKA_3, home / "kafka", mode="zookeeper", properties=OLD_PROTOCOL) as kafka,
        TidelogServer(home / "tidelog", properties=OLD_PROTOCOL) as server,
    ):
        both = Broker(kafka.address, kafka.data), Broker(server.address, server.data)
        for side in both:
            side.create()
        yield both
        for side in both:
            side.wire.close()


def is_refused_by_us_alone(topic: str, name: str) -> bool:
    kind, magic = topic[:-1], topic[-1]
    return name[2:] in REFUSED or (name == "2 zstd" and magic in "01" and kind not in ("packed", "unpacked"))


def compare(ours: Seen, theirs: Seen, where: tuple[str, str]) -> None:
    assert ours.answers == theirs.answers, where
    assert ours.log == theirs.log, where
    assert ours.offsets == theirs.offsets, where
    assert ours.epoch == theirs.epoch, where
    for mine, their in zip(ours.fetched, theirs.fetched, strict=True):
        assert mine[:2] == their[:2], where
        # What Kafka converts it cuts to the size of what it has read, perhaps within a message.
        assert mine[2][: len(their[2])] == their[2], where
        assert their[2] or not mine[2], where


@pytest.mark.parametrize("topic", list(TOPICS))
def test_every_case(topic: str, sides: tuple[Broker, Broker]) -> None:
    kafka, tidelog = sides
    equal = 0
    for partition, (name, case) in enumerate(CASES.items()):
        if is_refused_by_us_alone(topic, name):
            code = REFUSED.get(name[2:], ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
            assert tidelog.produce(topic, partition, case)[:2] == (code, -1), (topic, name)
            continue
        theirs, ours = kafka.run(topic, partition, case), tidelog.run(topic, partition, case)
        compare(ours, theirs, (topic, name))
        equal += ours.exact == theirs.exact != b""
    if topic[:-1] not in ("stamped", "packed"):  # times, and the packers, differ
        assert equal > 10, f"{equal} of {len(CASES)} logs are equal byte by byte"


def test_kafka_s_dump_tool_reads_what_tidelog_stores(sides: tuple[Broker, Broker], tmp_path: Path) -> None:
    _, tidelog = sides
    for magic in (0, 1):
        for name in (f"{magic} plain", f"{magic} gzip", f"{magic} snappy", f"{magic} lz4"):
            partition = list(CASES).index(name)
            path = tidelog.data / f"plain{magic}-{partition}" / "00000000000000000000.log"
            if not path.stat().st_size:
                tidelog.produce(f"plain{magic}", partition, CASES[name])
            arguments = ("--deep-iteration", "--print-data-log", "--files", str(path))
            text = java_tool(KAFKA_3, tmp_path, dump_log_class(KAFKA_3), *arguments).stdout
            assert "isvalid: true" in text
            assert f"magic: {magic}" in text
            assert "isvalid: false" not in text
            assert "payload: " + "3" * 40 in text
