"""The producer end to end, blocking and asyncio, against a broker in this process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import uvloop

from support.produced import batches_of, records_of, values_of
from tidelog import Producer, aio
from tidelog.client.producer.record import ProducerRecord, RecordMetadata
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.hashing import partition_for_key
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"auto.create.topics.enable": "true"}) as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    name = f"t-{abs(hash(request.node.name))}"
    broker.create_topic(name, 4)
    return name


def test_a_record_and_where_it_is(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        sent = producer.send(topic, b"v", b"k", partition=2, timestamp=77, headers=[("h", b"1"), ("n", None)])
        assert sent.result(10) == RecordMetadata(topic, 2, 0, 77, 1, 1)
        assert producer.send(topic, "text", partition=2).result(10).offset == 1
        assert producer.send(ProducerRecord(topic, None, "key", 2)).result(10).serialized_value_size == -1
    first, second, third = records_of(broker, topic, 2)
    assert (first.key, first.value, first.timestamp) == (b"k", b"v", 77)
    assert list(first.headers) == [("h", b"1"), ("n", None)]
    assert (second.key, second.value) == (None, b"text")
    assert (third.key, third.value) == (b"key", None)


def test_bytes_like_values_and_keys(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        for value in (bytearray(b"a"), memoryview(b"bc"), "ü", b""):
            producer.send(topic, value, value, partition=0).result(10)
        with pytest.raises(UsageError, match=r"value\.serializer"):
            producer.send(topic, 5)
    assert values_of(broker, topic, 0) == [b"a", b"bc", "ü".encode(), b""]


def test_keys_go_where_javas_go(broker: Broker, topic: str) -> None:
    keys = [b"key-%d" % number for number in range(200)]
    with Producer(bootstrap_servers=broker.address) as producer:
        found = [producer.send(topic, b"", key) for key in keys]
        assert [one.result(10).partition for one in found] == [partition_for_key(key, 4) for key in keys]


def test_records_keep_their_order_and_callbacks_too(broker: Broker, topic: str) -> None:
    told: list[int] = []
    with Producer(bootstrap_servers=broker.address, batch_size=500) as producer:
        for number in range(3000):
            producer.send(
                topic, b"%d" % number, partition=1, on_delivery=lambda metadata, error: told.append(metadata.offset)
            )
    assert values_of(broker, topic, 1) == [b"%d" % number for number in range(3000)]
    assert told == list(range(3000))
    assert len(batches_of(broker, topic, 1)) > 50


def test_many_threads_share_a_producer(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, batch_size=2000) as producer:

        def send(who: int) -> None:
            for number in range(2000):
                producer.send(topic, b"%d-%d" % (who, number), partition=3)

        threads = [threading.Thread(target=send, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    values = [value.split(b"-") for value in values_of(broker, topic, 3) if value]
    assert len(values) == 8000
    for who in range(4):
        assert [int(number) for name, number in values if int(name) == who] == list(range(2000))


def test_futures(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
        future = producer.send(topic, b"x", partition=0)
        assert not future.done()
        assert "pending" in repr(future)
        with pytest.raises(TimeoutError):
            future.result(0.01)
        seen: list[Any] = []
        future.add_done_callback(seen.append)
        producer.flush(10)
        assert future.done()
        assert future.exception() is None
        assert seen == [future]
        future.add_done_callback(seen.append)
        assert seen == [future, future]


def test_an_error_of_a_callback_is_raised_by_the_next_call(broker: Broker, topic: str) -> None:
    def broken(metadata: object, error: object) -> None:
        raise ZeroDivisionError("mine")

    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send(topic, b"x", on_delivery=broken).result(10)
        with pytest.raises(ZeroDivisionError, match="mine"):
            producer.send(topic, b"y")
        producer.send(topic, b"z").result(10)


def failing(metadata: object, error: object) -> None:
    raise ZeroDivisionError("mine")


def test_flush_raises_what_a_callback_has_raised(broker: Broker, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    with Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
        sent = producer.send(topic, b"x", on_delivery=failing)
        with pytest.raises(ZeroDivisionError, match="mine"):
            producer.flush(10)
        assert sent.done()
        assert [record.levelname for record in caplog.records if "ZeroDivisionError: mine" in record.message] == [
            "ERROR"
        ]
        again = producer.send(topic, b"y")
        producer.flush(10)
        assert again.done()


def test_close_raises_what_a_callback_has_raised(broker: Broker, topic: str) -> None:
    producer = Producer(bootstrap_servers=broker.address, linger_ms=60_000)
    producer.send(topic, b"x", partition=0, on_delivery=failing)
    with pytest.raises(ZeroDivisionError, match="mine"):
        producer.close()
    producer.close()
    with pytest.raises(UsageError, match="closed"):
        producer.flush()
    assert values_of(broker, topic, 0) == [b"x"]


def test_what_is_lost_comes_before_what_a_callback_has_raised(broker: Broker, topic: str) -> None:
    producer = Producer(bootstrap_servers=broker.address, linger_ms=60_000)
    producer.send(topic, b"x", on_delivery=failing)
    with pytest.raises(KafkaError, match="1 records not acknowledged") as caught:
        producer.close(timeout=0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_error_of_the_program_is_not_hidden_by_a_callbacks(broker: Broker, topic: str) -> None:
    def program() -> None:
        with Producer(bootstrap_servers=broker.address) as producer:
            producer.send(topic, b"x", on_delivery=failing).result(10)
            raise LookupError

    with pytest.raises(LookupError):
        program()


def test_a_callback_may_send(broker: Broker, topic: str) -> None:
    done = threading.Event()
    with Producer(bootstrap_servers=broker.address) as producer:

        def again(metadata: RecordMetadata | None, error: Exception | None) -> None:
            producer.send(topic, b"second", partition=0, on_delivery=lambda *_: done.set())

        producer.send(topic, b"first", partition=0, on_delivery=again)
        assert done.wait(10)
    assert values_of(broker, topic, 0) == [b"first", b"second"]


def test_a_topic_is_made_where_brokers_do_that(broker: Broker) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        assert producer.partitions_for("made-by-asking") == [0]
        assert producer.send("made-by-sending", b"x").result(10).offset == 0
        with pytest.raises(KafkaError) as caught:
            producer.send("not a name!", b"x")
        assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
        with pytest.raises(UsageError, match="no partition 1"):
            producer.send("made-by-asking", b"x", partition=1)
        with pytest.raises(UsageError, match="partition -1"):
            producer.send("made-by-asking", b"x", partition=-1)
        with pytest.raises(UsageError, match="timestamp"):
            producer.send("made-by-asking", b"x", timestamp=-5)
        with pytest.raises(UsageError, match="header"):
            producer.send("made-by-asking", b"x", headers=[("a", 5)])  # type: ignore[list-item]  # the test's point


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ({"headers": [("a", 5)]}, "value of a record header is bytes, str or None, not int"),
        ({"headers": [(b"a", b"5")]}, "name of a record header is a str, not bytes"),
        ({"headers": [("a", b"b", b"c")]}, "a pair of name and value"),
        ({"headers": ["ab"]}, "a pair of name and value"),
        ({"on_delivery": 5}, "on_delivery=5: expected a function"),
        ({"partition": "1"}, "partition '1': expected 0 or more, or None, not a str"),
        ({"partition": 1.7}, r"partition 1\.7: expected"),
        ({"partition": 2**40}, "no partition 1099511627776"),
        ({"timestamp": 1.7e9}, r"timestamp 1700000000\.0: expected whole milliseconds"),
        ({"timestamp": 2**70}, "a timestamp of 1180591620717411303424 ms"),
        ({"timestamp": "5"}, "timestamp '5'"),
        ({"topic": b"t"}, "topic b't': expected its name as a str"),
    ],
)
def test_the_first_record_and_the_next_are_refused_in_the_same_words(
    broker: Broker, topic: str, named: dict[str, Any], text: str
) -> None:
    """The first takes the long way, as the topic is not known yet; those behind it the short one."""
    given = {"topic": topic, "value": b"x", **named}
    with Producer(bootstrap_servers=broker.address) as producer:
        with pytest.raises(UsageError, match=text):
            producer.send(**given)
        producer.send(topic, b"known now").result(10)
        with pytest.raises(UsageError, match=text):
            producer.send(**given)
        assert producer.metrics()["record-total"] == 1


class Numbered:
    """A number of somebody else's, as NumPy's are."""

    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


def test_the_first_record_and_the_next_are_taken_alike(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        for _ in range(2):
            headers: Any = [("a", "b"), ["c", b"d"], ("e", None)]
            numbers: Any = {"partition": Numbered(1), "timestamp": Numbered(77)}
            producer.send(topic, memoryview(b"a-b-c")[::2], memoryview(b"k-k")[::2], headers=headers, **numbers).result(
                10
            )
    first, second = records_of(broker, topic, 1)
    for record in (first, second):
        assert (record.key, record.value, record.timestamp) == (b"kk", b"abc", 77)
        assert list(record.headers) == [("a", b"b"), ("c", b"d"), ("e", None)]


def test_what_is_too_large_says_what_to_do(broker: Broker) -> None:
    broker.create_topic("narrow", 1, config={"max.message.bytes": "500"})
    with Producer(bootstrap_servers=broker.address, max_request_size=5000, linger_ms=60_000) as producer:
        with pytest.raises(KafkaError, match=r"max\.request\.size \(5000\): set that higher here"):
            producer.send("narrow", b"x" * 6000)
        one = producer.send("narrow", b"x" * 600)
        producer.flush(10)
        assert "1 record, 670 bytes as sent: set max.message.bytes of topic narrow higher" in str(one.exception())
        several = [producer.send("narrow", b"x" * 100) for _ in range(6)]
        producer.flush(10)
        assert [future.exception() for future in several] == [None] * 6, "they leave in parts: see test_splitting"
    with (
        Producer(bootstrap_servers=broker.address, buffer_memory=100_000) as producer,
        pytest.raises(KafkaError, match=r"buffer\.memory \(100000\)"),
    ):
        producer.send("narrow", b"x" * 200_000)


def test_after_close_nothing_works(broker: Broker, topic: str) -> None:
    producer = Producer(bootstrap_servers=broker.address)
    producer.send(topic, b"x")
    producer.close()
    producer.close()
    for call in (lambda: producer.send(topic, b"x"), producer.flush, lambda: producer.partitions_for(topic)):
        with pytest.raises(UsageError, match="closed"):
            call()


def test_close_says_what_was_not_sent(broker: Broker, topic: str) -> None:
    producer = Producer(bootstrap_servers=broker.address, linger_ms=60_000)
    futures = [producer.send(topic, b"x", partition=number % 2) for number in range(5)]
    with pytest.raises(KafkaError, match=rf"5 records not acknowledged: 3 of {topic}-0, 2 of {topic}-1"):
        producer.close(timeout=0)
    assert isinstance(futures[0].exception(), KafkaError)


def test_a_child_process_says_so_at_once(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        producer.send(topic, b"x").result(10)
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                producer.send(topic, b"y")
                os.write(write, b"sent")
            except UsageError as error:
                os.write(write, str(error).encode())
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert b"fork" in os.read(read, 1000)
        producer.send(topic, b"z").result(10)


def test_metrics(broker: Broker, topic: str) -> None:
    with Producer(bootstrap_servers=broker.address) as producer:
        for _ in range(10):
            producer.send(topic, b"x" * 100)
        producer.flush(10)
        found = producer.metrics()
    assert found["record-send-total"] == found["record-total"] == 10
    assert found["buffer-available-bytes"] == found["buffer-total-bytes"] == 32 << 20
    assert found["record-error-total"] == found["requests-in-flight"] == 0
    assert found["batch-size-avg"] > 1000
    assert found["connection-count"] == 1


# --- asyncio --------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return request.param  # type: ignore[no-any-return]  # one of two functions


def test_await_a_record(broker: Broker, topic: str, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address) as producer:
            assert await producer.partitions_for(topic) == [0, 1, 2, 3]
            first = await producer.send(topic, b"1", partition=0)
            sent = [producer.send(topic, b"%d" % number, partition=0) for number in range(1000)]
            assert [one.offset - first.offset for one in await asyncio.gather(*sent)] == list(range(1, 1001))
            assert (await sent[0]).offset == first.offset + 1

    run(main())


def test_who_stands_in_line_keeps_the_order(
    broker: Broker, topic: str, run: Callable[[Coroutine[Any, Any, Any]], Any]
) -> None:
    async def main() -> None:
        small = {"buffer.memory": 20_000, "batch.size": 4000}
        async with aio.Producer({"bootstrap.servers": broker.address, **small}) as producer:
            for number in range(2000):
                producer.send(topic, b"%0100d" % number, partition=1)
            await producer.drain()
            for number in range(2000, 2500):
                producer.send(topic, b"%0100d" % number, partition=1)
                await producer.drain()
            await producer.flush()
            assert producer.metrics()["record-send-total"] == 2500

    run(main())
    assert values_of(broker, topic, 1) == [b"%0100d" % number for number in range(2500)]


def test_a_cancelled_wait_does_not_lose_the_record(broker: Broker, topic: str) -> None:
    async def main() -> None:
        async with aio.Producer(bootstrap_servers=broker.address, linger_ms=60_000) as producer:
            await producer.partitions_for(topic)
            sent = [producer.send(topic, b"x", partition=2) for _ in range(2)]
            waits = [asyncio.ensure_future(one) for one in sent]  # type: ignore[arg-type]  # an awaitable
            await asyncio.sleep(0)
            waits[0].cancel()
            await producer.flush()
            assert (await sent[0]).offset == 0
            assert (await waits[1]).offset == 1

    asyncio.run(main())


def test_aio_raises_what_a_callback_has_raised(broker: Broker, topic: str) -> None:
    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address, linger_ms=60_000)
        producer.send(topic, b"x", on_delivery=failing)
        with pytest.raises(ZeroDivisionError, match="mine"):
            await producer.flush()
        producer.send(topic, b"y", on_delivery=failing)
        with pytest.raises(ZeroDivisionError, match="mine"):
            await producer.close()
        await producer.close()

    asyncio.run(main())


def test_a_record_in_line_may_have_a_callback_that_raises(broker: Broker, topic: str) -> None:
    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address)
        missing = producer.send(topic, b"x", partition=99, on_delivery=failing)
        behind = producer.send(topic, b"y", partition=0)
        await producer.drain()
        with pytest.raises(ZeroDivisionError, match="mine"):
            await producer.flush()
        assert isinstance(missing.exception(), UsageError)
        assert (await behind).offset == 0
        await producer.close()

    asyncio.run(main())


def test_another_loop_is_refused(broker: Broker, topic: str) -> None:
    producer = aio.Producer(bootstrap_servers=broker.address)

    async def use() -> None:
        await producer.partitions_for(topic)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(use())
    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(use())
    loop.run_until_complete(producer.close())
    loop.close()


def test_aio_close_says_what_was_not_sent(broker: Broker, topic: str) -> None:
    async def main() -> None:
        producer = aio.Producer(bootstrap_servers=broker.address, linger_ms=60_000)
        await producer.partitions_for(topic)
        future = producer.send(topic, b"x", partition=0)
        with pytest.raises(KafkaError, match="1 records not acknowledged"):
            await producer.close(timeout=0)
        with pytest.raises(KafkaError, match="closed"):
            await future
        with pytest.raises(UsageError, match="closed"):
            producer.send(topic, b"x")

    asyncio.run(main())
