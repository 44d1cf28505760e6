"""`consumer.run` against a broker: order, commits without gaps, retries, dead letters, rebalances; both faces."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.patience import eventually
from tidelog import Consumer, ConsumerRecord, Producer, TopicPartition, UsageError, aio, dead_letter, retry, skip
from tidelog.testing import Broker

RECORDS = 40
_names = (f"run-{number}" for number in itertools.count())
SETTINGS = {"auto.offset.reset": "earliest", "max.poll.records": 10, "auto.commit.interval.ms": 50}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker) -> str:
    """40 records in two partitions, with four keys in each."""
    name = next(_names)
    broker.create_topic(name, 2)
    with Producer(bootstrap_servers=broker.address) as producer:
        for number in range(RECORDS):
            producer.send(name, b"%d" % number, key=b"%d" % (number % 8), partition=number % 2)
    return name


def committed(broker: Broker, topic: str) -> list[int]:
    with Consumer(bootstrap_servers=broker.address, group_id=topic) as consumer:
        found = consumer.committed([TopicPartition(topic, number) for number in (0, 1)])
    return [0 if position is None else position.offset for position in found.values()]


class Count:
    """A handler that notes what it saw, and wakes the consumer up when it has seen all."""

    def __init__(self, enough: int = RECORDS, fail: Callable[[int, int], bool] = lambda number, attempt: False) -> None:
        self.seen: defaultdict[Any, list[int]] = defaultdict(list)
        self.attempts: defaultdict[int, int] = defaultdict(int)
        self.consumer: Any = None
        self._enough, self._fail = enough, fail
        self._lock = threading.Lock()

    def __call__(self, record: ConsumerRecord) -> None:
        number = int(record.value)
        with self._lock:
            self.attempts[number] += 1
            if self._fail(number, self.attempts[number]):
                raise ValueError(f"not {number}")
            self.seen[record.partition, record.key].append(number)
            if sum(map(len, self.seen.values())) >= self._enough:
                self.consumer.wakeup()


def run(broker: Broker, topic: str, face: str, count: Count, **options: Any) -> None:
    settings = {**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic}
    if face == "blocking":
        with Consumer(settings) as consumer:
            count.consumer = consumer
            consumer.subscribe([topic])
            consumer.run(count, **options)
        return

    async def main() -> None:
        async def handle(record: ConsumerRecord) -> None:
            await asyncio.sleep(0)
            count(record)

        async with aio.Consumer(settings) as consumer:
            count.consumer = consumer
            await consumer.subscribe([topic])
            await asyncio.wait_for(consumer.run(handle, **options), 60)

    asyncio.run(main())


BOTH = pytest.mark.parametrize("face", ["blocking", "asyncio"])


@BOTH
@pytest.mark.parametrize(("ordering", "concurrency"), [("partition", 1), ("partition", 4), ("key", 8)])
def test_everything_is_handled_in_order_and_committed(
    broker: Broker, topic: str, face: str, ordering: str, concurrency: int
) -> None:
    count = Count()
    run(broker, topic, face, count, ordering=ordering, concurrency=concurrency)
    assert all(numbers == sorted(numbers) for numbers in count.seen.values())
    assert sum(map(len, count.seen.values())) == RECORDS
    assert committed(broker, topic) == [20, 20]


@BOTH
def test_the_first_error_ends_it_and_is_not_committed_over(broker: Broker, topic: str, face: str) -> None:
    count = Count(fail=lambda number, attempt: number == 12)
    with pytest.raises(ValueError, match="not 12"):
        run(broker, topic, face, count, ordering="key", concurrency=8)
    assert committed(broker, topic)[0] <= 6, "12 is the seventh record of partition 0"


@BOTH
def test_a_retry_helps(broker: Broker, topic: str, face: str) -> None:
    count = Count(fail=lambda number, attempt: number % 5 == 0 and attempt < 3)
    run(broker, topic, face, count, concurrency=2, on_error=retry(2, backoff=0.001))
    assert all(numbers == sorted(numbers) for numbers in count.seen.values())
    assert count.attempts[5] == 3
    assert committed(broker, topic) == [20, 20]


@BOTH
def test_what_no_retry_helps_is_put_aside_with_the_reason(broker: Broker, topic: str, face: str) -> None:
    dead = f"{topic}-dead"
    broker.create_topic(dead, 1)
    count = Count(enough=RECORDS - 1, fail=lambda number, attempt: number == 7)
    policy = retry(1, backoff=0.001).then(dead_letter(dead))
    run(broker, topic, face, count, ordering="key", concurrency=4, on_error=policy)
    assert committed(broker, topic) == [20, 20]
    with Consumer(bootstrap_servers=broker.address) as consumer:
        (letter,) = consumer.tail(dead, 5)
    assert (letter.key, letter.value) == (b"7", b"7")
    told = dict(letter.headers)
    assert told["dead-letter.topic"] == topic.encode()
    assert (told["dead-letter.partition"], told["dead-letter.offset"]) == (b"1", b"3")
    assert told["dead-letter.attempts"] == b"2"
    assert told["dead-letter.error"] == b"ValueError: not 7"


@BOTH
def test_what_is_skipped_is_done_with(broker: Broker, topic: str, face: str) -> None:
    count = Count(enough=RECORDS - 2, fail=lambda number, attempt: number in (0, 1))
    run(broker, topic, face, count, on_error=skip())
    assert committed(broker, topic) == [20, 20]


@BOTH
def test_a_new_run_goes_on_where_the_last_one_stopped(broker: Broker, topic: str, face: str) -> None:
    first = Count(fail=lambda number, attempt: number == 20)
    with pytest.raises(ValueError, match="not 20"):
        run(broker, topic, face, first)
    second = Count(enough=RECORDS - sum(committed(broker, topic)))
    run(broker, topic, face, second)
    seen = [number for count in (first, second) for numbers in count.seen.values() for number in numbers]
    assert sorted(seen) == list(range(RECORDS))


def test_nothing_is_begun_after_a_failure(broker: Broker, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The poller comes back just after the failed record was let go of. What it began then could be what stands behind
    that in its queue, which must not be handled before it."""
    count = Count(fail=lambda number, attempt: number == 20)
    settings = {**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic, "max.poll.records": RECORDS}
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        poll, state = consumer.poll, lambda: consumer._core.handling()

        def late(timeout: float) -> Any:
            """When all that was polled has been handled, up to the failure."""
            eventually(lambda: not state().at_work and (20 in count.attempts or not state().queued))
            return poll(timeout)

        monkeypatch.setattr(consumer, "poll", late)
        with pytest.raises(ValueError, match="not 20"):
            consumer.run(count, concurrency=1)
    assert list(count.attempts)[-1] == 20


def test_a_second_interrupt_commits_nothing_that_was_not_handled(broker: Broker, topic: str) -> None:
    """The first one waits for a handler; the second breaks that off, and the close that follows commits positions."""
    begun, go_on = threading.Event(), threading.Event()

    def slow(record: ConsumerRecord) -> None:
        begun.set()
        go_on.wait(30)

    with pytest.raises(KeyboardInterrupt):
        interrupt_twice(broker, topic, slow, begun)
    go_on.set()
    assert committed(broker, topic) == [0, 0]


def interrupt_twice(broker: Broker, topic: str, handler: Callable[..., None], begun: threading.Event) -> None:
    settings = {**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic}
    with Consumer(settings) as consumer, pytest.MonkeyPatch.context() as patch:
        consumer.subscribe([topic])
        poll = consumer.poll

        def interrupted(timeout: float) -> Any:
            if begun.is_set():
                raise KeyboardInterrupt
            return poll(timeout)

        def broken_off(self: Any, wait: bool = True, **rest: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(consumer, "poll", interrupted)
        patch.setattr("concurrent.futures.ThreadPoolExecutor.shutdown", broken_off)
        consumer.run(handler)


def test_a_task_cancelled_twice_commits_nothing_that_was_not_handled(broker: Broker, topic: str) -> None:
    async def main() -> None:
        begun, stubborn = asyncio.Event(), asyncio.Event()

        async def slow(record: ConsumerRecord) -> None:
            begun.set()
            with contextlib.suppress(asyncio.CancelledError):
                await stubborn.wait()
            await stubborn.wait()

        async with aio.Consumer({**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic}) as consumer:
            await consumer.subscribe([topic])
            task = asyncio.create_task(consumer.run(slow))
            await begun.wait()
            for _ in range(2):
                task.cancel()
                await asyncio.sleep(0.05)
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert committed(broker, topic) == [0, 0]


def test_partitions_that_go_are_finished_and_committed_before(broker: Broker, topic: str) -> None:
    """A second member joins while a handler is at work: what is at work is waited for, nothing is handled twice."""
    settings = {**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic, "heartbeat.interval.ms": 100}
    begun, go_on, seen = threading.Event(), threading.Event(), list[int]()
    lock = threading.Lock()

    def handle(record: ConsumerRecord) -> None:
        begun.set()
        go_on.wait(60)
        with lock:
            seen.append(int(record.value))
            if len(seen) == RECORDS:
                for consumer in consumers:
                    consumer.wakeup()

    consumers = [Consumer(settings, client_id=f"member-{number}") for number in (1, 2)]
    threads = [threading.Thread(target=consumer.run, args=(handle,)) for consumer in consumers]
    for consumer in consumers:
        consumer.subscribe([topic])
    threads[0].start()
    assert begun.wait(60)
    assert consumers[0].health().handling.at_work == 1
    threads[1].start()
    go_on.set()
    for thread, consumer in zip(threads, consumers, strict=True):
        thread.join(60)
        consumer.close()
    assert sorted(seen) == list(range(RECORDS))
    assert committed(broker, topic) == [20, 20]


def test_a_slow_handler_is_warned_of_by_name(broker: Broker, topic: str, caplog: pytest.LogCaptureFixture) -> None:
    warned = threading.Event()

    class Watch:
        def __call__(self, record: ConsumerRecord) -> None:
            deadline = threading.Event()
            for _ in range(200):
                if any("the handler" in message and "Watch" in message for message in caplog.messages):
                    warned.set()
                    break
                deadline.wait(0.05)
            consumer.wakeup()

    settings = {**SETTINGS, "bootstrap.servers": broker.address, "group.id": topic, "max.poll.interval.ms": 400}
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        consumer.run(Watch())
    assert warned.is_set()


def test_what_makes_no_sense_is_refused(broker: Broker) -> None:
    async def handler(record: ConsumerRecord) -> None:
        pass

    with Consumer(bootstrap_servers=broker.address, group_id="g") as consumer:
        consumer.subscribe(["t"])
        with pytest.raises(UsageError, match="aio"):
            consumer.run(handler)
        with pytest.raises(UsageError, match="ordering"):
            consumer.run(print, ordering="none")  # type: ignore[arg-type]  # that is what is tested
        with pytest.raises(UsageError, match="concurrency"):
            consumer.run(print, concurrency=0)
        with pytest.raises(UsageError, match="function"):
            consumer.run("print")  # type: ignore[arg-type]  # that is what is tested
    with Consumer(bootstrap_servers=broker.address) as alone, pytest.raises(Exception, match="group"):
        alone.run(print)


def test_a_handler_that_waited_for_something_cancelled_has_failed(broker: Broker, topic: str) -> None:
    """Only who is cancelled itself ends without a word: this is an error like others, and the policy's."""
    attempts: list[int] = []

    async def handler(record: ConsumerRecord) -> None:
        attempts.append(int(record.value))
        if record.value == b"0":
            gone = asyncio.get_running_loop().create_future()
            gone.cancel()
            await gone

    async def scenario() -> None:
        async with aio.Consumer(SETTINGS, bootstrap_servers=broker.address, group_id=topic) as consumer:
            await consumer.subscribe([topic])
            with pytest.raises(RuntimeError, match="was cancelled"):
                await consumer.run(handler, on_error=retry(3))

    asyncio.run(scenario())
    assert attempts.count(0) == 4
