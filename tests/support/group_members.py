"""Members of groups, by bare heartbeats: for tests that need a group of a certain type to be there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from support.patience import eventually
from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.protocol import messages

MEMBER = "AAAAAAAAAAAAAAAAAAAAQA"
T = TypeVar("T")


def on_cluster(address: str, work: Callable[[ClusterClient], Awaitable[T]]) -> T:
    """Do something with a bare cluster client."""

    async def main() -> T:
        async with ClusterClient({"bootstrap.servers": address}) as cluster:
            return await work(cluster)

    return asyncio.run(main())


def _heartbeat(address: str, group: str, request: Any) -> Any:
    return on_cluster(address, lambda cluster: cluster.ask_coordinator(CoordinatorType.GROUP, group, request))


def join_consumer(address: str, group: str, topic: str) -> None:
    """A member of a KIP-848 group with an assignment, until it leaves or its session ends. Kafka may share out the
    partitions some time after the first heartbeat.
    """
    Heartbeat = messages.ConsumerGroupHeartbeatRequest
    joined = _heartbeat(
        address,
        group,
        Heartbeat(
            group_id=group,
            member_id=MEMBER,
            member_epoch=0,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[topic],
            topic_partitions=[],
        ),
    )

    def beat() -> Any:
        nonlocal joined
        if not _assigned(joined):
            epoch = joined.member_epoch
            joined = _heartbeat(address, group, Heartbeat(group_id=group, member_id=MEMBER, member_epoch=epoch))
        return joined

    eventually(beat, _assigned)


def _assigned(response: Any) -> bool:
    return response.assignment is not None and bool(response.assignment.topic_partitions)


def leave_consumer(address: str, group: str) -> None:
    _heartbeat(
        address, group, messages.ConsumerGroupHeartbeatRequest(group_id=group, member_id=MEMBER, member_epoch=-1)
    )


def join_share(address: str, group: str, topic: str) -> None:
    request = messages.ShareGroupHeartbeatRequest(
        group_id=group, member_id=MEMBER, member_epoch=0, subscribed_topic_names=[topic]
    )
    _heartbeat(address, group, request)


def leave_share(address: str, group: str) -> None:
    _heartbeat(address, group, messages.ShareGroupHeartbeatRequest(group_id=group, member_id=MEMBER, member_epoch=-1))


def join_streams(address: str, group: str, topic: str) -> None:
    """A member of a streams group with one subtopology that reads the topic."""
    Heartbeat = messages.StreamsGroupHeartbeatRequest
    part = Heartbeat.Subtopology(subtopology_id="0", source_topics=[topic])
    request = Heartbeat(
        group_id=group,
        member_id=MEMBER,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        topology=Heartbeat.Topology(epoch=0, subtopologies=[part]),
        active_tasks=[],
        standby_tasks=[],
        warmup_tasks=[],
        process_id="process-1",
        client_tags=[Heartbeat.KeyValue(key="zone", value="north")],
    )
    _heartbeat(address, group, request)


def leave_streams(address: str, group: str) -> None:
    _heartbeat(address, group, messages.StreamsGroupHeartbeatRequest(group_id=group, member_id=MEMBER, member_epoch=-1))
