"""Fetch and produce engines against a fake cluster: retries, moved leaders, lost sessions, transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pyarrow as pa
import pytest

from support.columns import begun, send_rows, write_rows
from support.fake_cluster import TOPIC, FakeCluster
from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.client.consumer.arrow_fetcher import ArrowFetcher
from tidelog.client.consumer.fetcher import Fetcher, FetchRange, OffsetOutOfRangeError, TopicRecreatedError
from tidelog.client.offsets import beginning_offsets, end_offsets
from tidelog.client.producer.aio import Producer
from tidelog.client.producer.columns import WrittenRows
from tidelog.client.transaction_requests import end_transaction, init_producer_id
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.hashing import partition_for_key
from tidelog.common.types import TopicPartition as TP
from tidelog.protocol.api import ApiKey
from tidelog.records.format.builder import BatchBuilder

FAST = {"retry.backoff.ms": "1", "retry.backoff.max.ms": "5", "request.timeout.ms": "2000"}


def run(scenario: Callable[[FakeCluster, ClusterClient], Awaitable[None]], partitions: int = 1, **more: str) -> None:
    async def main() -> None:
        async with FakeCluster(partitions) as broker:
            settings = {
                "bootstrap.servers": broker.address,
                **FAST,
                **{k.replace("_", "."): v for k, v in more.items()},
            }
            async with ClusterClient(settings) as cluster:
                await scenario(broker, cluster)

    asyncio.run(main())


def column(*values: str | None) -> pa.Array:
    return pa.array([None if value is None else value.encode() for value in values], pa.binary())


def texts(batch: pa.RecordBatch) -> list[str]:
    return [value.decode() for value in batch.column(0).to_pylist()]


async def fetch_all(cluster: ClusterClient, ranges: dict[TP, FetchRange]) -> dict[TP, list[str]]:
    reader = ArrowFetcher(Fetcher(cluster, ranges), columns=("value",))
    found: dict[TP, list[str]] = {tp: [] for tp in ranges}
    try:
        while not reader.done:
            for piece in await reader.poll(60):
                found[piece.topic_partition] += texts(piece.batch)
    finally:
        await reader.close()
    return found


async def send(cluster: ClusterClient, **columns: Any) -> list[WrittenRows]:
    return await write_rows(cluster, TOPIC, **columns)


@pytest.mark.parametrize("sessions", [True, False])
def test_a_range_ends_where_only_a_gap_is_left_of_it(sessions: bool) -> None:
    """Compaction may remove the last records of a log: nothing at all lies between them and its end."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        broker.sessions = sessions
        for number in range(3):
            await produce(cluster, number, "a", "b")
        broker.ends[0] = broker.ends[2] = 9
        ranges = {TP(TOPIC, number): FetchRange(0, 9 if number != 1 else 2) for number in range(3)}
        found = await asyncio.wait_for(fetch_all(cluster, ranges), 30)
        assert list(found.values()) == [["a", "b"]] * 3

    run(scenario, 3)


def test_a_gap_is_no_gap_while_anything_is_wrong() -> None:
    """An offset that the log no longer holds is not passed over, nor is an answer that was throttled believed."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await produce(cluster, 0, "a", "b")
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(0, 9)})
        assert await fetcher.poll(10)
        broker.ends[0] = broker.starts[0] = 9
        broker.logs[0].clear()
        with pytest.raises(OffsetOutOfRangeError):
            await fetcher.poll(10)
        broker.starts[0], broker.throttled = 0, True
        assert await fetcher.poll(0.2) == []
        assert not fetcher.done
        broker.throttled = False
        assert await fetcher.poll(10) == []
        assert fetcher.done
        await fetcher.close()

    run(scenario)


def test_a_log_that_grows_while_it_is_asked_has_no_gap() -> None:
    """The answer was read before the records came, and tells of the end after them."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        fetched = broker._fetched
        grown = asyncio.Event()

        def stale(wanted: Any, error: int) -> Any:
            answer = fetched(wanted, error)
            if not grown.is_set():
                grown.set()
                broker.append(0, record_batch(b"late"))
                answer.high_watermark = broker.ends[0]
            return answer

        broker._fetched = stale  # type: ignore[method-assign]  # one answer of two moments
        assert await fetch_all(cluster, {TP(TOPIC, 0): FetchRange(0, 1)}) == {TP(TOPIC, 0): ["late"]}

    run(scenario)


def record_batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(0, None, value)
    return builder.build()


async def produce(cluster: ClusterClient, partition: int, *values: str) -> None:
    await send(cluster, value=column(*values), partition=pa.array([partition] * len(values), pa.int32()))


def test_rows_go_out_by_key_and_come_back_in_order() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        words = [f"w{number}" for number in range(500)]
        await send(cluster, key=column(*words), value=column(*words))
        ends = await end_offsets(cluster, [TP(TOPIC, number) for number in range(3)])
        found = await fetch_all(cluster, {tp: FetchRange(0, end) for tp, end in ends.items()})
        for tp, values in found.items():
            assert values == [word for word in words if partition_for_key(word.encode(), 3) == tp.partition]

    run(scenario, partitions=3, batch_size="1000", max_partition_fetch_bytes="3000")


def test_explicit_partitions_and_rows_without_a_key() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a", "b", "c"), partition=pa.array([2, 0, 2], pa.int32()))
        assert broker.ends == [1, 0, 2]
        async with Producer.over(cluster) as producer:
            for _ in range(3):
                await send_rows(producer, TOPIC, value=column("x", "y"))
            assert broker.ends == [3, 2, 4], "rows without a key stay together and go round"
            with pytest.raises(UsageError, match="it has 0 to 2"):
                await send_rows(producer, TOPIC, value=column("a"), partition=pa.array([3], pa.int32()))

    run(scenario, partitions=3)


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS]
)
def test_a_produce_that_fails_for_now_is_repeated(error: ErrorCode) -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        broker.fail[ApiKey.PRODUCE] = [error, error]
        assert await send(cluster, value=column("a", "b")) == [WrittenRows(TP(TOPIC, 0), 0, 2)]
        assert broker.ends == [2]
        assert len(broker.asked(ApiKey.PRODUCE)) == 3

    run(scenario)


def test_a_produce_that_fails_for_good_is_raised() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        broker.fail[ApiKey.PRODUCE] = [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            await send(cluster, value=column("a"))

    run(scenario)


def test_a_transaction_adds_partitions_before_it_writes() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        producer = Producer.over(cluster, transactional_id="x")
        with pytest.raises(KafkaError, match="not initialized"):
            producer.begin_transaction()
        broker.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_COORDINATOR]
        await producer.init_transactions()
        producer.begin_transaction()
        broker.fail[ApiKey.ADD_PARTITIONS_TO_TXN] = [ErrorCode.CONCURRENT_TRANSACTIONS]
        for _ in range(2):
            await send_rows(producer, TOPIC, value=column("a", "b"), partition=pa.array([0, 1], pa.int32()))
        assert sorted(broker.transaction) == [(TOPIC, 0), (TOPIC, 1)]
        await producer.commit_transaction()
        producer.begin_transaction()
        await producer.abort_transaction()
        producer.begin_transaction()
        await send_rows(producer, TOPIC, value=column("c"))
        await producer.abort_transaction()
        assert broker.ended == [True, False], "a transaction without records has nothing to end"
        keys = [header.api_key for header, _ in broker.seen]
        assert keys.index(ApiKey.ADD_PARTITIONS_TO_TXN) < keys.index(ApiKey.PRODUCE)
        requests = broker.asked(ApiKey.PRODUCE)
        assert {request.transactional_id for request in requests} == {"x"}

    run(scenario, partitions=2)


def test_after_an_abort_with_records_that_never_left_the_producer_begins_anew() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        producer = await begun(cluster, "x")
        broker.fail[ApiKey.PRODUCE] = [ErrorCode.INVALID_RECORD]
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            await send_rows(producer, TOPIC, value=column("a"))
        with pytest.raises(KafkaError, match="INVALID_RECORD"):
            await producer.detach_transaction()
        await producer.abort_transaction()
        assert len(broker.asked(ApiKey.INIT_PRODUCER_ID)) == 2
        producer.begin_transaction()
        await send_rows(producer, TOPIC, value=column("b"))
        await producer.commit_transaction()
        assert broker.ended == [False, True]
        assert broker.ends == [1]

    run(scenario)


def test_one_partitions_trouble_does_not_cost_the_records_of_another() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a", "b", "c"), partition=pa.array([0, 1, 2], pa.int32()))
        broker.starts[1] = 1
        fetcher = Fetcher(cluster, {TP(TOPIC, number): FetchRange(0, 1) for number in range(3)})
        pieces = await fetcher.poll(60)
        assert [piece.topic_partition.partition for piece in pieces] == [0, 2]
        with pytest.raises(OffsetOutOfRangeError, match="t-1 does not hold offset 0"):
            await fetcher.poll(60)
        fetcher.seek(TP(TOPIC, 1), 1)
        assert fetcher.done
        await fetcher.close()

    run(scenario, partitions=3)


def test_a_fetch_follows_moved_leaders_and_lost_sessions() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        words = [f"w{number:03}" for number in range(200)]
        await send(cluster, value=column(*words))
        broker.fail[ApiKey.FETCH] = [
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.FENCED_LEADER_EPOCH,
        ]
        assert (await fetch_all(cluster, {TP(TOPIC, 0): FetchRange(0, 200)}))[TP(TOPIC, 0)] == words
        epochs = [request.session_epoch for request in broker.asked(ApiKey.FETCH)]
        assert epochs[0] == 0
        assert max(epochs) > 2, "sessions are used"

    run(scenario, batch_size="300", max_partition_fetch_bytes="700")


def test_a_fetch_reads_exactly_its_range() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column(*[str(number) for number in range(100)]))
        found = await fetch_all(cluster, {TP(TOPIC, 0): FetchRange(13, 57)})
        assert found[TP(TOPIC, 0)] == [str(number) for number in range(13, 57)]

    run(scenario)


def test_an_offset_that_is_not_there_is_the_callers_decision() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column(*[str(number) for number in range(20)]))
        broker.starts[0] = 10
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(5, 20)})
        with pytest.raises(OffsetOutOfRangeError) as gone:
            await fetcher.poll(60)
        assert (gone.value.offset, gone.value.log_start_offset) == (5, 10)
        fetcher.seek(TP(TOPIC, 0), (await beginning_offsets(cluster, [TP(TOPIC, 0)]))[TP(TOPIC, 0)])
        (piece,) = await fetcher.poll(60)
        assert (piece.start, piece.next_offset) == (10, 20)
        await fetcher.close()

    run(scenario)


def test_a_topic_that_was_made_anew_is_told_and_not_asked_for_over_and_over() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a", "b"))
        tp = TP(TOPIC, 0)
        fetcher = Fetcher(cluster, {tp: FetchRange(0)})
        (piece,) = await fetcher.poll(60)
        assert piece.next_offset == 2
        broker.topic_id = b"N" * 16
        before = len(broker.asked(ApiKey.FETCH))
        with pytest.raises(TopicRecreatedError, match="t-0 was deleted and made anew"):
            await fetcher.poll(60)
        assert len(broker.asked(ApiKey.FETCH)) - before < 10
        fetcher.seek(tp, 1)
        (piece,) = await fetcher.poll(60)
        assert (piece.start, piece.next_offset) == (1, 2)
        await fetcher.close()

    run(scenario, fetch_max_wait_ms="20")


def test_a_range_is_of_one_topic_only() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a"))
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(0, 1, topic_id=b"O" * 16)})
        with pytest.raises(TopicRecreatedError):
            await fetcher.poll(60)
        assert broker.asked(ApiKey.FETCH) == []
        await fetcher.close()

    run(scenario)


def test_one_brokers_fatal_answer_does_not_cost_what_another_has_sent() -> None:
    """Both answers are there when the fetcher looks: the records are handed out before the error is raised."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a"), partition=pa.array([0], pa.int32()))
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(0, 1), TP(TOPIC, 1): FetchRange(0, 1)})
        fetcher._running = asyncio.create_task(fetcher._engine.run())
        await fetcher._news.wait()
        assert fetcher._engine.queue
        fetcher._failed(KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        assert [piece.topic_partition for piece in await fetcher.poll(60)] == [TP(TOPIC, 0)]
        with pytest.raises(KafkaError, match="TOPIC_AUTHORIZATION_FAILED"):
            await fetcher.poll(60)
        await fetcher.close()

    run(scenario, partitions=2)


def test_a_poll_ends_when_its_time_is_up() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(0)})
        assert await fetcher.poll(0.05) == []
        await fetcher.close()

    run(scenario)


def test_decoded_batches_are_handed_out_at_once_and_errors_after_them() -> None:
    """Nobody waits for the next answer of a topic that has come to rest, and a deleted beginning costs nothing."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("a", "b"))
        tp = TP(TOPIC, 0)
        reader = ArrowFetcher(Fetcher(cluster, {tp: FetchRange(0, None)}), columns=("value",))
        (piece,) = await reader.poll(60)
        assert (texts(piece.batch), piece.next_offset) == (["a", "b"], 2)
        assert await reader.poll(0.05) == []
        await send(cluster, value=column("c"))
        (piece,) = await reader.poll(60)
        assert texts(piece.batch) == ["c"]
        broker.starts[0] = 4
        with pytest.raises(OffsetOutOfRangeError):
            await reader.poll(60)
        broker.starts[0] = 0
        reader.fetcher.seek(tp, 1)
        (piece,) = await reader.poll(60)
        assert texts(piece.batch) == ["b", "c"]
        assert not reader.done
        await reader.close()

    run(scenario, fetch_max_wait_ms="20")


def test_corrupt_records_are_noticed() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("abc"))
        broker.logs[0][-2] ^= 1
        with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
            await fetch_all(cluster, {TP(TOPIC, 0): FetchRange(0, 1)})

    run(scenario)


def test_corrupt_records_are_not_passed_over() -> None:
    """The next fetch is under way when the checksum turns out to be wrong: what it brings is not for the caller."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        await send(cluster, value=column("abc"))
        size = len(broker.logs[0])
        await send(cluster, value=column("def"))
        broker.logs[0][size - 2] ^= 1
        fetcher = Fetcher(cluster, {TP(TOPIC, 0): FetchRange(0, 2)})
        for _ in range(2):
            with pytest.raises(KafkaError, match="CORRUPT_MESSAGE"):
                await fetcher.poll(60)
            assert fetcher.ranges[TP(TOPIC, 0)].position == 0
        broker.logs[0][size - 2] ^= 1
        (piece,) = await fetcher.poll(60)
        assert (piece.start, piece.next_offset) == (0, 2)
        await fetcher.close()

    run(scenario, fetch_max_wait_ms="20")


def test_retries_end_with_the_last_error() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        broker.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100_000
        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await init_producer_id(cluster, "x", 1000)
        assert len(broker.asked(ApiKey.INIT_PRODUCER_ID)) > 3

    run(scenario, default_api_timeout_ms="100")


def test_a_coordinator_is_looked_up_once_and_again_when_it_moved() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        for _ in range(3):
            await cluster.coordinator(CoordinatorType.TRANSACTION, "x")
        assert len(broker.asked(ApiKey.FIND_COORDINATOR)) == 1
        broker.fail[ApiKey.INIT_PRODUCER_ID] = [ErrorCode.NOT_COORDINATOR]
        await init_producer_id(cluster, "x", 1000)
        assert len(broker.asked(ApiKey.FIND_COORDINATOR)) == 2

    run(scenario)


def test_topics_that_are_not_there_and_brokers_that_are_not() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        with pytest.raises(KafkaError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await end_offsets(cluster, [TP("no", 0)])
        with pytest.raises(UsageError, match="not of the form host:port"):
            ClusterClient({"bootstrap.servers": "nonsense"})
        with pytest.raises(UsageError, match=r"bootstrap\.servers is not set"):
            ClusterClient({})
        async with ClusterClient({"bootstrap.servers": "127.0.0.1:1"}) as lost:
            with pytest.raises(KafkaError, match=r"cannot connect to 127\.0\.0\.1:1"):
                await lost.any_node()

    run(scenario, default_api_timeout_ms="50")


def test_large_batches_are_built_in_memory_that_is_used_again() -> None:
    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        async with Producer.over(cluster) as producer:
            rows = column(*["x" * 1000] * 600)
            for _ in range(20):
                await send_rows(producer, TOPIC, value=rows)
            assert broker.ends == [20 * 600]
            assert len(producer._core.columns._buffers._pool) <= 2  # one in use, one free

    run(scenario)


def test_a_transaction_is_left_to_somebody_else() -> None:
    """It stays open, with all that was sent; the producer writes nothing more, and its connections are not its own."""

    async def scenario(broker: FakeCluster, cluster: ClusterClient) -> None:
        producer = await begun(cluster, "x")
        sent = await producer.send_arrow(TOPIC, {"value": column("a", "b")})
        left = await producer.detach_transaction()
        assert sent.done()
        assert (broker.ends, broker.ended) == ([2], [])
        with pytest.raises(UsageError, match="handed over"):
            await producer.send_arrow(TOPIC, {"value": column("c")})
        await producer.close()
        assert cluster.is_connected
        await end_transaction(cluster, left, committed=True)
        assert broker.ended == [True]

    run(scenario)
