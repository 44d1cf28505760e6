"""A member of a group, with every boundary of its requests spoiled: all is read, in order, and no commit goes back.

What is spoiled is one request at a time first, each API where it hurts, in both protocols of groups; then storms, with
members that come and go. `reading.py` says what must hold.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
import uvloop

from faults.client.conftest import QUICK
from faults.client.ledger import Ledger
from faults.client.reading import Reading
from faults.client.test_producer import storm
from support.steady import Steady
from support.wire_proxy import EVERYWHERE, GARBLES, Act, At, WireProxy, cut, delay, garble, hole, refuse, split
from tidelog import Admin, Consumer, ConsumerRecord, Producer, TopicPartition, aio, retry
from tidelog.client.consumer.commits import CommitFailedError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

PARTITIONS = 2
RECORDS = 300
PATIENCE = 60
SETTINGS = {
    **QUICK,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "max.poll.records": 20,
    "fetch.max.wait.ms": 50,
    "default.api.timeout.ms": 20_000,
}
CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 3000, "heartbeat.interval.ms": 100}
PROTOCOLS: dict[str, dict[str, Any]] = {"classic": CLASSIC, "consumer": {"group.protocol": "consumer"}}
_groups = (f"group-{number}" for number in itertools.count())

BEFORE_AND_AFTER = (At.REQUEST, At.MID_ANSWER)
Fault = tuple[ApiKey, Act, At]
ANY_PROTOCOL: dict[str, Fault] = {
    **{f"FETCH-{act.__name__}-{at.name}": (ApiKey.FETCH, act(), at) for act in (cut, hole, split) for at in EVERYWHERE},
    **{f"FETCH-garble-{kind}": (ApiKey.FETCH, garble(kind), At.ANSWER) for kind in GARBLES},
    "FETCH-delay": (ApiKey.FETCH, delay(0.2), At.ANSWER),
    **{f"{api.name}-{act.__name__}-{at.name}": (api, act(), at)
       for api in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH, ApiKey.LIST_OFFSETS,
                   ApiKey.OFFSET_COMMIT)
       for act in (cut, hole) for at in BEFORE_AND_AFTER},
    **{f"{api.name}-garble": (api, garble(), At.ANSWER)
       for api in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.OFFSET_FETCH, ApiKey.LIST_OFFSETS)},
    "no-coordinator-yet": (ApiKey.FIND_COORDINATOR, refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE), At.REQUEST),
    **{f"OFFSET_COMMIT-{code.name}-{at.name}": (ApiKey.OFFSET_COMMIT, refuse(code), at)
       for code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.REQUEST_TIMED_OUT)
       for at in (At.REQUEST, At.ANSWER)},
}  # fmt: skip
OF_CLASSIC: dict[str, Fault] = {
    **{f"{api.name}-{act.__name__}-{at.name}": (api, act(), at)
       for api in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT)
       for act in (cut, hole) for at in BEFORE_AND_AFTER},
    **{f"{api.name}-{code.name}": (api, refuse(code), At.REQUEST)
       for api in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT)
       for code in (ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.COORDINATOR_NOT_AVAILABLE)},
    "HEARTBEAT-REBALANCE_IN_PROGRESS": (ApiKey.HEARTBEAT, refuse(ErrorCode.REBALANCE_IN_PROGRESS), At.REQUEST),
    "HEARTBEAT-ILLEGAL_GENERATION": (ApiKey.HEARTBEAT, refuse(ErrorCode.ILLEGAL_GENERATION), At.REQUEST),
}  # fmt: skip
OF_CONSUMER: dict[str, Fault] = {
    **{f"HEARTBEAT-{act.__name__}-{at.name}": (ApiKey.CONSUMER_GROUP_HEARTBEAT, act(), at)
       for act in (cut, hole, split) for at in EVERYWHERE},
    **{f"HEARTBEAT-{code.name}": (ApiKey.CONSUMER_GROUP_HEARTBEAT, refuse(code), At.REQUEST)
       for code in (ErrorCode.NOT_COORDINATOR, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH,
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)},
}  # fmt: skip
CASES = [
    *[("classic", name, fault) for name, fault in {**ANY_PROTOCOL, **OF_CLASSIC}.items()],
    *[("consumer", name, fault) for name, fault in OF_CONSUMER.items()],
    *[("consumer", name, fault) for name, fault in ANY_PROTOCOL.items() if name.startswith("OFFSET_COMMIT-")],
]


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    """Filled once, past the proxy."""
    broker.create_topic("read", PARTITIONS)
    book = Ledger("read", PARTITIONS)
    with Producer(bootstrap_servers=broker.address) as producer:
        book.send(producer, RECORDS)
    return "read"


@pytest.fixture
def watch(broker: Broker) -> Iterator[Any]:
    """What the coordinator says of a group's commits, asked past the proxy. When another group is asked for, the former
    one is over: the coordinator need not remember it, so that what grows in a long storm is the clients' alone.
    """
    consumers: dict[str, Consumer] = {}

    def forget() -> None:
        for former in list(consumers):
            consumers.pop(former).close()
            admin.delete_consumer_groups([former])  # unless somebody is still in it

    def committed(group: str, partitions: Any) -> Any:
        if group not in consumers:
            forget()
            consumers[group] = Consumer(bootstrap_servers=broker.address, group_id=group)
        return consumers[group].committed(partitions)

    with Admin(bootstrap_servers=broker.address) as admin:
        yield committed
        forget()


def ends(topic: str) -> dict[TopicPartition, int]:
    return {TopicPartition(topic, number): RECORDS // PARTITIONS for number in range(PARTITIONS)}


def follow(consumer: Consumer, reading: Reading, watch: Any, group: str, enough: Any) -> None:
    """Poll and commit until all is read and committed, and `enough` holds."""
    deadline = time.monotonic() + PATIENCE
    while not (reading.is_complete and reading.is_committed and enough()):
        assert time.monotonic() < deadline, f"stuck: {reading.__dict__}, {consumer.health()}"
        try:
            reading.read(consumer.poll(0.2))
            consumer.commit()
        except KafkaError as error:
            if not error.retriable and not isinstance(error, CommitFailedError):
                raise
        reading.committed(watch(group, reading.ends))
        assert not reading.wrong, reading.wrong


@pytest.mark.parametrize(("protocol", "fault"), [(p, f) for p, _, f in CASES], ids=[f"{p}-{n}" for p, n, _ in CASES])
def test_one_fault(proxy: WireProxy, topic: str, watch: Any, protocol: str, fault: Fault) -> None:
    api, act, at = fault
    group, reading = next(_groups), Reading(ends(topic))
    later = api in (ApiKey.FETCH, ApiKey.HEARTBEAT, ApiKey.OFFSET_COMMIT, ApiKey.CONSUMER_GROUP_HEARTBEAT)
    rule = proxy.on(api, act, at=at, nth=2 if later else 1)
    settings = {**SETTINGS, **PROTOCOLS[protocol], "bootstrap.servers": proxy.address, "group.id": group}
    if api is ApiKey.JOIN_GROUP:  # its answer may take as long as members may: it is waited for five seconds longer
        settings["max.poll.interval.ms"] = 1000
    with Consumer(settings) as consumer:
        consumer.subscribe([topic], reading)
        follow(consumer, reading, watch, group, lambda: rule.fired)
    assert rule.fired == 1


@pytest.mark.parametrize("at", EVERYWHERE)
@pytest.mark.parametrize("loop", [asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def test_one_fault_on_the_callers_loop(proxy: WireProxy, topic: str, loop: Any, at: At) -> None:
    reading = Reading(ends(topic))
    rule = proxy.on(ApiKey.FETCH, cut(), at=at, nth=2)
    settings = {**SETTINGS, **CLASSIC, "bootstrap.servers": proxy.address, "group.id": next(_groups)}

    async def main() -> None:
        async with aio.Consumer(settings) as consumer, asyncio.timeout(PATIENCE):
            await consumer.subscribe([topic], reading)
            while not (reading.is_complete and rule.fired):
                reading.read(await consumer.poll(0.2))
                await consumer.commit()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    loop(main())
    assert not reading.wrong


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("act", [cut(), hole()], ids=["cut", "hole"])
def test_leaving_is_not_held_up(proxy: WireProxy, topic: str, protocol: str, act: Act) -> None:
    """A coordinator that is not there any more is not waited for longer than `close` says."""
    settings = {**SETTINGS, **PROTOCOLS[protocol], "bootstrap.servers": proxy.address, "group.id": next(_groups)}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    deadline = time.monotonic() + PATIENCE
    while not consumer.poll(0.2):
        assert time.monotonic() < deadline
    proxy.on(None, act, at=At.REQUEST, times=10_000)
    began = time.monotonic()
    consumer.close(timeout=1)
    assert time.monotonic() - began < 20
    proxy.heal()


def members_in_a_storm(
    proxy: WireProxy, topic: str, watch: Any, protocol: str, seconds: float, rate: float
) -> list[Reading]:
    """One group after the other reads it all through a storm, in a changing company."""
    done: list[Reading] = []
    steady, before = Steady(), proxy.storms
    stops = time.monotonic() + seconds
    while time.monotonic() < stops:
        group, reading = next(_groups), Reading(ends(topic))
        settings = {**SETTINGS, **PROTOCOLS[protocol], "bootstrap.servers": proxy.address, "group.id": group}
        settings["max.poll.interval.ms"] = 3000  # and five seconds more: so long is a JoinGroup in a hole waited for
        proxy.chance = storm(rate)
        with Consumer(settings) as consumer:
            consumer.subscribe([topic], reading)
            follow(consumer, reading, watch, group, lambda: True)
            proxy.heal()
        done.append(reading)
        if seconds > 60 and len(done) % 5 == 0:
            steady.note()
    print(f"{len(done)} groups, {proxy.storms} faults, {proxy.seen}, {[one >> 20 for one in steady.memory]} MB")
    assert proxy.storms > before
    if seconds > 60:
        steady.check(megabytes=32)
    return done


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_storm(proxy: WireProxy, topic: str, watch: Any, protocol: str) -> None:
    members_in_a_storm(proxy, topic, watch, protocol, 3, 0.1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_leave_nothing_behind(proxy: WireProxy, topic: str, watch: Any, protocol: str) -> None:
    """One after the other through a storm: no object and no task of a former one is left."""
    steady, group, positions = Steady(), next(_groups), ends(topic)
    settings = {**SETTINGS, **PROTOCOLS[protocol], "bootstrap.servers": proxy.address, "group.id": group}
    for _ in range(4):
        proxy.chance = storm(0.1)
        with Consumer(settings | {"max.poll.interval.ms": 3000}) as consumer:
            reading = Reading(positions)
            reading.commits = {tp: p.offset for tp, p in watch(group, positions).items() if p is not None}
            consumer.subscribe([topic], reading)
            deadline = time.monotonic() + PATIENCE
            while not consumer.assignment():
                assert time.monotonic() < deadline, consumer.health()
                reading.read(consumer.poll(0.2))
            proxy.heal()
        assert not reading.wrong
        del reading, consumer
        steady.note()
    steady.check_objects()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_through_a_storm(proxy: WireProxy, topic: str, watch: Any, protocol: str) -> None:
    """Handlers at the same time, some of which fail at first: all are done, and no commit was ahead of them."""
    group, lock = next(_groups), threading.Lock()
    settings = {**SETTINGS, **PROTOCOLS[protocol], "bootstrap.servers": proxy.address, "group.id": group}
    settings |= {"auto.commit.interval.ms": 20, "max.poll.interval.ms": 3000}
    handled: defaultdict[TopicPartition, set[int]] = defaultdict(set)
    failed: set[tuple[int, int]] = set()

    def handle(record: ConsumerRecord) -> None:
        place = (record.partition, record.offset)
        with lock:
            if record.offset % 7 == 0 and place not in failed:
                failed.add(place)
                raise ValueError("the first attempt")
            handled[record.topic_partition].add(record.offset)
            if record.offset % 10 == 0:
                done = {tp: set(offsets) for tp, offsets in handled.items()}
                for tp, position in watch(group, ends(topic)).items():
                    assert position is None or set(range(position.offset)) <= done[tp]
            if sum(map(len, handled.values())) == RECORDS:
                consumer.wakeup()

    proxy.chance = storm(0.1)
    with Consumer(settings) as consumer:
        consumer.subscribe([topic])
        consumer.run(handle, ordering="key", concurrency=4, on_error=retry(3, backoff=0.01))
        proxy.heal()
    found = {tp: position.offset for tp, position in watch(group, ends(topic)).items()}
    assert found == ends(topic)


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_five_minutes_of_storms(proxy: WireProxy, topic: str, watch: Any, protocol: str) -> None:
    members_in_a_storm(proxy, topic, watch, protocol, 300, 0.07)
