"""Time-outs are numbers of seconds; everything else is refused by every call that takes one, with what was meant."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from tidelog import Admin, Consumer, Producer, TopicPartition, aio
from tidelog.client.durations import lock_wait, seconds
from tidelog.common.errors import UsageError
from tidelog.testing import Broker

SETTINGS = {"bootstrap.servers": "127.0.0.1:1"}
PART = TopicPartition("t", 0)


@pytest.mark.parametrize("given", [None, 0, 3, 0.5])
def test_a_time_out_is_what_it_is(given: float | None) -> None:
    assert seconds(given) is given


def test_numbers_of_other_kinds_will_do() -> None:
    assert seconds(Fraction(1, 2)) == 0.5  # type: ignore[type-var] # a number all the same


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("1s", r"timeout='1s': a time-out is a number of seconds, as timeout=1$"),
        ("500ms", r"as timeout=0\.5$"),
        ("1.5 m", r"as timeout=90$"),
        ("2", r"as timeout=2$"),
        (timedelta(minutes=2), r"as timeout=120$"),
        ("soon", r"timeout='soon': a time-out is a number of seconds, as timeout=1\.5$"),
        (True, r"timeout=True: a time-out is a number"),
        ([1], r"a number of seconds"),
        (-1, r"timeout=-1: a time-out is not negative \(None waits for as long as it takes\)"),
        (float("nan"), r"is not negative"),
    ],
)
def test_anything_else_is_refused_with_what_was_meant(given: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        seconds(given)


CONSUMER: dict[str, Callable[[Any], Any]] = {
    "poll": lambda consumer: consumer.poll("1s"),
    "poll_arrow": lambda consumer: consumer.poll_arrow("1s"),
    "position": lambda consumer: consumer.position(PART, "1s"),
    "commit": lambda consumer: consumer.commit({PART: 1}, "1s"),
    "committed": lambda consumer: consumer.committed([PART], "1s"),
    "close": lambda consumer: consumer.close("1s"),
}


def with_a_timeout(kind: type) -> set[str]:
    """The public methods that take one."""
    found = inspect.getmembers(kind, inspect.isfunction)
    return {name for name, method in found if name[0] != "_" and "timeout" in inspect.signature(method).parameters}


async def waited_for(call: Callable[[], Any]) -> None:
    outcome = call()
    if inspect.isawaitable(outcome):
        await outcome


@pytest.mark.parametrize("kind", [Consumer, aio.Consumer])
def test_every_call_of_a_consumer(kind: type) -> None:
    assert with_a_timeout(kind) == set(CONSUMER)

    async def refused(consumer: Any) -> None:
        for call in CONSUMER.values():
            with pytest.raises(UsageError, match=r"timeout='1s': .* timeout=1$"):
                await waited_for(lambda call=call: call(consumer))

    async def main() -> None:
        consumer = kind(SETTINGS, group_id="g")
        await waited_for(lambda: consumer.assign([PART]))
        try:
            await refused(consumer)
        finally:
            await waited_for(lambda: consumer.close(0.01))

    asyncio.run(main())


def test_what_a_future_waits_for() -> None:
    assert [lock_wait(given) for given in (None, -3, 0, 1.5)] == [-1, 0, 0, 1.5]
    with pytest.raises(UsageError, match=r"as timeout=1$"):
        lock_wait("1s")  # type: ignore[arg-type] # that is the point
    with Broker() as broker, Producer(bootstrap_servers=broker.address, linger_ms=20_000) as producer:
        broker.create_topic("t")
        record, table = producer.send("t", b"x"), producer.send_arrow("t", pa.table({"value": [b"x"]}))
        for wait in (record.result, record.exception, table.result):
            with pytest.raises(UsageError, match=r"as timeout=1$"):
                wait("1s")  # type: ignore[operator] # that is the point
        with pytest.raises(TimeoutError, match="is not acknowledged within -1 s"):
            record.result(-1)


def test_every_call_of_a_producer() -> None:
    assert with_a_timeout(Producer) == {"flush", "close"}
    assert with_a_timeout(aio.Producer) == {"close"}
    producer = Producer(SETTINGS)
    for call in (producer.flush, producer.close):
        with pytest.raises(UsageError, match="a number of seconds"):
            call("1s")  # type: ignore[arg-type] # that is the point
    producer.close(0)


def test_every_call_of_an_admin() -> None:
    with Admin(SETTINGS) as admin:
        assert len(with_a_timeout(Admin)) > 50
        with pytest.raises(UsageError, match="a number of seconds"):
            admin.topics(timeout="1s")  # type: ignore[arg-type] # that is the point
        with pytest.raises(UsageError, match="a number of seconds"):
            admin.close("1s")  # type: ignore[arg-type] # that is the point
