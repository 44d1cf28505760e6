"""Encoding and decoding of whole messages: Tidelog against kio (compiled, Rust) and kafka-python, in one run.

    python bench/protocol_codec.py [--quick] [--seconds 0.4]

Each figure is the median of five rounds that take turns between the peers, so that a noisy neighbour hits all alike.
The bytes are the same for all: what Tidelog encodes is what the peers decode and encode again.
"""

from __future__ import annotations

import argparse
import io
import re
import statistics
import sys
import time
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from tidelog.protocol.message import Message
from tidelog.protocol.messages import (
    ApiVersionsResponse,
    FetchRequest,
    HeartbeatRequest,
    MetadataResponse,
    OffsetCommitRequest,
    ProduceRequest,
    ProduceResponse,
)

ROUNDS = 5
Work = Callable[[], object]


def metadata() -> MetadataResponse:
    make = MetadataResponse
    brokers = [make.MetadataResponseBroker(node_id=n, host=f"broker-{n}", port=9092, rack="a") for n in range(3)]
    topics = []
    for number in range(20):
        partitions = [
            make.MetadataResponsePartition(
                partition_index=p, leader_id=p % 3, leader_epoch=4, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
            )
            for p in range(10)
        ]
        topics.append(make.MetadataResponseTopic(name=f"topic-{number}", topic_id=bytes(16), partitions=partitions))
    return make(brokers=brokers, cluster_id="cluster", controller_id=1, topics=topics)


def fetch() -> FetchRequest:
    partitions = [
        FetchRequest.FetchPartition(partition=p, fetch_offset=1000 + p, partition_max_bytes=1 << 20) for p in range(50)
    ]
    topic = FetchRequest.FetchTopic(topic="events", partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])


def produce() -> ProduceRequest:
    partition = ProduceRequest.PartitionProduceData(index=0, records=bytes(16384))
    topic = ProduceRequest.TopicProduceData(name="events", partition_data=[partition])
    return ProduceRequest(acks=-1, timeout_ms=30000, topic_data=[topic])


def produce_answer() -> ProduceResponse:
    partition = ProduceResponse.PartitionProduceResponse(index=0, base_offset=1234567, log_start_offset=0)
    return ProduceResponse(
        responses=[ProduceResponse.TopicProduceResponse(name="events", partition_responses=[partition])]
    )


def commit() -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=p, committed_offset=p, committed_metadata="")
        for p in range(100)
    ]
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="events", partitions=partitions)
    return OffsetCommitRequest(group_id="group", generation_id_or_member_epoch=5, member_id="member", topics=[topic])


def api_versions() -> ApiVersionsResponse:
    keys = [ApiVersionsResponse.ApiVersion(api_key=key, max_version=9) for key in range(70)]
    return ApiVersionsResponse(api_keys=keys)


CASES: list[tuple[str, Callable[[], Message], int]] = [
    ("Metadata answer, 20 topics of 10 partitions", metadata, 9),
    ("Fetch request, 50 partitions", fetch, 12),
    ("Produce request, one 16 KB batch", produce, 9),
    ("Produce answer, one partition", produce_answer, 9),
    ("OffsetCommit request, 100 partitions", commit, 8),
    ("ApiVersions answer, 70 keys", api_versions, 3),
    ("Heartbeat request", lambda: HeartbeatRequest(group_id="group", generation_id=5, member_id="member"), 4),
]


def kio_work(name: str, version: int, data: bytes) -> tuple[Work, Work]:
    kind = "request" if name.endswith("Request") else "response"
    stem = name.removesuffix("Request").removesuffix("Response")
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
    entity = resolve_name(schema_name_map[key][version][EntityType[kind]])
    read, write = entity_reader(entity), entity_writer(entity)
    value, _ = read(data, 0)

    def encode() -> object:
        out = io.BytesIO()
        write(out, value)
        return out.getvalue()

    assert encode() == data
    return encode, lambda: read(data, 0)


def kafka_python_work(name: str, version: int, data: bytes) -> tuple[Work, Work]:
    import kafka.protocol.consumer
    import kafka.protocol.metadata
    import kafka.protocol.producer

    for module in (kafka.protocol.consumer, kafka.protocol.metadata, kafka.protocol.producer):
        if hasattr(module, name):
            break
    cls: Any = getattr(module, name)
    value = cls.decode(data, version=version)
    value._header = None  # which decoding without a header leaves unset, and encoding looks at
    assert bytes(value.encode(version=version)) == data
    return lambda: value.encode(version=version), lambda: cls.decode(data, version=version)


def ours(message: Message, version: int, data: bytes) -> tuple[Work, Work]:
    decode = type(message).decode
    assert decode(data, version) == message
    return lambda: message.encode(version), lambda: decode(data, version)


def measure(works: list[Work], seconds: float) -> list[float]:
    """Microseconds a call, one figure for each."""
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(ROUNDS):
        for place, work in enumerate(works):
            calls, start = 0, time.perf_counter()
            while (elapsed := time.perf_counter() - start) < seconds / ROUNDS:
                for _ in range(20):
                    work()
                calls += 20
            samples[place].append(elapsed / calls * 1e6)
    return [statistics.median(sample) for sample in samples]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a hundredth of a second per figure")
    parser.add_argument("--seconds", type=float, default=0.4, help="per figure")
    options = parser.parse_args()
    seconds = 0.01 if options.quick else options.seconds
    print(f"Python {sys.version.split()[0]}; microseconds a message; ratio = peer / tidelog, above 1 means faster\n")
    print(f"{'message':46}{'':8}{'tidelog':>9}{'kio':>9}{'kafka-py':>10}{'kio ×':>8}{'k-py ×':>8}")
    for title, make, version in CASES:
        message = make()
        name, data = type(message).__name__, message.encode(version)
        peers = [ours(message, version, data), kio_work(name, version, data), kafka_python_work(name, version, data)]
        for place, what in enumerate(("encode", "decode")):
            mine, kio, kafka_python = measure([peer[place] for peer in peers], seconds)
            print(
                f"{title if not place else '':46}{what:8}{mine:9.1f}{kio:9.1f}{kafka_python:10.1f}"
                f"{kio / mine:8.2f}{kafka_python / mine:8.2f}"
            )


if __name__ == "__main__":
    main()
