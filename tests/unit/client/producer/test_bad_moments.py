"""Producers at bad moments: callbacks that raise, a close beside a send, cancelled ends of transactions, topics made
anew, brokers that do not answer. Each was a defect once.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
from typing import Any

import pytest

from support.loop import until
from support.produced import values_of
from support.wire_proxy import Act, At, Passing, Rule, WireProxy, cut, delay
from tidelog import Admin, Consumer, Producer, aio
from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.client.producer.interceptors import ProducerInterceptor
from tidelog.client.producer.recovery import Recovery
from tidelog.client.serialization import Serializer
from tidelog.client.values import ConsumerGroupMetadata
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker


@pytest.mark.parametrize("error", [ValueError("a mistake"), asyncio.CancelledError()], ids=["error", "cancelled"])
@pytest.mark.parametrize("early", [True, False], ids=["in line", "in its batch"])
def test_a_callback_that_raises_keeps_nobody_else_from_hearing(
    broker: Broker, topic: str, early: bool, error: BaseException
) -> None:
    def raising(future: Any) -> None:
        raise error

    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address)
        if not early:
            await producer.partitions_for(topic)
        first = producer.send(topic, b"1", partition=0)
        first.add_done_callback(raising)
        others = [producer.send(topic, b"2", partition=0), producer.send(topic, b"3", partition=1)]
        async with asyncio.timeout(30):
            for future in (first, *others):
                await future
            with pytest.raises(type(error)):
                await producer.flush()
            await producer.close()

    asyncio.run(main())


def test_a_record_refused_in_line_calls_back_once_and_lets_the_next_one_in(broker: Broker, topic: str) -> None:
    called: list[Any] = []

    def raising(future: Any) -> None:
        called.append(future)
        raise ValueError("a mistake")

    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address)
        refused = producer.send(topic, b"1", partition=99)
        refused.add_done_callback(raising)
        async with asyncio.timeout(30):
            with pytest.raises(UsageError, match="no partition 99"):
                await refused
        assert called == [refused]
        with pytest.raises(ValueError, match="a mistake"):
            await producer.send(topic, b"2", partition=0)
        await producer.send(topic, b"3", partition=0)
        await producer.close()

    asyncio.run(main())


def test_a_send_that_a_close_comes_before_is_told(broker: Broker, topic: str) -> None:
    """A thread is in its serializer while another one closes: its record must not wait for ever."""
    inside, go_on, outcome = threading.Event(), threading.Event(), []

    class Slow(Serializer):
        def serialize(self, topic: str, data: Any, headers: Any = None) -> bytes:
            if data == b"late":
                inside.set()
                go_on.wait(30)
            return bytes(data)

    producer = Producer(bootstrap_servers=broker.address, value_serializer=Slow())
    producer.send(topic, b"first", partition=0).result(30)

    def send() -> None:
        try:
            outcome.append(producer.send(topic, b"late", partition=0).exception(30))
        except UsageError as error:
            outcome.append(error)

    thread = threading.Thread(target=send)
    thread.start()
    assert inside.wait(30)
    producer.close()
    go_on.set()
    thread.join(30)
    assert "closed" in str(outcome[0])


def test_a_batch_begun_behind_a_close_is_told(broker: Broker, topic: str) -> None:
    """The same one step later: past every check, into the accumulator of a producer that has just closed."""
    producer = Producer(bootstrap_servers=broker.address)
    producer.send(topic, b"first", partition=0).result(30)
    core = producer._core
    producer.close()
    producer.accumulator.wake = lambda: None
    late = producer.accumulator.append(producer.accumulator.topics[topic], 0, None, b"late", None, None, None)
    assert late is not None
    core.sender.turn()
    with pytest.raises(KafkaError, match="closed"):
        late.result(1)


def test_a_callback_is_called_though_the_batch_is_done_before_it_is_known(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=0) as producer:
        future = producer.send(topic, b"x", partition=0)
        future.result(30)
        told: list[Any] = []
        future.add_done_callback(told.append)
        assert told == [future]


def test_a_callback_without_room_is_told_at_once(broker: Broker, topic: str) -> None:
    """It is on the only thread that could make room."""
    told: list[Any] = []
    done = threading.Event()

    with Producer(bootstrap_servers=broker.address, max_block_ms=60_000) as producer:

        def wait_for_room(metadata: Any, error: Any) -> None:
            try:
                producer._wait_for_room(producer._core.cluster.clock.monotonic() + 60)
            except KafkaError as raised:
                told.append(raised.code)
            done.set()

        producer.send(topic, b"x", partition=0, on_delivery=wait_for_room)
        assert done.wait(30)
    assert told == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_topic_made_anew_with_fewer_partitions_gets_its_records_where_others_look(broker: Broker) -> None:
    broker.create_topic("anew", 8)
    with (
        Admin(bootstrap_servers=broker.address) as admin,
        Producer(bootstrap_servers=broker.address, linger_ms=0) as producer,
    ):
        producer.send("anew", b"v", key=b"k").result(30)
        admin.delete_topics(["anew"])
        broker.create_topic("anew", 3)
        core = producer._core

        async def hear_of_it() -> None:
            await core.cluster.refresh(["anew"])
            core.sender.leaders._grow(["anew"])

        producer._loop.run(hear_of_it())
        keys = [b"k%d" % number for number in range(20)]
        found = {key: producer.send("anew", b"v", key=key).result(30).partition for key in keys}
        with Producer(bootstrap_servers=broker.address) as other:
            assert found == {key: other.send("anew", b"v", key=key).result(30).partition for key in keys}


def test_what_waits_for_a_partition_that_is_no_more_fails_at_once(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
            await producer.partitions_for(topic)
            waiting, other = producer.send(topic, b"1", partition=1), producer.send(topic, b"0", partition=0)
            await asyncio.sleep(0)
            core = producer._core
            core.sender.turn()
            core.sender._partitions_gone(core.accumulator.topics[topic].resize(1))
            with pytest.raises(KafkaError, match="made anew with fewer partitions"):
                await waiting
            await producer.flush()
            assert (await other).partition == 0

    asyncio.run(main())


def test_interceptors_hear_of_each_failure_once(broker: Broker, topic: str) -> None:
    heard: list[Any] = []

    class Ear(ProducerInterceptor):
        def on_acknowledgement(self, metadata: Any, error: Any) -> None:
            heard.append(error)

    with Producer(bootstrap_servers=broker.address, interceptor_classes=[Ear()]) as producer:
        with pytest.raises(UsageError, match="no partition 7"):
            producer.send(topic, b"x", partition=7)
        assert len(heard) == 1

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, interceptor_classes=[Ear()]) as producer:
            with pytest.raises(UsageError, match="no partition 7"):
                await producer.send(topic, b"x", partition=7)

    asyncio.run(main())
    assert len(heard) == 2


def test_max_block_ms_holds_also_where_nobody_answers() -> None:
    """A listener that accepts and says nothing: request.timeout.ms is much longer."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        producer = Producer(bootstrap_servers=address, max_block_ms=50, request_timeout_ms=25_000)
        with pytest.raises(KafkaError, match=r"within max\.block\.ms"):
            producer.send("t", b"x")
        producer.close(0)


def test_what_returns_goes_out_in_the_order_in_which_it_was_queued() -> None:
    """Two threads looked at the clock in one order, and queued their batches in the other."""
    tp, pool = TopicPartition("t", 0), BufferPool(10_000, 1000)
    queue = PartitionBatches(tp)
    first, second = ProducerBatch(pool, queue, tp, 100, 2.0), ProducerBatch(pool, queue, tp, 100, 1.0)
    queue.put(first)
    queue.put(second)
    taken = [queue.taken(), queue.taken()]
    for batch, sequence in zip(taken, (0, 5), strict=True):
        batch.seal(7, 0, sequence)
        batch.attempts = 1
    queue.returned = taken[::-1]
    recovery = Recovery(idempotent=True, transactional=False, retries=5, gave_up=lambda batch, error: None)
    assert recovery.settle(queue)
    assert [batch.base_sequence for batch in queue.waiting] == [0, 5]


def test_a_thread_without_the_loop_is_refused_before_its_record_is_queued(broker: Broker, topic: str) -> None:
    refused: list[Exception] = []

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address) as producer:

            def stray(name: str) -> None:
                try:
                    producer.send(name, b"stray", partition=0)
                except UsageError as error:
                    refused.append(error)

            await asyncio.to_thread(stray, topic)  # nothing is known of it yet
            await producer.send(topic, b"first", partition=0)
            await asyncio.to_thread(stray, topic)
            await producer.send(topic, b"second", partition=0)

    asyncio.run(main())
    assert [str(error).partition(":")[0] for error in refused] == ["no event loop runs here"] * 2
    assert values_of(broker, topic, 0) == [b"first", b"second"]


def waiters_of(future: Any) -> int:
    """How many calls its batch would make when it is done."""
    (batch,) = (found for found in gc.get_referents(future) if isinstance(found, ProducerBatch))
    return sum(len(found) for found in gc.get_referents(batch) if isinstance(found, list))


def test_who_looks_now_and_then_leaves_nothing_behind(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
        producer.partitions_for(topic)
        future = producer.send(topic, b"x", partition=0)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                future.result(0.001)
        assert waiters_of(future) == 0
        producer.flush()
        assert future.result(30).offset == 0

    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
            await producer.partitions_for(topic)
            future = producer.send(topic, b"x", partition=0)
            for _ in range(3):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(future, 0.001)
            assert waiters_of(future) == 0
            await producer.flush()
            assert (await future).offset == 1

    asyncio.run(main())


# --- ends of transactions that nobody waited for, by the first protocol -----------------------------------------------


async def _begun(proxy: WireProxy, name: str) -> aio.Producer:
    producer = aio.Producer(bootstrap_servers=proxy.address, transactional_id=name)
    producer._core.transactions._forced = False  # as a broker before 4.0
    await producer.init_transactions()
    producer.begin_transaction()
    return producer


def test_an_abort_that_was_cancelled_at_its_last_step_can_be_repeated(broker: Broker, topic: str) -> None:
    async def main(proxy: WireProxy) -> None:
        producer = await _begun(proxy, topic)
        await producer.send(topic, b"1", partition=0)
        proxy.on(ApiKey.INIT_PRODUCER_ID, delay(1.0), at=At.ANSWER)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(producer.abort_transaction(), 0.3)
        await producer.abort_transaction()
        producer.begin_transaction()
        await producer.send(topic, b"2", partition=0)
        await producer.commit_transaction()
        await producer.close()

    with WireProxy(broker.address) as proxy:
        asyncio.run(main(proxy))


def test_offsets_that_nobody_waited_for_are_aborted_with_the_transaction(broker: Broker, topic: str) -> None:
    async def main(proxy: WireProxy) -> None:
        producer = await _begun(proxy, topic)
        proxy.on(ApiKey.ADD_OFFSETS_TO_TXN, delay(1.0), at=At.ANSWER)
        offsets = {TopicPartition(topic, 0): 1}
        group = ConsumerGroupMetadata("nobody")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(producer.send_offsets_to_transaction(offsets, group), 0.3)
        await producer.abort_transaction()
        async with aio.Admin(bootstrap_servers=broker.address) as admin:
            found = (await admin.describe_transactions([topic])).of(topic)
        assert found.state in ("Empty", "CompleteAbort", "PrepareAbort")
        producer.begin_transaction()
        await producer.send(topic, b"2", partition=0)
        await producer.commit_transaction()
        await producer.close()

    with WireProxy(broker.address) as proxy:
        asyncio.run(main(proxy))


def test_an_addition_that_never_arrived_is_nothing_to_end(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, transactional_id=topic) as producer:
            producer._core.transactions._forced = False
            await producer.init_transactions()
            producer.begin_transaction()
            producer._core.transactions._perhaps_told = True
            await producer.abort_transaction()
            producer.begin_transaction()
            await producer.send(topic, b"x", partition=0)
            await producer.commit_transaction()

    asyncio.run(main())
    assert values_of(broker, topic, 0) == [b"x"]


def held(until_set: threading.Event) -> Act:
    """It comes when somebody says so, and what follows on this connection behind it."""

    async def act(passing: Passing) -> None:
        await asyncio.to_thread(until_set.wait, 30)
        await passing.send(passing.frame)

    return act


def test_an_abort_waits_for_what_was_given_up_while_it_was_under_way(broker: Broker, topic: str) -> None:
    """A Produce that arrives behind the abort would open a transaction that nobody ends."""

    async def main(proxy: WireProxy) -> None:
        producer = await _begun(proxy, topic)
        sender, answer = producer._core.sender, threading.Event()
        rule = proxy.on(ApiKey.PRODUCE, held(answer), at=At.ANSWER)
        late = producer.send(topic, b"late", partition=0)
        await until(lambda: rule.fired)
        sender._expire(producer._core.cluster.clock.monotonic() + 1e6)
        with pytest.raises(KafkaError, match=r"delivery\.timeout\.ms"):
            await late
        abort = asyncio.create_task(producer.abort_transaction())
        await until(lambda: sender._silence or proxy.seen[ApiKey.END_TXN])
        assert not proxy.seen[ApiKey.END_TXN]
        answer.set()
        await abort
        producer.begin_transaction()
        await producer.send(topic, b"next", partition=0)
        await producer.commit_transaction()
        await producer.close()

    with WireProxy(broker.address) as proxy:
        asyncio.run(main(proxy))


def twice() -> Act:
    """The broker gets the request two times, and the client the second answer."""

    async def act(passing: Passing) -> None:
        await passing.send(passing.frame)
        passing.link.waiting.append((passing.header, Rule(None, swallow(), At.ANSWER)))
        passing.link.waiting.append((passing.header, None))
        await passing.send(passing.frame)

    return act


def swallow() -> Act:
    """It does not arrive, and nothing else is wrong."""

    async def act(passing: Passing) -> None:
        return

    return act


@pytest.mark.parametrize("committed", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize(
    ("act", "at"),
    [(cut(), At.REQUEST), (cut(), At.ANSWER), (cut(), At.MID_ANSWER), (twice(), At.REQUEST)],
    ids=["lost", "its answer lost", "half of its answer", "twice"],
)
def test_an_addition_of_partitions_that_is_repeated(
    broker: Broker, topic: str, act: Act, at: At, committed: bool
) -> None:
    """The coordinator may have heard of the partitions once, twice or not at all: every one gets its marker."""

    async def main(proxy: WireProxy) -> None:
        producer = await _begun(proxy, topic)
        rule = proxy.on(ApiKey.ADD_PARTITIONS_TO_TXN, act, at=at)
        sent = [producer.send(topic, b"first", partition=number) for number in range(2)]
        for future in sent:
            await future
        assert rule.fired == 1
        await (producer.commit_transaction() if committed else producer.abort_transaction())
        producer.begin_transaction()
        await producer.send(topic, b"second", partition=0)
        await producer.commit_transaction()
        await producer.close()

    with WireProxy(broker.address) as proxy:
        asyncio.run(main(proxy))
    expected = ([b"first"] if committed else []) + [b"second"]
    assert committed_values(broker, topic, 0) == expected
    assert committed_values(broker, topic, 1) == expected[:-1]


def committed_values(broker: Broker, topic: str, partition: int) -> list[bytes | None]:
    """What a reader of committed records finds up to the end; an open transaction would end it early."""
    tp, found = TopicPartition(topic, partition), []
    with Consumer(bootstrap_servers=broker.address, isolation_level="read_committed") as consumer:
        consumer.assign([tp])
        consumer.seek_to_beginning()
        stable = consumer.end_offsets([tp])[tp]
        assert stable == len(values_of(broker, topic, partition)) + 1 + (partition == 0)
        while consumer.position(tp) < stable:
            found += [record.value for record in consumer.poll(0.1)]
    return found
