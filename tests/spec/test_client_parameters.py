"""The parameters of both clients, by what they do: 004 重要的生产者参数, 重要的消费者参数, 元数据的更新, 数据压缩.

Their defaults are in test_producer and test_consumer; linger.ms, buffer.memory, max.block.ms and max.poll.records are
there, too, with the parts that they belong to.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest

from support.consumers import FACES, of, take, values, write
from support.fake_broker import FakeBroker
from support.fake_cluster import TOPIC, FakeCluster
from support.loop import until
from support.produced import batches_of
from tidelog import Consumer, KafkaError, Producer, TopicPartition, aio
from tidelog.broker.config import replication
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import MetadataRequest, MetadataResponse
from tidelog.records.format.attributes import Codec
from tidelog.testing import Broker

TP = TopicPartition(TOPIC, 0)
_names = (f"parameters-{number}" for number in itertools.count())


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def tp(broker: Broker) -> TopicPartition:
    """A partition of the test's own."""
    name = next(_names)
    broker.create_topic(name)
    return TopicPartition(name, 0)


class Timed(FakeCluster):
    """Notes when each request came; the first `silent` ones of a kind get no answer."""

    def __init__(self) -> None:
        super().__init__()
        self.times: dict[ApiKey, list[float]] = {}
        self.silent: dict[ApiKey, int] = {}

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        key = ApiKey(header.api_key)
        self.times.setdefault(key, []).append(asyncio.get_running_loop().time())
        if self.silent.get(key, 0):
            self.silent[key] -= 1
            return None
        return super()._handle(header, request)

    def gaps(self, key: ApiKey) -> list[float]:
        return [later - earlier for earlier, later in pairwise(self.times[key])]


def run(scenario: Callable[[Timed], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Timed() as cluster, asyncio.timeout(60):
            assert isinstance(cluster, Timed)
            await scenario(cluster)

    asyncio.run(main())


# --- 重要的生产者参数 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("acks", "wire", "offset"), [("1", 1, 0), ("0", 0, -1), ("-1", -1, 0), ("all", -1, 0)])
def test_acks(acks: str, wire: int, offset: int) -> None:
    """1: the leader has it; 0: nobody is waited for, so there is no offset to tell; -1, all: the whole ISR."""

    async def scenario(cluster: Timed) -> None:
        async with aio.Producer(bootstrap_servers=cluster.address, acks=acks) as producer:
            assert (await producer.send(TOPIC, b"x", partition=0)).offset == offset
            await until(lambda: cluster.asked(ApiKey.PRODUCE))
        (request,) = cluster.asked(ApiKey.PRODUCE)
        assert request.acks == wire

    run(scenario)


def test_max_request_size_is_the_largest_message(broker: Broker, tp: TopicPartition) -> None:
    """The client refuses it: nothing of it is sent."""
    with Producer(bootstrap_servers=broker.address, max_request_size=500) as producer:
        with pytest.raises(KafkaError, match=r"max\.request\.size") as caught:
            producer.send(tp.topic, b"x" * 500)
        assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE
        producer.send(tp.topic, b"x" * 300).result(10)
    assert len(batches_of(broker, *tp)) == 1


@pytest.mark.parametrize(("retries", "written"), [(0, False), (1, False), (2, True)])
def test_retries(retries: int, written: bool) -> None:
    """The leader refuses twice: so many further attempts are needed."""

    async def scenario(cluster: Timed) -> None:
        cluster.fail = {ApiKey.PRODUCE: [ErrorCode.NOT_ENOUGH_REPLICAS] * 2}
        settings = {"bootstrap.servers": cluster.address, "retries": retries, "retry.backoff.ms": 1}
        async with aio.Producer(settings) as producer:
            sent = producer.send(TOPIC, b"x", partition=0)
            await producer.flush()
            assert (sent.exception() is None) is written
        assert len(cluster.asked(ApiKey.PRODUCE)) == retries + 1

    run(scenario)


def test_retry_backoff_of_a_producer() -> None:
    """At least so long between two attempts (a fifth less by chance, so that clients do not come all at once)."""

    async def scenario(cluster: Timed) -> None:
        cluster.fail = {ApiKey.PRODUCE: [ErrorCode.NOT_ENOUGH_REPLICAS] * 2}
        backoff = {"retry.backoff.ms": 200, "retry.backoff.max.ms": 200}
        async with aio.Producer({"bootstrap.servers": cluster.address, **backoff}) as producer:
            await producer.send(TOPIC, b"x", partition=0)
        assert min(cluster.gaps(ApiKey.PRODUCE)) >= 0.15

    run(scenario)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "none"])
def test_compression_type_and_the_example(broker: Broker, tp: TopicPartition, codec: str) -> None:
    """数据压缩: the example's four settings. Batches lie compressed at the broker, and a consumer need not know."""
    text = "org.apache.kafka.common.serialization.StringSerializer"
    settings = {"bootstrap.servers": broker.address, "key.serializer": text, "value.serializer": text}
    with Producer({**settings, "compression.type": codec}) as producer:
        for number in range(50):
            producer.send(tp.topic, f"message {number} " * 20, f"key-{number}")
    assert {batch.header.codec for batch in batches_of(broker, *tp)} == {Codec.from_name(codec)}
    reading = {"bootstrap_servers": broker.address, "auto_offset_reset": "earliest", "value_deserializer": "str"}
    with Consumer(**reading) as consumer:  # type: ignore[arg-type]  # of several types
        consumer.assign([tp])
        assert values(take(consumer, 50)) == [f"message {number} " * 20 for number in range(50)]


def test_connections_max_idle() -> None:
    """A connection that nobody uses is closed, and made anew for the next record."""

    async def scenario(cluster: Timed) -> None:
        async with aio.Producer(bootstrap_servers=cluster.address, connections_max_idle_ms=30) as producer:
            await producer.send(TOPIC, b"x", partition=0)
            made = cluster.connections
            await until(lambda: producer.metrics()["connection-count"] == 0)
            await producer.send(TOPIC, b"y", partition=0)
            assert cluster.connections > made

    run(scenario)


def test_the_socket_buffers_of_a_producer(broker: Broker, tp: TopicPartition) -> None:
    """Read back from the socket; Linux doubles what it is asked for."""
    with Producer(bootstrap_servers=broker.address, send_buffer_bytes=40_000, receive_buffer_bytes=50_000) as producer:
        producer.send(tp.topic, b"x").result(10)
        node = next(iter(producer._core.cluster._connections._nodes.values()))
        send, receive = node.buffer_sizes
    assert send in (40_000, 80_000)
    assert receive in (50_000, 100_000)


def test_request_timeout_of_a_producer() -> None:
    """An answer that does not come is waited for so long; then the batch is sent again."""

    async def scenario(cluster: Timed) -> None:
        cluster.silent[ApiKey.PRODUCE] = 1
        settings = {"bootstrap.servers": cluster.address, "request.timeout.ms": 100, "retry.backoff.ms": 1}
        async with aio.Producer(settings) as producer:
            assert (await producer.send(TOPIC, b"x", partition=0)).offset == 0
        assert len(cluster.asked(ApiKey.PRODUCE)) == 2
        assert min(cluster.gaps(ApiKey.PRODUCE)) >= 0.09

    run(scenario)


def test_request_timeout_and_the_lag_of_replicas() -> None:
    """这个值需要比broker参数replica.lag.time.max.ms大: a client does not know the brokers'; the defaults are equal."""
    assert common.REQUEST_TIMEOUT_MS.default == replication.REPLICA_LAG_TIME_MAX_MS.default == 30_000


# --- 生产者客户端的整体架构, 元数据的更新 -----------------------------------------------------------------------------


def test_the_buffer_pool_uses_buffers_again() -> None:
    """The buffer of a batch that was answered is the next one's, whatever else asks for memory in between."""
    pool, others = BufferPool(1 << 20, 16_384), []
    places = []
    for _ in range(5):
        batch = ProducerBatch(pool, None, TP, 16_384, 0.0)
        batch.seal(-1, -1, -1)
        places.append(pa.py_buffer(batch).address)
        assert pool.available == (1 << 20) - 16_384
        batch.succeed(0, -1)
        del batch
        assert pool.available == 1 << 20
        others += [bytearray(16_384) for _ in range(20)]
    assert len(set(places)) == 1


def test_metadata_is_asked_of_the_least_loaded_node() -> None:
    """leastLoadedNode: of two brokers, one has two requests that it has not answered."""
    brokers: list[FakeBroker] = []

    def answer(header: RequestHeader, request: Any) -> Any:
        if header.api_key != ApiKey.METADATA or request.include_topic_authorized_operations:
            return None
        nodes = [
            MetadataResponse.MetadataResponseBroker(node_id=number, host="127.0.0.1", port=each.port)
            for number, each in enumerate(brokers, 1)
        ]
        return MetadataResponse(brokers=nodes, controller_id=1)

    async def main() -> None:
        async with FakeBroker(answer) as first, FakeBroker(answer) as second:
            brokers.extend((first, second))
            async with ClusterClient({"bootstrap.servers": first.address}) as cluster:
                await cluster.refresh([])
                busy, _ = await cluster.node(1), await cluster.node(2)
                unanswered = MetadataRequest(topics=[], include_topic_authorized_operations=True)
                asking = [asyncio.create_task(busy.send(unanswered)) for _ in range(2)]
                await until(lambda: busy.in_flight == 2)
                before = len(second.seen)
                for _ in range(10):
                    await cluster.refresh([])
                assert len(second.seen) == before + 10
            assert all(isinstance(lost, KafkaError) for lost in await asyncio.gather(*asking, return_exceptions=True))

    asyncio.run(main())


# --- 重要的消费者参数 ------------------------------------------------------------------------------------------------


def test_fetch_min_bytes_and_fetch_max_wait(broker: Broker, tp: TopicPartition) -> None:
    """Nothing comes before there is enough of it, or the wait is over."""
    hour = {"fetch_min_bytes": 50_000, "fetch_max_wait_ms": 3_600_000, "request_timeout_ms": 7_200_000}
    with FACES[0].consumer(broker, **hour) as consumer:
        consumer.assign([tp])
        write(broker, tp, ["little"])
        assert not consumer.poll(0.3)
        write(broker, tp, ["x" * 60_000])
        assert len(take(consumer, 2)) == 2
    with FACES[0].consumer(broker, **{**hour, "fetch_max_wait_ms": 50}) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 0)
        assert len(take(consumer, 2)) == 2
        write(broker, tp, ["little"])
        assert values(take(consumer, 1)) == [b"little"]


@pytest.mark.parametrize("key", ["max_partition_fetch_bytes", "fetch_max_bytes"])
def test_how_much_a_fetch_brings(broker: Broker, tp: TopicPartition, key: str) -> None:
    """Twenty batches of a thousand bytes: with room for two in an answer, ten fetches are needed."""
    write(broker, tp, *[[f"{number:0900}"] for number in range(20)])
    fetches = {}
    for limit in (2200, 1_048_576):
        with FACES[0].consumer(broker, **{key: limit}) as consumer:
            consumer.assign([tp])
            assert len(take(consumer, 20)) == 20
            fetches[limit] = consumer.metrics()["fetch_total"]
    assert fetches[2200] >= 10
    assert fetches[1_048_576] < 10


def test_request_timeout_of_a_consumer() -> None:
    async def scenario(cluster: Timed) -> None:
        cluster.sessions = False
        cluster.silent[ApiKey.FETCH] = 1
        cluster.append(0, of("a"))
        settings = {"request.timeout.ms": 100, "fetch.max.wait.ms": 10, "retry.backoff.ms": 1}
        settings |= {"auto.offset.reset": "earliest", "bootstrap.servers": cluster.address}
        async with aio.Consumer(settings) as consumer:
            await consumer.assign([TP])
            assert [record.value for record in await consumer.poll(30)] == [b"a"]
        assert cluster.gaps(ApiKey.FETCH)[0] >= 0.09

    run(scenario)


def test_retry_backoff_of_a_consumer() -> None:
    async def scenario(cluster: Timed) -> None:
        cluster.append(0, of("a"))
        cluster.fail = {ApiKey.LIST_OFFSETS: [ErrorCode.LEADER_NOT_AVAILABLE] * 2}
        settings = {"retry.backoff.ms": 200, "retry.backoff.max.ms": 200, "auto.offset.reset": "earliest"}
        async with aio.Consumer({"bootstrap.servers": cluster.address, **settings}) as consumer:
            await consumer.assign([TP])
            assert [record.value for record in await consumer.poll(30)] == [b"a"]
        assert min(cluster.gaps(ApiKey.LIST_OFFSETS)) >= 0.15

    run(scenario)


def test_reconnect_backoff() -> None:
    """A host that hangs up on everybody is left in peace for so long between two attempts."""

    async def main() -> None:
        times: list[float] = []

        def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            times.append(asyncio.get_running_loop().time())
            writer.close()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        waits = {"reconnect.backoff.ms": 200, "reconnect.backoff.max.ms": 200, "retry.backoff.ms": 1}
        async with aio.Consumer({"bootstrap.servers": address, **waits}) as consumer:
            await consumer.assign([TP])
            polling = asyncio.create_task(consumer.poll(60))
            await until(lambda: len(times) >= 3)
            polling.cancel()
            await asyncio.gather(polling, return_exceptions=True)
        server.close()
        assert min(later - earlier for earlier, later in pairwise(times)) >= 0.15

    asyncio.run(main())


def test_metadata_max_age_of_a_consumer() -> None:
    async def scenario(cluster: Timed) -> None:
        async with aio.Consumer(
            bootstrap_servers=cluster.address, metadata_max_age_ms=20, fetch_max_wait_ms=1, auto_offset_reset="earliest"
        ) as consumer:
            await consumer.assign([TP])
            while len(cluster.asked(ApiKey.METADATA)) < 4:
                await consumer.poll(0.02)

    run(scenario)


@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_isolation_level(broker: Broker, tp: TopicPartition, level: str) -> None:
    """Committed, aborted, still open: read_committed sees the first alone."""
    with Producer(bootstrap_servers=broker.address, transactional_id=f"{tp.topic}-1") as producer:
        producer.init_transactions()
        for word in ("committed", "aborted"):
            producer.begin_transaction()
            producer.send(tp.topic, word)
            producer.flush(10)
            (producer.commit_transaction if word == "committed" else producer.abort_transaction)()
        producer.begin_transaction()
        producer.send(tp.topic, "open").result(10)
        seen = [b"committed", b"aborted", b"open"] if level == "read_uncommitted" else [b"committed"]
        with FACES[0].consumer(broker, isolation_level=level) as consumer:
            consumer.assign([tp])
            assert values(take(consumer, len(seen))) == seen
            assert not consumer.poll(0.1)
        producer.abort_transaction()
