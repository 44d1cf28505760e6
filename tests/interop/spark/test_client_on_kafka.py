"""The client core against Apache Kafka 3.9 and 4.x: everything that the Spark source and sink ask of a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from support.columns import begun, send_rows, write_rows
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from support.patience import eventually
from tidelog.client import topics
from tidelog.client.blocking import BlockingClient
from tidelog.client.consumer.fetcher import Fetcher, FetchRange, OffsetOutOfRangeError
from tidelog.client.offsets import (
    READ_COMMITTED,
    beginning_offsets,
    commit_group_offsets,
    committed_group_offsets,
    end_offsets,
    list_offsets,
)
from tidelog.client.producer.aio import Producer
from tidelog.client.transaction_requests import describe_transaction, end_transaction, fence, list_transactions
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.records.arrow import batches_to_arrow
from tidelog.spark.decisions import Decision, DecisionLog, all_standings, claim
from tidelog.spark.transaction_names import TransactionName

pytestmark = pytest.mark.java


@pytest.fixture(scope="module", params=[KAFKA_3, KAFKA_4])
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BlockingClient]:
    home: Path = tmp_path_factory.mktemp("kafka")
    with KafkaBroker(request.param, home) as kafka:
        settings = {"bootstrap.servers": kafka.address, "isolation.level": "read_committed"}
        with BlockingClient(settings) as running:
            yield running


def column(*values: str) -> pa.Array:
    return pa.array([value.encode() for value in values], pa.binary())


def committed(client: BlockingClient, topic: str, count: int) -> list[str]:
    partitions = [TopicPartition(topic, number) for number in range(count)]
    starts = client.run(beginning_offsets(client.cluster, partitions))
    ends = client.run(end_offsets(client.cluster, partitions, isolation=READ_COMMITTED))
    fetcher = Fetcher(client.cluster, {tp: FetchRange(starts[tp], ends[tp]) for tp in partitions})
    found: list[str] = []
    while not fetcher.done:
        for piece in client.run(fetcher.poll(10)):
            rows = batches_to_arrow(piece.records, columns=("value",), first_offset=piece.start, aborted=piece.aborted)
            found += [value.decode() for value in rows.column(0).to_pylist()]
    client.run(fetcher.close())
    return sorted(found)


def test_rows_of_every_codec_come_back(client: BlockingClient) -> None:
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        topic = f"codec-{codec}"
        client.run(topics.create_topic(client.cluster, topic, 3))
        words = [f"{codec}-{number:05}" for number in range(5000)]
        settings = {"bootstrap.servers": ",".join(f"{n.host}:{n.port}" for n in client.cluster.metadata.nodes.values())}
        with BlockingClient({**settings, "compression.type": codec}) as writer:
            writer.run(write_rows(writer.cluster, topic, key=column(*words), value=column(*words)))
        assert committed(client, topic, 3) == words


def test_transactions_committed_aborted_and_handed_over(client: BlockingClient) -> None:
    client.run(topics.create_topic(client.cluster, "transactions", 2))
    producer = Producer.over(client.cluster, transactional_id="one")
    client.run(producer.init_transactions())
    for number, commit in enumerate((True, False, True)):
        producer.begin_transaction()
        word = f"{'kept' if commit else 'aborted'}-{number}"
        client.run(send_rows(producer, "transactions", key=column(word), value=column(word)))
        client.run(producer.commit_transaction() if commit else producer.abort_transaction())
    other = client.run(begun(client.cluster, "two"))
    client.run(send_rows(other, "transactions", value=column("handed over")))
    transaction = client.run(other.detach_transaction())
    ongoing = client.run(list_transactions(client.cluster, prefix="tw", states=["Ongoing"]))
    assert [listing.transactional_id for listing in ongoing] == ["two"]
    described = client.run(describe_transaction(client.cluster, "two"))
    assert (described.producer_id, described.epoch, described.state) == (
        transaction.producer_id,
        transaction.epoch,
        "Ongoing",
    )
    for _ in range(2):
        client.run(end_transaction(client.cluster, transaction, committed=True))
    with pytest.raises(KafkaError):
        client.run(end_transaction(client.cluster, transaction, committed=False))
    client.run(fence(client.cluster, "two"))
    ending = ["PrepareCommit", "PrepareAbort"]  # what was decided may still be on its way to the partitions
    eventually(lambda: not client.run(list_transactions(client.cluster, states=ending)))
    assert committed(client, "transactions", 2) == ["handed over", "kept-0", "kept-2"]


def test_decisions(client: BlockingClient) -> None:
    async def scenario() -> None:
        older = DecisionLog(client.cluster, "decisions", "q")
        assert await older.open() is None
        newer = DecisionLog(client.cluster, "decisions", "q")
        assert await newer.open() is None
        with pytest.raises(KafkaError, match=r"PRODUCER_FENCED|INVALID_PRODUCER_EPOCH"):
            await older.decide(Decision("q", 0, ()))
        await newer.decide(Decision("q", 1, ()))
        third = DecisionLog(client.cluster, "decisions", "q")
        assert await third.open() == Decision("q", 1, ())
        await newer.forget()  # is not its to forget any more
        await third.decide(Decision("q", 2, ()))
        await third.forget()  # the same log, a second time
        assert await DecisionLog(client.cluster, "decisions", "q").open() is None
        assert await DecisionLog(client.cluster, "decisions", "other").open() is None

    client.run(scenario())


def test_an_open_decision_of_another_query_holds_nobody_back(client: BlockingClient) -> None:
    """As a driver leaves it that was killed in the middle: ours are read all the same, before it and behind it."""

    async def scenario() -> None:
        await topics.create_topic(client.cluster, "held", 1, config={"cleanup.policy": "compact"})
        mine = DecisionLog(client.cluster, "held", "mine")
        await mine.open()
        await mine.decide(Decision("mine", 1, ()))
        killed = await begun(client.cluster, "held/killed")
        decided = pa.array([Decision("killed", 7, ()).encode()], pa.binary())
        await send_rows(killed, "held", key=column("killed"), value=decided)
        stray = str(TransactionName("mine", 3, 0, "a"))
        await claim(client.cluster, "held", stray)
        assert await mine.read() == Decision("mine", 1, ())
        await mine.decide(Decision("mine", 2, ()))
        newer = DecisionLog(client.cluster, "held", "mine")
        assert await newer.open() == Decision("mine", 2, ())
        assert [one.transactional_id for one in newer.claims] == [stray]
        found = await all_standings(client.cluster, "held")
        assert list(found) == ["mine"], "what is open is no decision"
        taken_over = DecisionLog(client.cluster, "held", "killed")
        assert await taken_over.open() is None

    client.run(scenario())


def test_a_missing_topic_is_made(client: BlockingClient) -> None:
    client.run(write_rows(client.cluster, "made-by-the-broker", value=column("x")))
    assert committed(client, "made-by-the-broker", 1) == ["x"]


@pytest.mark.parametrize("version", [KAFKA_3, KAFKA_4])
def test_a_missing_topic_that_is_not_made_is_told_at_once(version: str, tmp_path: Path) -> None:
    properties = {"auto.create.topics.enable": "false"}
    with (
        KafkaBroker(version, tmp_path, properties=properties) as kafka,
        BlockingClient({"bootstrap.servers": kafka.address}) as client,
        pytest.raises(KafkaError, match="topic missing does not exist"),
    ):
        client.run(asyncio.wait_for(topics.ensure_writable(client.cluster, "missing"), 30))


def test_offsets_groups_and_deleted_records(client: BlockingClient) -> None:
    client.run(topics.create_topic(client.cluster, "offsets", 1, config={"retention.ms": "-1"}))
    tp = TopicPartition("offsets", 0)
    words = [str(number) for number in range(50)]
    times = pa.array([1000 * number for number in range(50)], pa.int64())
    client.run(write_rows(client.cluster, "offsets", value=column(*words), timestamp=times))
    assert client.run(list_offsets(client.cluster, {tp: 20_500}))[tp].offset == 21
    assert client.run(topics.delete_records(client.cluster, {tp: 30})) == {tp: 30}
    fetcher = Fetcher(client.cluster, {tp: FetchRange(0, 50)})
    with pytest.raises(OffsetOutOfRangeError):
        client.run(fetcher.poll(10))
    client.run(fetcher.close())
    client.run(commit_group_offsets(client.cluster, "lag", {tp: 42}))
    assert client.run(committed_group_offsets(client.cluster, "lag")) == {tp: 42}
    client.run(topics.create_partitions(client.cluster, "offsets", 3))
    assert client.cluster.metadata.partitions("offsets") == [0, 1, 2]
    client.run(topics.delete_topic(client.cluster, "offsets"))
