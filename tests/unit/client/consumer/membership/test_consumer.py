"""A member of a consumer group (KIP-848) against a real broker."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.group_host import FakeHost
from support.loop import async_test, until
from tidelog.client.consumer.commits import CommitFailedError
from tidelog.client.consumer.membership.consumer import ConsumerMembership
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import ConsumerGroupHeartbeatResponse
from tidelog.testing import Broker

QUICK = {
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "1000",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config=QUICK) as running:
        running.create_topic("t", 4)
        running.create_topic("other", 2)
        yield running


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


async def join(broker: Broker, group: str, **settings: object) -> FakeHost:
    host = FakeHost({"t"})
    await host.join(broker.address, {"group.id": group, "group.protocol": "consumer", **settings})
    return host


@asynccontextmanager
async def members(broker: Broker, group: str, count: int) -> AsyncIterator[list[FakeHost]]:
    hosts = [await join(broker, group) for _ in range(count)]
    try:
        yield hosts
    finally:
        for host in hosts:
            await host.leave()


def shared(hosts: list[FakeHost], partitions: int = 4) -> Callable[[], bool]:
    """All partitions are owned, each once and in equal shares, and everybody is at rest."""

    def check() -> bool:
        owned = [tp for host in hosts for tp in host.owned()]
        at_rest = all(host.member is not None and host.member.state == "stable" for host in hosts)
        sizes = [len(host.owned()) for host in hosts]
        return at_rest and len(owned) == len(set(owned)) == partitions and max(sizes) - min(sizes) <= 1

    return check


@async_test
async def test_a_lone_member_gets_everything_and_gives_it_back(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (host,):
        await until(shared([host]))
        assert host.log == [("assign", [TopicPartition("t", i) for i in range(4)])]
        assert host.member is not None
        assert host.member.group_metadata().generation_id > 0
        assert host.commits is not None
        await host.commits.commit({TopicPartition("t", 0): OffsetAndMetadata(3)})
        assert await host.commits.committed([TopicPartition("t", 0)]) == {TopicPartition("t", 0): OffsetAndMetadata(3)}
    assert host.words() == ["assign", "revoke"]


@async_test
async def test_only_what_others_get_is_given_back_and_commits_count(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (first,):
        await until(shared([first]))
        first.positions = dict.fromkeys(first.owned(), 5)
        async with members(broker, group, 1) as (second,):
            await until(shared([first, second]))
            gone = [tp for what, tps in first.log if what == "revoke" for tp in tps]
            assert sorted(gone) == sorted(second.owned())
            assert second.commits is not None
            assert set((await second.commits.committed(gone)).values()) == {OffsetAndMetadata(5)}
        await until(shared([first]))


@async_test
async def test_more_consumers_than_partitions_leave_some_with_nothing(broker: Broker, group: str) -> None:
    async with members(broker, group, 6) as hosts:
        await until(shared(hosts))
        assert sorted(len(host.owned()) for host in hosts) == [0, 0, 1, 1, 1, 1]


@async_test
async def test_a_change_of_subscription_is_told_by_the_next_heartbeat(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (host,):
        await until(shared([host]))
        assert host.member is not None
        host.subscribed = frozenset({"t", "other"})
        host.member.subscription_changed()
        await until(shared([host], 6))
        host.subscribed = frozenset({"other"})
        host.member.subscription_changed()
        await until(shared([host], 2))


@async_test
async def test_a_pattern_is_resolved_by_the_broker(broker: Broker, group: str) -> None:
    host = FakeHost((), pattern="^oth.*")
    await host.join(broker.address, {"group.id": group, "group.protocol": "consumer"})
    await until(lambda: host.owned() == {TopicPartition("other", 0), TopicPartition("other", 1)})
    await host.leave()


@async_test
async def test_a_pattern_that_is_none_is_told_to_the_user(broker: Broker, group: str) -> None:
    host = FakeHost((), pattern="(")
    await host.join(broker.address, {"group.id": group, "group.protocol": "consumer"})
    await until(lambda: host.errors)
    assert _code(host) is ErrorCode.INVALID_REGULAR_EXPRESSION
    await host.leave()


@async_test
async def test_an_assignor_that_the_broker_lacks_is_told_to_the_user(broker: Broker, group: str) -> None:
    host = await join(broker, group, **{"group.remote.assignor": "astrology"})
    await until(lambda: host.errors)
    assert _code(host) is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert host.member is not None
    assert host.member.state == "failed"
    await host.leave()


@async_test
async def test_a_broker_without_the_protocol_is_told_to_the_user(group: str) -> None:
    with Broker(config={"group.coordinator.rebalance.protocols": "classic"}) as old:
        old.create_topic("t", 1)
        host = await join(old, group)
        await until(lambda: host.errors)
        assert _code(host) is ErrorCode.UNSUPPORTED_VERSION
        assert "group.protocol=classic" in str(host.errors[0])
        await host.leave()


@async_test
async def test_a_member_that_vanishes_is_replaced_after_its_session(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (first,):
        second = await join(broker, group)
        await until(shared([first, second]))
        await second.vanish()
        await until(shared([first]))


@async_test
async def test_a_user_who_does_not_poll_is_put_out_and_told(
    broker: Broker, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tidelog.client.consumer"):
        host = await join(broker, group, **{"max.poll.interval.ms": 400, "client.id": "slow"})
        await host.poll_until(shared([host]))
        await until(lambda: host.member is not None and host.member.state == "idle")
        assert "consumer slow of group" in caplog.text
        assert host.held_back == host.owned() != frozenset()
        assert host.commits is not None
        with pytest.raises(CommitFailedError):
            await host.commits.commit({TopicPartition("t", 0): OffsetAndMetadata(1)})
        await host.poll_until(lambda: host.words() == ["assign", "lose", "assign"])
        await host.leave()


@async_test
async def test_a_static_member_comes_back_to_its_partitions(broker: Broker, group: str) -> None:
    one = await join(broker, group, **{"group.instance.id": "one"})
    two = await join(broker, group, **{"group.instance.id": "two"})
    await until(shared([one, two]))
    had, before = one.owned(), list(two.log)
    await one.leave()
    again = await join(broker, group, **{"group.instance.id": "one"})
    await until(shared([again, two]))
    assert again.owned() == had
    assert two.log == before
    await again.leave()
    await two.leave()


@async_test
async def test_a_second_one_with_the_same_instance_id_is_refused(broker: Broker, group: str) -> None:
    one = await join(broker, group, **{"group.instance.id": "same"})
    await until(shared([one]))
    two = await join(broker, group, **{"group.instance.id": "same"})
    await until(lambda: two.errors)
    assert _code(two) is ErrorCode.UNRELEASED_INSTANCE_ID
    await two.leave()
    await until(shared([one]))
    await one.leave()


@async_test
async def test_a_fenced_member_gives_up_what_it_has_and_joins_anew(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (host,):
        await until(shared([host]))
        assert host.member is not None
        host.member._epoch += 7  # type: ignore[union-attr]  # as after an answer that never was
        await until(lambda: host.words()[:3] == ["assign", "lose", "assign"])
        await until(shared([host]))


@async_test
async def test_a_restart_of_the_coordinator_loses_nothing(group: str) -> None:
    with Broker(config=QUICK | {"group.consumer.session.timeout.ms": "30000"}) as own:
        own.create_topic("t", 4)
        async with members(own, group, 2) as hosts:
            await until(shared(hosts))
            before = [host.owned() for host in hosts]
            own.restart()
            for host in hosts:
                assert host.commits is not None
                await host.commits.commit({tp: OffsetAndMetadata(7) for tp in host.owned()})
            assert [host.owned() for host in hosts] == before
            assert all("lose" not in host.words() for host in hosts)


@async_test
async def test_classic_and_new_members_share_one_group(broker: Broker, group: str) -> None:
    """The broker lets both into a consumer group, so that a group can move to KIP-848 one process at a time."""
    old = FakeHost({"t"})
    await old.join(broker.address, {"group.id": group, "partition.assignment.strategy": "cooperative-sticky"})
    await until(shared([old]))
    new = await join(broker, group)
    await until(shared([old, new]))
    assert len(old.owned()) == len(new.owned()) == 2
    await old.leave()
    await until(shared([new]))
    await new.leave()


def _code(host: FakeHost) -> ErrorCode:
    error = host.errors[0]
    assert isinstance(error, KafkaError)
    return error.code


@async_test
async def test_a_user_who_waits_inside_poll_is_not_put_out(broker: Broker, group: str) -> None:
    host = await join(broker, group, **{"max.poll.interval.ms": 200})
    assert host.member is not None
    host.member.waiting(True)
    await until(shared([host]))
    await asyncio.sleep(0.5)
    assert host.member.state == "stable"
    host.member.waiting(False)
    await until(lambda: host.member is not None and host.member.state == "idle")
    await host.leave()


@async_test
async def test_a_heartbeat_with_a_code_that_nobody_knows_ends_the_membership_aloud(
    broker: Broker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is newer than we are. A member that went on without heartbeats would hand out others' records."""
    async with members(broker, group, 1) as (host,):
        await until(shared([host]))
        assert isinstance(host.member, ConsumerMembership)

        async def newer(request: Any, **how: Any) -> Any:
            return ConsumerGroupHeartbeatResponse(error_code=999)

        monkeypatch.setattr(host.member._coordinator, "ask", newer)
        await until(lambda: host.errors)
        assert isinstance(host.errors[0], KafkaError)
        assert host.errors[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert host.fatal is host.errors[0]
        assert host.member.state == "failed"
        assert host.held_back == host.owned()
