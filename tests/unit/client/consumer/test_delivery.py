"""Whatever breaks a poll off, nothing is passed over: what the user was not given is given by the next one."""

from __future__ import annotations

import asyncio
import itertools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

from support.consumers import FACES, QUICK, Face, take, values, write
from tidelog.client.consumer import arrow, delivery, engine
from tidelog.client.consumer._records import RecordCursor
from tidelog.client.consumer.aio import Consumer as AsyncConsumer
from tidelog.client.consumer.arrow import Decoding
from tidelog.client.consumer.blocking import Consumer
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.records.arrow import parts
from tidelog.records.kernel._batches import BatchRun
from tidelog.testing import Broker

COUNT = 12


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture
def tp(broker: Broker, request: pytest.FixtureRequest) -> TopicPartition:
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:150]
    broker.create_topic(name)
    tp = TopicPartition(name, 0)
    write(broker, tp, *[[str(4 * batch + i) for i in range(4)] for batch in range(COUNT // 4)])
    return tp


class Alarm(BaseException):
    """As Ctrl-C, or a time-out by SIGALRM."""


def interrupted(call: Callable[[], Any], step: int) -> bool:
    """Raise Alarm where a signal's handler may raise (as a function begins, and behind calls of C) for the nth time
    within the consumer's code; False if the call was over before.
    """
    left = step

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and "tidelog/client/consumer/" in frame.f_code.co_filename:
            left -= 1
            if left == 0:
                sys.setprofile(None)
                raise Alarm

    sys.setprofile(profile)
    try:
        call()
    except Alarm:
        return True
    finally:
        sys.setprofile(None)
    return False


_held: list[Any] = []


def held(iterator: Iterator[Any]) -> Iterator[Any]:
    """Not dropped within the call: what is raised while a generator is dropped reaches nobody."""
    _held.append(iterator)
    return iterator


WAYS: dict[str, Callable[[Consumer], Any]] = {
    "poll": lambda consumer: consumer.poll(30),
    "iteration": lambda consumer: next(held(iter(consumer))),
    "arrow": lambda consumer: consumer.poll_arrow(30),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_interrupt_at_any_step_passes_no_record_over(broker: Broker, tp: TopicPartition, way: str) -> None:
    with Consumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", **QUICK) as consumer:
        consumer.assign([tp])
        consumer.poll_arrow(30)  # imports
        for step in itertools.count(1):
            consumer.seek(tp, 0)
            if not interrupted(lambda: WAYS[way](consumer), step):
                break
            assert consumer.position(tp) == 0, step
            assert values(take(consumer, COUNT)) == [b"%d" % i for i in range(COUNT)], step
        assert step > 20
    _held.clear()


def test_a_codec_that_runs_out_of_memory_costs_no_record(
    broker: Broker, tp: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        def __init__(self, cursor: RecordCursor) -> None:
            self.cursor = cursor

        def __getattr__(self, name: str) -> Any:
            return getattr(self.cursor, name)

        def take(self, into: list[Any], most: int) -> int:
            self.cursor.take(into, 2)
            raise MemoryError

    original = delivery.RecordDelivery._next
    with Consumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", **QUICK) as consumer:
        consumer.assign([tp])
        with monkeypatch.context() as patch:

            def failing(self: delivery.RecordDelivery) -> Any:
                piece = original(self)
                return piece and piece._replace(cursor=Failing(piece.cursor))

            patch.setattr(delivery.RecordDelivery, "_next", failing)
            with pytest.raises(MemoryError):
                consumer.poll(30)
        assert values(take(consumer, COUNT)) == [b"%d" % i for i in range(COUNT)]


def test_records_follow_tables_of_the_same_piece(
    broker: Broker, tp: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow, "_TABLE_BYTES", 1)
    smaller = {**(parts.batches_in_parts.__kwdefaults__ or {}), "part_bytes": 1}
    monkeypatch.setattr(parts.batches_in_parts, "__kwdefaults__", smaller)
    monkeypatch.setattr(parts, "_apart", lambda source: iter(_single(source)))
    with Consumer(bootstrap_servers=broker.address, auto_offset_reset="earliest", **QUICK) as consumer:
        consumer.assign([tp])
        rows = consumer.poll_arrow(30)["value"].to_pylist()
        assert 0 < len(rows) < COUNT
        assert rows + values(take(consumer, COUNT - len(rows))) == [b"%d" % i for i in range(COUNT)]


def _single(source: Any) -> list[Any]:
    run = BatchRun(source)
    run.scan()
    return [run.view(index) for index in range(len(run))]


def test_a_cancelled_poll_of_a_table_hands_nothing_over(
    broker: Broker, tp: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The table is decoded on a thread, to its end; whoever comes next gets it, unless the position has moved."""
    monkeypatch.setattr(arrow.ArrowDelivery, "WORTH_A_THREAD", 0)

    async def scenario() -> None:
        loop, begun, decoded = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        original = Decoding.run

        def run(self: Decoding) -> None:
            loop.call_soon_threadsafe(begun.set)
            original(self)
            loop.call_soon_threadsafe(decoded.set)

        monkeypatch.setattr(Decoding, "run", run)
        async with AsyncConsumer(bootstrap_servers=broker.address, group_id=tp.topic, **QUICK) as consumer:
            await consumer.assign([tp])
            await consumer.seek(tp, 0)

            async def cancel_one() -> None:
                begun.clear()
                decoded.clear()
                task = asyncio.create_task(consumer.poll_arrow())
                await begun.wait()
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await decoded.wait()

            await cancel_one()
            assert await consumer.position(tp) == 0
            await consumer.commit()
            assert (await consumer.committed([tp]))[tp].offset == 0  # type: ignore[union-attr]  # it is there
            assert (await consumer.poll_arrow(30))["value"].to_pylist() == [b"%d" % i for i in range(COUNT)]
            await consumer.seek(tp, 0)
            await cancel_one()
            await consumer.seek(tp, 6)
            assert (await consumer.poll_arrow(30))["offset"].to_pylist() == list(range(6, COUNT))
            await consumer.seek(tp, 0)
            await cancel_one()
            assert [record.offset for record in await consumer.poll(30, max_records=3)] == [0, 1, 2]
            assert (await consumer.poll_arrow(30))["offset"].to_pylist() == list(range(3, COUNT))

    asyncio.run(scenario())


class Spoiled(RecordCursor):
    """An answer whose second batch says that it is packed in a way that nobody knows."""

    def __init__(self, tp: TopicPartition, records: Any, start: int, **options: Any) -> None:
        data = bytearray(records)
        run = BatchRun(data)
        run.scan()
        at = 0
        for index in range(len(run)):
            if run.header(index).base_offset == 4:
                data[at + 22] |= 7
            at += len(run.view(index))
        super().__init__(tp, bytes(data), start, **options)


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.name)
@pytest.mark.parametrize("threaded", [True, False])
def test_what_cannot_be_unpacked_is_told_and_not_passed_over(
    broker: Broker, tp: TopicPartition, face: Face, threaded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow.ArrowDelivery, "WORTH_A_THREAD", 0 if threaded else 1 << 30)
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        with monkeypatch.context() as patch:
            patch.setattr(engine, "RecordCursor", Spoiled)
            for poll in (consumer.poll, consumer.poll_arrow):
                consumer.seek(tp, 0)
                assert len(poll(30)) == 4
                for _ in range(2):
                    with pytest.raises(CorruptRecordError):
                        poll(30)
                    assert consumer.position(tp) == 4
        consumer.seek(tp, 4)
        assert consumer.poll_arrow(30)["offset"].to_pylist() == list(range(4, COUNT))
