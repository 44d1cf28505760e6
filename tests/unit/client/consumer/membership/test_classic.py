"""A classic member against a real broker: join, share, hand over, be put out, come back."""

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
from tidelog.client.consumer.membership.classic import ClassicMembership
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import HeartbeatRequest, HeartbeatResponse, JoinGroupRequest
from tidelog.testing import Broker

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(config={"group.min.session.timeout.ms": "100"}) as running:
        running.create_topic("t", 4)
        running.create_topic("other", 2)
        yield running


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


@asynccontextmanager
async def members(
    broker: Broker, group: str, count: int, settings: dict[str, object] | None = None
) -> AsyncIterator[list[FakeHost]]:
    hosts = [FakeHost({"t"}) for _ in range(count)]
    try:
        for host in hosts:
            await host.join(broker.address, {"group.id": group, **(settings or {})})
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
        who = host.member.group_metadata()
        assert (who.group_id, who.generation_id) == (group, 1)
    assert host.words() == ["assign", "revoke"]
    assert host.member.state == "left"


@async_test
async def test_eager_members_give_back_everything_before_they_share_anew(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (first,):
        await until(shared([first]))
        async with members(broker, group, 1) as (second,):
            await until(shared([first, second]))
            assert first.log[1:] == [
                ("revoke", [TopicPartition("t", i) for i in range(4)]),
                ("assign", [TopicPartition("t", i) for i in first.numbers]),
            ]
            assert len(second.numbers) == 2
        await until(shared([first]))


@async_test
async def test_cooperative_members_give_back_only_what_others_get(broker: Broker, group: str) -> None:
    async with members(broker, group, 1, COOPERATIVE) as (first,):
        await until(shared([first]))
        async with members(broker, group, 1, COOPERATIVE) as (second,):
            await until(shared([first, second]))
            gone = [tp for what, tps in first.log if what == "revoke" for tp in tps]
            assert sorted(gone) == sorted(second.owned())
            assert len(gone) == 2
        await until(shared([first]))


@async_test
async def test_more_consumers_than_partitions_leave_some_with_nothing(broker: Broker, group: str) -> None:
    async with members(broker, group, 6) as hosts:
        await until(shared(hosts))
        assert sorted(len(host.owned()) for host in hosts) == [0, 0, 1, 1, 1, 1]


@async_test
async def test_a_change_of_subscription_is_a_rebalance(broker: Broker, group: str) -> None:
    async with members(broker, group, 1, COOPERATIVE) as (host,):
        await until(shared([host]))
        host.subscribed = frozenset({"t", "other"})
        assert host.member is not None
        host.member.subscription_changed()
        await until(shared([host], 6))
        host.subscribed = frozenset({"other"})
        host.member.subscription_changed()
        await until(shared([host], 2))
        assert ("revoke", [TopicPartition("t", i) for i in range(4)]) in host.log


@async_test
async def test_the_leader_notices_a_topic_that_appears(broker: Broker, group: str) -> None:
    async with members(broker, group, 1) as (host,):
        host.subscribed = frozenset({"t", f"late-{group}"})
        await until(shared([host]))
        broker.create_topic(f"late-{group}", 3)
        await until(shared([host], 7))


@async_test
async def test_a_member_that_vanishes_is_replaced_after_its_session(broker: Broker, group: str) -> None:
    quick: dict[str, object] = {"session.timeout.ms": 500}
    async with members(broker, group, 1, quick) as (first,):
        second = FakeHost({"t"})
        await second.join(broker.address, {"group.id": group, **quick})
        await until(shared([first, second]))
        await second.vanish()
        await until(shared([first]))


@async_test
async def test_heartbeats_do_not_wait_for_the_users_turn(broker: Broker, group: str) -> None:
    """Sessions of half a second, and a user who is away for twice that."""
    quick: dict[str, object] = {"session.timeout.ms": 500}
    async with members(broker, group, 1, quick) as (first,):
        await until(shared([first]))
        first.turn.clear()
        second = FakeHost({"t"})
        await second.join(broker.address, {"group.id": group, **quick})
        assert first.member is not None
        generation = first.member.group_metadata().generation_id
        await until(lambda: first.member is not None and first.member.state == "revoking")
        await asyncio.sleep(1)
        assert first.member.group_metadata().generation_id == generation
        assert first.words() == ["assign"]
        first.turn.set()
        await until(shared([first, second]))
        assert "lose" not in first.words()
        await second.leave()


@async_test
async def test_a_user_who_does_not_poll_is_put_out_and_told(
    broker: Broker, group: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tidelog.client.consumer"):
        async with members(broker, group, 1, {"max.poll.interval.ms": 400, "client.id": "slow"}) as (host,):
            await host.poll_until(shared([host]))
            await until(lambda: host.member is not None and host.member.state == "idle")
            assert "consumer slow of group" in caplog.text
            assert "max.poll.interval.ms=400" in caplog.text
            assert len(host.owned()) == 4  # until the user's next poll
            assert host.held_back == host.owned()
            assert host.commits is not None
            with pytest.raises(CommitFailedError):
                await host.commits.commit({TopicPartition("t", 0): OffsetAndMetadata(1)})
            await host.poll_until(lambda: host.words() == ["assign", "lose", "assign"])


@async_test
async def test_a_static_member_comes_back_to_its_partitions_without_a_rebalance(broker: Broker, group: str) -> None:
    one, two = FakeHost({"t"}), FakeHost({"t"})
    await one.join(broker.address, {"group.id": group, "group.instance.id": "one"})
    await two.join(broker.address, {"group.id": group, "group.instance.id": "two"})
    await until(shared([one, two]))
    had, before = one.owned(), list(two.log)
    await one.leave()
    again = FakeHost({"t"})
    await again.join(broker.address, {"group.id": group, "group.instance.id": "one"})
    await until(shared([again, two]))
    assert again.owned() == had
    assert two.log == before
    await again.leave()
    await two.leave()


@async_test
async def test_the_first_of_two_with_one_instance_id_is_fenced(broker: Broker, group: str) -> None:
    one = FakeHost({"t"})
    await one.join(broker.address, {"group.id": group, "group.instance.id": "same"})
    await until(shared([one]))
    two = FakeHost({"t"})
    await two.join(broker.address, {"group.id": group, "group.instance.id": "same"})
    await until(lambda: one.errors)
    error = one.errors[0]
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.FENCED_INSTANCE_ID
    assert one.member is not None
    assert one.member.state == "failed"
    assert one.fatal is error
    assert one.held_back == one.owned()
    await until(shared([two]))
    await one.leave()
    await two.leave()


@async_test
async def test_members_without_a_common_assignor_are_refused(broker: Broker, group: str) -> None:
    async with members(broker, group, 1, {"partition.assignment.strategy": "range"}) as (first,):
        await until(shared([first]))
        async with members(broker, group, 1, {"partition.assignment.strategy": "roundrobin"}) as (second,):
            await until(lambda: second.errors)
            error = second.errors[0]
            assert isinstance(error, KafkaError)
            assert error.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@async_test
async def test_a_restart_of_the_coordinator_loses_nothing(group: str) -> None:
    with Broker() as own:
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
async def test_a_user_who_waits_inside_poll_is_not_put_out(broker: Broker, group: str) -> None:
    async with members(broker, group, 1, {"max.poll.interval.ms": 200}) as (host,):
        assert host.member is not None
        host.member.waiting(True)
        await until(shared([host]))
        await asyncio.sleep(0.5)
        assert host.member.state == "stable"
        host.member.waiting(False)
        await until(lambda: host.member is not None and host.member.state == "idle")


@async_test
async def test_who_leaves_while_it_joins_commits_what_it_has_kept(
    broker: Broker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator waits for the other member: until that joins, too, the old generation is its own."""
    async with members(broker, group, 2, COOPERATIVE) as (one, two):
        await until(shared([one, two]))
        assert one.member is not None
        assert two.member is not None
        assert two.commits is not None
        monkeypatch.setattr(two.member, "_prepare", asyncio.Event().wait)
        tp = min(one.owned())
        one.positions[tp] = 7
        one.member._rejoin("to be between two generations")  # type: ignore[union-attr]  # a classic one
        await until(lambda: one.member is not None and one.member.state == "joining")
        assert isinstance(one.member, ClassicMembership)
        purposes: list[str] = []
        node = one.member._cluster.node

        async def noted(node_id: int, *, purpose: str = "") -> Any:
            purposes.append(purpose)
            return await node(node_id, purpose=purpose)

        monkeypatch.setattr(one.member._cluster, "node", noted)
        await one.leave()
        assert purposes.count("group-beside") == 2  # the commit and the farewell: behind the JoinGroup they would wait
        assert one.words()[-1] == "revoke"
        two.commits.member = None
        assert (await two.commits.committed([tp]))[tp] == OffsetAndMetadata(7, -1)


@async_test
async def test_a_heartbeat_with_a_code_that_nobody_knows_ends_the_membership_aloud(
    broker: Broker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broker that is newer than we are. A member that went on without heartbeats would hand out others' records."""
    async with members(broker, group, 1, {"heartbeat.interval.ms": 20}) as (host,):
        await until(shared([host]))
        assert isinstance(host.member, ClassicMembership)
        ask = host.member._coordinator.ask

        async def newer(request: Any, **how: Any) -> Any:
            return (
                HeartbeatResponse(error_code=999)
                if isinstance(request, HeartbeatRequest)
                else await ask(request, **how)
            )

        monkeypatch.setattr(host.member._coordinator, "ask", newer)
        await until(lambda: host.errors)
        assert isinstance(host.errors[0], KafkaError)
        assert host.errors[0].code is ErrorCode.UNKNOWN_SERVER_ERROR
        assert host.fatal is host.errors[0]
        assert host.member.state == "failed"
        assert host.held_back == host.owned()


@async_test
async def test_who_leaves_when_the_group_has_just_gathered_commits_with_the_new_generation(
    broker: Broker, group: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer to its JoinGroup is on the way: a commit of the old generation would not count any more."""
    async with members(broker, group, 2, COOPERATIVE) as (one, two):
        await until(shared([one, two]))
        assert isinstance(one.member, ClassicMembership)
        assert one.commits is not None
        assert two.commits is not None
        answered, arrives = asyncio.Event(), asyncio.Event()
        ask = one.member._coordinator.ask

        async def late(request: Any, **how: Any) -> Any:
            answer = await ask(request, **how)
            if isinstance(request, JoinGroupRequest):
                answered.set()
                await arrives.wait()
            return answer

        monkeypatch.setattr(one.member._coordinator, "ask", late)
        tp = min(one.owned())
        one.positions[tp] = 7
        one.member._rejoin("to be between two generations")
        await answered.wait()
        leaving = asyncio.create_task(one.leave())
        await until(lambda: isinstance(one.member, ClassicMembership) and one.member._ending)
        arrives.set()
        await leaving
        assert one.words()[-1] == "revoke"
        two.commits.member = None
        assert (await two.commits.committed([tp]))[tp] == OffsetAndMetadata(7, -1)
