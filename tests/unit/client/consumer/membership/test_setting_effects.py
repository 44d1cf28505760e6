"""What the settings of a group say to its coordinator, and how often: the keys, as the coordinator sees them."""

from __future__ import annotations

import asyncio

from support.fake_group import FakeGroup
from support.group_host import FakeHost
from support.loop import async_test, until
from tidelog.protocol.api import ApiKey

CLASSIC = {
    "session.timeout.ms": 7_000,
    "max.poll.interval.ms": 8_000,
    "group.instance.id": "seat-7",
    "partition.assignment.strategy": ["roundrobin", "sticky"],
}
CONSUMER = {
    "group.protocol": "consumer",
    "max.poll.interval.ms": 8_000,
    "group.instance.id": "seat-7",
    "group.remote.assignor": "range",
    "client.rack": "here",
}


@async_test
async def test_a_classic_member_says_what_its_settings_say() -> None:
    async with FakeGroup() as group:
        host = FakeHost({"t"})
        await host.join(group.address, CLASSIC)
        await until(lambda: host.owned())
        join = group.requests(ApiKey.JOIN_GROUP)[-1]
        assert (join.session_timeout_ms, join.rebalance_timeout_ms) == (7_000, 8_000)
        assert join.group_instance_id == "seat-7"
        assert [protocol.name for protocol in join.protocols] == ["roundrobin", "sticky"]
        await host.leave()


@async_test
async def test_a_member_of_the_new_protocol_says_what_its_settings_say() -> None:
    async with FakeGroup() as group:
        host = FakeHost({"t"})
        await host.join(group.address, CONSUMER)
        await until(lambda: host.owned())
        first = group.requests(ApiKey.CONSUMER_GROUP_HEARTBEAT)[0]
        assert (first.rebalance_timeout_ms, first.instance_id) == (8_000, "seat-7")
        assert (first.server_assignor, first.rack_id) == ("range", "here")
        await host.leave()


@async_test
async def test_a_member_is_heard_of_as_often_as_it_is_told_to() -> None:
    """Two members, each of a group of its own, side by side: one has said something twenty times, the other nothing."""
    async with FakeGroup() as quick, FakeGroup() as slow:
        hosts = [FakeHost({"t"}), FakeHost({"t"})]
        await hosts[0].join(quick.address, {"heartbeat.interval.ms": 5})
        await hosts[1].join(slow.address, {"heartbeat.interval.ms": 3_600_000, "session.timeout.ms": 7_200_000})
        await until(lambda: all(host.owned() for host in hosts))
        await until(lambda: len(quick.requests(ApiKey.HEARTBEAT)) >= 20)
        assert not slow.requests(ApiKey.HEARTBEAT)
        await asyncio.gather(*(host.leave() for host in hosts))
