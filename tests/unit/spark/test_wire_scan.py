"""Tasks of wire mode on topics that are not any more what was planned, against a broker in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from support.columns import write_rows

pytest.importorskip("pyspark")

from tidelog.client import topics
from tidelog.client.blocking import BlockingClient
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.consumer.arrow_fetcher import ArrowFetcher
from tidelog.client.consumer.fetcher import Fetcher, FetchRange
from tidelog.client.offsets import commit_group_offsets, committed_group_offsets
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.records.arrow import PART_BYTES
from tidelog.spark import wire_scan
from tidelog.spark.boundaries import DataLossError
from tidelog.spark.offsets import OffsetRange, Offsets
from tidelog.spark.options import SourceOptions, source_options
from tidelog.spark.stream_reader import StreamReader
from tidelog.spark.wire_scan import scan
from tidelog.spark.wire_topics import WireTopics
from tidelog.testing.broker import Broker

TOPIC = "orders"
TP = TopicPartition(TOPIC, 0)


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    home: Path = tmp_path_factory.mktemp("broker")
    with Broker(home) as running:
        yield running


@pytest.fixture
def client(broker: Broker) -> Iterator[BlockingClient]:
    """With a new topic of ten records."""
    with BlockingClient({"bootstrap.servers": broker.address}) as running:
        running.run(topics.delete_topic(running.cluster, TOPIC, missing_ok=True))
        fill(running, [b"v%d" % number for number in range(10)])
        yield running


def fill(client: BlockingClient, values: list[bytes]) -> None:
    client.run(topics.create_topic(client.cluster, TOPIC))
    client.run(write_rows(client.cluster, TOPIC, value=pa.array(values, pa.binary())))


def options_of(client: BlockingClient, *, streaming: bool = False, **more: str) -> SourceOptions:
    (node,) = client.cluster.metadata.nodes.values()
    given = {"kafka.bootstrap.servers": f"{node.host}:{node.port}", **more}
    if not {"subscribe", "subscribePattern"} & more.keys():
        given["subscribe"] = TOPIC
    return source_options(given, streaming=streaming)


def values(options: SourceOptions, end: int, topic_id: bytes | None = None) -> list[bytes]:
    found = scan(options, OffsetRange(TOPIC, 0, 0, end), ("value",), topic_id=topic_id)
    return [value for batch in found for value in batch.column(0).to_pylist()]


def test_an_end_behind_the_logs_end_is_a_loss_and_not_waited_for(client: BlockingClient) -> None:
    with pytest.raises(DataLossError, match="orders-0 ends at offset 10, not at 15"):
        values(options_of(client, **{"kafkaConsumer.pollTimeoutMs": "30000"}), 15)
    assert len(values(options_of(client, failOnDataLoss="false"), 15)) == 10


def test_a_topic_that_is_gone_is_a_loss(client: BlockingClient) -> None:
    planned = client.cluster.metadata.topics[TOPIC].id
    brief = {"kafka.default.api.timeout.ms": "300"}
    client.run(topics.delete_topic(client.cluster, TOPIC))
    with pytest.raises(DataLossError, match="orders-0 was deleted since the query was planned"):
        values(options_of(client, **brief), 10, planned)
    assert values(options_of(client, failOnDataLoss="false", **brief), 10, planned) == []


def test_another_topic_of_that_name_is_never_read(client: BlockingClient) -> None:
    planned = client.cluster.metadata.topics[TOPIC].id
    assert len(values(options_of(client), 10, planned)) == 10
    client.run(topics.delete_topic(client.cluster, TOPIC))
    fill(client, [b"new"] * 20)
    with pytest.raises(DataLossError, match="made anew"):
        values(options_of(client), 10, planned)
    assert values(options_of(client, failOnDataLoss="false"), 10, planned) == []


def test_a_stream_notices_a_topic_that_was_made_anew(client: BlockingClient) -> None:
    reader = StreamReader(options_of(client, streaming=True), ("value",))
    begin = {TOPIC: {"0": 0}}
    assert len(reader.partitions(begin, {TOPIC: {"0": 10}})) == 1
    client.run(topics.delete_topic(client.cluster, TOPIC))
    fill(client, [b"new"] * 20)
    end = reader.latestOffset({TOPIC: {"0": 10}}, reader.getDefaultReadLimit())
    with pytest.raises(DataLossError, match="Topic orders was deleted and made anew"):
        reader.partitions({TOPIC: {"0": 10}}, end)
    reader.stop()


def test_a_pattern_matches_what_is_there(client: BlockingClient) -> None:
    client.run(topics.create_topic(client.cluster, "orders-too", exists_ok=True))
    reader = StreamReader(options_of(client, streaming=True, subscribePattern="orders.*"), ("value",))
    limit = reader.getDefaultReadLimit()
    start = reader.latestOffset({}, limit)
    assert set(start) == {TOPIC, "orders-too"}
    client.run(topics.delete_topic(client.cluster, "orders-too"))
    end = reader.latestOffset(start, limit)
    assert set(end) == {TOPIC}
    with pytest.raises(DataLossError, match="orders-too-0 are gone"):
        reader.partitions(start, end)
    reader.stop()
    tolerant = options_of(client, streaming=True, subscribePattern="orders.*", failOnDataLoss="false")
    reader = StreamReader(tolerant, ("value",))
    assert [task.range.topic for task in reader.partitions({**start, TOPIC: {"0": 0}}, end)] == [TOPIC]  # type: ignore[attr-defined]  # ours
    reader.stop()


def test_a_topic_may_go_between_its_name_and_its_end(client: BlockingClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pattern matched it a moment ago: the stream looks anew, and does not die."""
    client.run(topics.create_topic(client.cluster, "orders-brief", exists_ok=True))
    brief = {"kafka.default.api.timeout.ms": "300"}
    reader = StreamReader(options_of(client, streaming=True, subscribePattern="orders.*", **brief), ("value",))
    latest = WireTopics.latest

    def too_late(self: WireTopics, partitions: Iterable[TopicPartition]) -> Offsets:
        client.run(topics.delete_topic(client.cluster, "orders-brief", missing_ok=True))
        return latest(self, partitions)

    monkeypatch.setattr(WireTopics, "latest", too_late)
    assert "orders-brief" not in reader.latestOffset({}, reader.getDefaultReadLimit())
    reader.stop()


def test_no_other_topic_is_read_behind_what_was_deleted(
    client: BlockingClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has lost its beginning; while the task finds out where it starts now, the topic is made anew."""
    old = client.cluster.metadata.topics[TOPIC].id
    client.run(topics.delete_records(client.cluster, {TP: 5}))
    starts = wire_scan.beginning_offsets

    async def slow(cluster: ClusterClient, partitions: Iterable[TopicPartition]) -> Offsets:
        found = await starts(cluster, partitions)
        await topics.delete_topic(cluster, TOPIC)
        await topics.create_topic(cluster, TOPIC)
        await write_rows(cluster, TOPIC, value=pa.array([b"other"] * 10, pa.binary()))
        return found

    monkeypatch.setattr(wire_scan, "beginning_offsets", slow)
    assert values(options_of(client, failOnDataLoss="false"), 10, old) == []


def test_positions_of_topics_that_are_gone_are_not_published(client: BlockingClient) -> None:
    gone = TopicPartition("never", 0)
    client.run(commit_group_offsets(client.cluster, "lag", {TP: 7, gone: 3}, missing_ok=True))
    assert client.run(committed_group_offsets(client.cluster, "lag")) == {TP: 7}


def test_a_stream_that_publishes_outlives_a_topic_of_its_own(client: BlockingClient) -> None:
    """Its position in a topic that was deleted since concerns nobody: the others are published."""
    published = {"publishOffsets": "true", "kafka.group.id": "published", "kafka.default.api.timeout.ms": "2000"}
    reader = StreamReader(options_of(client, streaming=True, **published), ("value",))
    reader.commit({TOPIC: {"0": 8}, "never": {"0": 3}})
    reader.stop()
    assert client.run(committed_group_offsets(client.cluster, "published")) == {TP: 8}


def test_the_ids_of_topics(client: BlockingClient) -> None:
    names = WireTopics(client, read_committed=False)
    assert names.ids([TOPIC, "never"]) == {TOPIC: client.cluster.metadata.topics[TOPIC].id}


def test_a_well_packed_answer_is_handed_out_in_parts(client: BlockingClient) -> None:
    """300 MB of zeros are 300 kB on the wire; no part of them is much larger than it may be."""
    client.run(topics.create_topic(client.cluster, "packed", exists_ok=True))
    settings = {"compression.type": "zstd", "batch.size": "5000000", "max.request.size": "6000000"}
    (node,) = client.cluster.metadata.nodes.values()
    with BlockingClient({"bootstrap.servers": f"{node.host}:{node.port}", **settings}) as writer:
        for _ in range(60):
            writer.run(write_rows(writer.cluster, "packed", value=pa.array([bytes(50_000)] * 100, pa.binary())))
    tp, count = TopicPartition("packed", 0), 60 * 100
    fetcher = ArrowFetcher(Fetcher(client.cluster, {tp: FetchRange(0, count)}), columns=("offset", "value"))
    offsets: list[int] = []
    while not fetcher.done:
        for piece in client.run(fetcher.poll(60)):
            assert piece.batch.nbytes < 2 * PART_BYTES
            offsets += piece.batch.column(0).to_pylist()
            assert piece.next_offset == offsets[-1] + 1
    client.run(fetcher.close())
    assert offsets == list(range(count))


def test_a_group_that_may_not_miss_anything_is_told(client: BlockingClient) -> None:
    (node,) = client.cluster.metadata.nodes.values()
    settings = {"bootstrap.servers": f"{node.host}:{node.port}", "default.api.timeout.ms": "300"}
    with BlockingClient(settings) as hasty, pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        hasty.run(commit_group_offsets(hasty.cluster, "lag", {TopicPartition("never", 0): 3}))
