"""`client.rack` and the closest replica (KIP-392), and fetch sessions (KIP-227), as the brokers see them."""

from __future__ import annotations

import asyncio
from typing import Any

from support.consumers import of
from support.fake_cluster import TOPIC, FakeCluster
from tidelog.aio import Consumer
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import MetadataResponse

TP = TopicPartition(TOPIC, 0)
SETTINGS = {"auto.offset.reset": "earliest", "retry.backoff.ms": 1, "fetch.max.wait.ms": 10}


class Leader(FakeCluster):
    """Leads the partition, and sends whoever is in the rack "here" to the follower."""

    follower: Follower

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        answer = super()._handle(header, request)
        if header.api_key == ApiKey.METADATA:
            answer.brokers += [
                MetadataResponse.MetadataResponseBroker(node_id=2, host="127.0.0.1", port=self.follower.port)
            ]
        if header.api_key == ApiKey.FETCH and request.rack_id == "here":
            for topic in answer.responses:
                for data in topic.partitions:
                    data.preferred_read_replica, data.records = 2, b""
        return answer


class Follower(FakeCluster):
    """Has the same records, and serves fetches only."""

    def __init__(self, leader: Leader) -> None:
        super().__init__()
        self.logs, self.ends, self.sessions = leader.logs, leader.ends, False


async def read(rack: str) -> tuple[Leader, Follower, list[bytes]]:
    """Three records, read one after the other: the brokers and what came."""
    leader = Leader()
    leader.sessions = False
    found: list[bytes] = []
    async with leader, Follower(leader) as follower:
        assert isinstance(follower, Follower)
        leader.follower = follower
        async with Consumer({"bootstrap.servers": leader.address, "client.rack": rack, **SETTINGS}) as consumer:
            await consumer.assign([TP])
            for letter in "abc":
                leader.append(0, of(letter))
                while len(found) < "abc".index(letter) + 1:
                    found += [record.value for record in await consumer.poll(10)]
    return leader, follower, found


def test_the_replica_in_our_rack_is_read() -> None:
    leader, follower, found = asyncio.run(read("here"))
    assert found == [b"a", b"b", b"c"]
    assert len(leader.asked(ApiKey.FETCH)) <= 2  # on each of the two connections; from then on it is left in peace
    fetches = follower.asked(ApiKey.FETCH)
    assert {part.fetch_offset for fetch in fetches for topic in fetch.topics for part in topic.partitions} >= {0, 1, 2}


def test_in_no_rack_the_leader_is_read() -> None:
    leader, follower, found = asyncio.run(read(""))
    assert found == [b"a", b"b", b"c"]
    assert leader.asked(ApiKey.FETCH)
    assert not follower.asked(ApiKey.FETCH)


def test_a_session_is_told_only_what_has_changed() -> None:
    """Three partitions are named once; later fetches name the one that moved, under the session's number."""

    async def main() -> None:
        async with FakeCluster(3) as cluster:
            assert isinstance(cluster, FakeCluster)
            async with Consumer({"bootstrap.servers": cluster.address, **SETTINGS}) as consumer:
                await consumer.assign([TopicPartition(TOPIC, number) for number in range(3)])
                count = 0
                while count < 5:
                    cluster.append(1, of("x"))
                    count += len(await consumer.poll(10))
            later = [fetch for fetch in cluster.asked(ApiKey.FETCH) if fetch.session_epoch > 0]
            assert later
            assert {fetch.session_id for fetch in later} == {77}
            named = [part.partition for fetch in later for topic in fetch.topics for part in topic.partitions]
            assert len(named) < 3 * len(later)
            assert set(named) >= {1}

    asyncio.run(main())
