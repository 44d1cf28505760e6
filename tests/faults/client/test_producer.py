"""The idempotent producer, with every boundary of its requests spoiled: nothing lost, doubled, reordered or hung.

One fault at a time first, each where it hurts most; then storms of all kinds. What the broker has is read past the
proxy and held against what was sent and what was promised (`ledger.py`).
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from typing import Any

import pytest
import uvloop

from faults.client.conftest import QUICK
from faults.client.ledger import Ledger
from support.steady import Steady
from support.wire_proxy import EVERYWHERE, GARBLES, Act, At, WireProxy, cut, delay, garble, hole, refuse, split
from tidelog import Producer, aio
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.testing import Broker

SETTINGS = {**QUICK, "linger.ms": 0, "batch.size": 400, "delivery.timeout.ms": 60_000, "max.block.ms": 60_000}
PARTITIONS = 2
PATIENCE = 60
_names = (f"producer-{number}" for number in itertools.count())

#: Retriable errors, of a batch that was not written, or was: then the broker knows it by its sequence.
REFUSALS = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND]
FAULTS: dict[str, tuple[ApiKey, Act, At]] = {
    **{f"{act.__name__}-{at.name}": (ApiKey.PRODUCE, act(), at) for act in (cut, hole, split) for at in EVERYWHERE},
    **{f"delay-{at.name}": (ApiKey.PRODUCE, delay(0.05), at) for at in (At.REQUEST, At.ANSWER)},
    **{f"late-{at.name}": (ApiKey.PRODUCE, delay(1.5), at) for at in (At.REQUEST, At.ANSWER)},
    **{f"garble-{kind}": (ApiKey.PRODUCE, garble(kind), At.ANSWER) for kind in GARBLES},
    **{f"refuse-{code.name}-{at.name}": (ApiKey.PRODUCE, refuse(code), at)
       for code in REFUSALS for at in (At.REQUEST, At.ANSWER)},
    **{f"{api.name}-{act.__name__}-{at.name}": (api, act(), at)
       for api in (ApiKey.METADATA, ApiKey.INIT_PRODUCER_ID, ApiKey.API_VERSIONS)
       for act in (cut, hole) for at in (At.REQUEST, At.MID_ANSWER)},
    **{f"{api.name}-garble": (api, garble(), At.ANSWER)
       for api in (ApiKey.METADATA, ApiKey.INIT_PRODUCER_ID, ApiKey.API_VERSIONS)},
    "no-producer-id-yet": (ApiKey.INIT_PRODUCER_ID, refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), At.REQUEST),
}  # fmt: skip


def ledger(broker: Broker) -> Ledger:
    name = next(_names)
    broker.create_topic(name, PARTITIONS)
    return Ledger(name, PARTITIONS)


@pytest.mark.parametrize("fault", FAULTS)
def test_one_fault(broker: Broker, proxy: WireProxy, fault: str) -> None:
    api, act, at = FAULTS[fault]
    book = ledger(broker)
    rule = proxy.on(api, act, at=at, nth=3 if api is ApiKey.PRODUCE else 1)
    with Producer(SETTINGS, bootstrap_servers=proxy.address) as producer:
        book.send(producer, 200)
        producer.flush(PATIENCE)
    assert rule.fired == 1
    assert not book.failed
    assert book.findings(broker.address) == {}


@pytest.mark.parametrize("at", EVERYWHERE)
@pytest.mark.parametrize("loop", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_one_fault_on_the_callers_loop(broker: Broker, proxy: WireProxy, loop: Any, at: At) -> None:
    book = ledger(broker)
    rule = proxy.on(ApiKey.PRODUCE, cut(), at=at, nth=3)

    async def main() -> None:
        async with aio.Producer(SETTINGS, bootstrap_servers=proxy.address) as producer:
            book.send(producer, 200)
            await asyncio.wait_for(producer.flush(), PATIENCE)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    loop(main())
    assert rule.fired == 1
    assert not book.failed
    assert book.findings(broker.address) == {}


def test_every_request_is_cut_once(broker: Broker, proxy: WireProxy) -> None:
    """Whatever is sent is sent twice: the answer to each first attempt is lost."""
    book = ledger(broker)

    def chance(header: RequestHeader, rng: random.Random) -> tuple[Act, At] | None:
        return (cut(), At.ANSWER) if header.api_key == ApiKey.PRODUCE and proxy.seen[ApiKey.PRODUCE] % 2 else None

    proxy.chance = chance
    with Producer(SETTINGS, bootstrap_servers=proxy.address) as producer:
        book.send(producer, 400)
        producer.flush(PATIENCE)
    assert proxy.storms > 5
    assert not book.failed
    assert book.findings(broker.address) == {}


def test_a_broker_that_is_away_for_a_while(broker: Broker, proxy: WireProxy) -> None:
    book = ledger(broker)
    with Producer(SETTINGS, bootstrap_servers=proxy.address) as producer:
        book.send(producer, 50)
        proxy.down()
        book.send(producer, 50)
        time.sleep(0.3)  # how long it is away: several attempts to reach it
        proxy.up()
        book.send(producer, 50)
        producer.flush(PATIENCE)
    assert not book.failed
    assert book.findings(broker.address) == {}


def test_what_is_never_answered_fails_in_time_and_says_why(broker: Broker, proxy: WireProxy) -> None:
    """No hang, and what comes after it is written in order, under a producer id that knows of no gap."""
    book = ledger(broker)
    settings = {**SETTINGS, "delivery.timeout.ms": 1500, "request.timeout.ms": 400}
    with Producer(settings, bootstrap_servers=proxy.address) as producer:
        book.send(producer, 20)
        producer.flush(PATIENCE)
        rule = proxy.on(ApiKey.PRODUCE, hole(), at=At.ANSWER, times=1000)
        book.send(producer, 20)
        producer.flush(PATIENCE)
        assert rule.fired
        assert len(book.failed) == 20
        assert all("delivery.timeout.ms" in str(error) for error in book.failed.values())
        proxy.heal()
        book.send(producer, 20)
        producer.flush(PATIENCE)
    assert len(book.written) == 40
    assert book.findings(broker.address) == {}


def test_closing_in_a_hole_does_not_hang(broker: Broker, proxy: WireProxy) -> None:
    book = ledger(broker)
    proxy.on(ApiKey.PRODUCE, hole(), at=At.REQUEST, times=1000)
    producer = Producer(SETTINGS, bootstrap_servers=proxy.address)
    book.send(producer, 20)
    began = time.monotonic()
    with pytest.raises(Exception, match="20 records not acknowledged"):
        producer.close(timeout=0.5)
    assert time.monotonic() - began < 30
    proxy.heal()


ACTS: list[tuple[Act, tuple[At, ...]]] = [
    (cut(), EVERYWHERE),
    (split(8, 101), EVERYWHERE),
    (delay(0.02), EVERYWHERE),
    (garble("length"), (At.ANSWER,)),
    (garble("short"), (At.ANSWER,)),
    (garble("correlation"), (At.ANSWER,)),
    (hole(), (At.REQUEST, At.ANSWER)),
]


def storm(rate: float) -> Any:
    """Any act at any boundary of any request; holes are rare, as each costs a time-out."""

    def chance(header: RequestHeader, rng: random.Random) -> tuple[Act, At] | None:
        if rng.random() >= rate:
            return None
        act, places = ACTS[-1] if rng.random() < 0.03 else rng.choice(ACTS[:-1])
        return act, rng.choice(places)

    return chance


def through_a_storm(broker: Broker, proxy: WireProxy, seconds: float, rate: float, **settings: Any) -> Ledger:
    book, before = ledger(broker), proxy.storms
    proxy.chance = storm(rate)
    with Producer({**SETTINGS, **settings}, bootstrap_servers=proxy.address) as producer:
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            book.send(producer, 50)
            time.sleep(0.002)  # the pace of the storm's records: many requests, not many bytes
        producer.flush(PATIENCE)
        proxy.heal()
    print(f"{sum(map(len, book.sent.values()))} records, {proxy.storms} faults, {proxy.seen}")
    assert not book.failed
    assert book.findings(broker.address) == {}
    assert proxy.storms > before
    return book


@pytest.mark.parametrize("settings", [{}, {"compression.type": "lz4"}, {"max.in.flight.requests.per.connection": 1}],
                         ids=["plain", "compressed", "one-in-flight"])  # fmt: skip
def test_a_storm(broker: Broker, proxy: WireProxy, settings: dict[str, Any]) -> None:
    through_a_storm(broker, proxy, 2, 0.1, **settings)


def test_producers_leave_nothing_behind(broker: Broker, proxy: WireProxy) -> None:
    """One after the other through a storm: no object and no task of a former one is left."""
    steady = Steady()
    for _ in range(4):
        through_a_storm(broker, proxy, 0.3, 0.1)
        steady.note()
    steady.check_objects()


def test_a_storm_on_the_callers_loop(broker: Broker, proxy: WireProxy) -> None:
    """No task of the producer's is left on it when it is closed."""
    book = ledger(broker)

    async def main() -> None:
        proxy.chance = storm(0.1)
        async with aio.Producer(SETTINGS, bootstrap_servers=proxy.address) as producer:
            for _ in range(100):
                book.send(producer, 20)
                await asyncio.sleep(0.005)  # as above
            await asyncio.wait_for(producer.flush(), PATIENCE)
            proxy.heal()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert proxy.storms
    assert not book.failed
    assert book.findings(broker.address) == {}


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_ten_minutes_of_storms(broker: Broker, proxy: WireProxy) -> None:
    ends, steady = time.monotonic() + 600, Steady()
    while time.monotonic() < ends:
        through_a_storm(broker, proxy, 30, 0.05)
        steady.note()
    print(f"{[one >> 20 for one in steady.memory]} MB")
    steady.check(megabytes=32)
