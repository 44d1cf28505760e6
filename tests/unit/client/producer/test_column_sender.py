"""Batches that wait together share requests; each gets its own answer, and those of one partition keep their order."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.client.producer.column_sender import Departure, Sender, _loads
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.protocol.messages import ProduceResponse


class Node:
    """A broker that keeps what it is sent, and answers when `open` is set."""

    def __init__(self) -> None:
        self.requests: list[list[tuple[TP, bytes]]] = []
        self.errors: dict[TP, ErrorCode] = {}
        self.silent: set[TP] = set()
        self.failure: Exception | None = None
        self.open = asyncio.Event()
        self.open.set()

    async def send(self, request: Any, *, highest: int, answered: bool) -> ProduceResponse | None:
        parts = [(topic.name, part) for topic in request.topic_data for part in topic.partition_data]
        self.requests.append([(TP(name, part.index), bytes(part.records.data)) for name, part in parts])
        await self.open.wait()
        if self.failure is not None:
            raise self.failure
        if not answered:
            return None
        responses = [
            ProduceResponse.TopicProduceResponse(
                name=name,
                partition_responses=[
                    ProduceResponse.PartitionProduceResponse(
                        index=part.index,
                        error_code=self.errors.get(TP(name, part.index), 0),
                        base_offset=len(self.requests),
                    )
                ],
            )
            for name, part in parts
            if TP(name, part.index) not in self.silent
        ]
        return ProduceResponse(responses=responses)


class Cluster:
    """Partition 9 has no leader; broker 2 leads the others from 5 on, broker 1 the rest."""

    def __init__(self) -> None:
        self.nodes = {1: Node(), 2: Node()}
        self.reachable = {1: asyncio.Event(), 2: asyncio.Event()}
        for event in self.reachable.values():
            event.set()
        self.stale: list[str] = []
        self.metadata = SimpleNamespace(leader=self._leader, mark_stale=self.stale.extend)

    async def ensure_topics(self, topics: Any) -> None:
        if "nowhere" in topics:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION)

    def _leader(self, tp: TP) -> Any:
        if tp.partition == 9:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        return SimpleNamespace(id=2 if tp.partition >= 5 else 1)

    async def node(self, number: int) -> Node:
        await self.reachable[number].wait()
        return self.nodes[number]


def sender(cluster: Cluster, *, acks: int = -1, max_bytes: int = 100) -> Sender:
    return Sender(cluster, transactional_id=None, acks=acks, timeout_ms=1000, max_bytes=max_bytes)  # type: ignore[arg-type]


def scenario(test: Any) -> Any:
    def run() -> None:
        async def main() -> None:
            await asyncio.wait_for(test(Cluster()), 60)

        asyncio.run(main())

    run.__name__ = test.__name__
    return run


def tp(number: int, topic: str = "t") -> TP:
    return TP(topic, number)


@scenario
async def test_batches_of_several_partitions_share_requests(cluster: Cluster) -> None:
    one = sender(cluster)
    names = ["a0", "b0", "a1", "b1", "a2"]
    written = [one.write(tp(0 if name[0] == "a" else 1), memoryview(name.encode())) for name in names]
    assert await asyncio.gather(*written) == [1, 1, 2, 2, 3]
    assert [[data for _, data in request] for request in cluster.nodes[1].requests] == [
        [b"a0", b"b0"],
        [b"a1", b"b1"],
        [b"a2"],
    ]
    assert cluster.nodes[2].requests == []


@scenario
async def test_a_request_holds_no_more_than_it_may(cluster: Cluster) -> None:
    one = sender(cluster, max_bytes=10)
    written = [one.write(tp(number), memoryview(bytes(size))) for number, size in enumerate([6, 6, 4, 50])]
    await asyncio.gather(*written)
    sizes = [[len(data) for _, data in request] for request in cluster.nodes[1].requests]
    assert sizes == [[6, 4], [6], [50]]


@scenario
async def test_each_leader_gets_its_own_and_an_unreachable_one_holds_nobody_back(cluster: Cluster) -> None:
    cluster.reachable[1].clear()
    one = sender(cluster)
    first = one.write(tp(0), memoryview(b"first"))
    assert await one.write(tp(5), memoryview(b"there")) == 1
    second = one.write(tp(0), memoryview(b"second"))
    await asyncio.sleep(0.01)
    assert cluster.nodes[1].requests == []
    cluster.reachable[1].set()
    await asyncio.gather(first, second)
    assert [data for request in cluster.nodes[1].requests for _, data in request] == [b"first", b"second"]


@scenario
async def test_what_goes_wrong_with_one_partition_is_not_told_to_another(cluster: Cluster) -> None:
    one = sender(cluster)
    node = cluster.nodes[1]
    node.errors[tp(1)] = ErrorCode.NOT_LEADER_OR_FOLLOWER
    node.errors[tp(2)] = ErrorCode.INVALID_RECORD
    node.silent.add(tp(3))
    written = [one.write(tp(number), memoryview(b"x")) for number in (0, 1, 2, 3, 9)]
    results = await asyncio.gather(*written, return_exceptions=True)
    assert results[0] == 1
    assert [error.code for error in results[1:]] == [
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.INVALID_RECORD,
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.LEADER_NOT_AVAILABLE,
    ]
    assert cluster.stale == ["t", "t"], "of the leader that was none, and of the one that is not known"


@pytest.mark.parametrize(
    "failure", [KafkaError(ErrorCode.NETWORK_EXCEPTION), ZeroDivisionError("a bug")], ids=["lost", "bug"]
)
def test_a_request_that_fails_as_a_whole(failure: Exception) -> None:
    @scenario
    async def run(cluster: Cluster) -> None:
        cluster.nodes[1].failure = failure
        one = sender(cluster)
        written = [one.write(tp(number), memoryview(b"x")) for number in (0, 1)]
        assert await asyncio.gather(*written, return_exceptions=True) == [failure, failure]

    run()


@scenario
async def test_an_answer_that_cannot_be_read_is_told(cluster: Cluster) -> None:
    cluster.nodes[1].errors[tp(0)] = "not a number"  # type: ignore[assignment]
    with pytest.raises(ValueError, match="not a number"):
        await sender(cluster).write(tp(0), memoryview(b"x"))


@scenario
async def test_metadata_that_cannot_be_had_fails_what_waits_and_nothing_else(cluster: Cluster) -> None:
    one = sender(cluster)
    with pytest.raises(KafkaError, match="NETWORK_EXCEPTION"):
        await one.write(tp(0, "nowhere"), memoryview(b"x"))
    assert await one.write(tp(0), memoryview(b"x")) == 1


@scenario
async def test_what_nobody_waits_for_any_more_is_not_sent(cluster: Cluster) -> None:
    cluster.reachable[1].clear()
    one = sender(cluster)
    given_up, wanted = one.write(tp(0), memoryview(b"old")), one.write(tp(1), memoryview(b"new"))
    await asyncio.sleep(0)
    given_up.cancel()
    cluster.reachable[1].set()
    await wanted
    assert cluster.nodes[1].requests == [[(tp(1), b"new")]]


@scenario
async def test_without_acks_there_is_no_offset(cluster: Cluster) -> None:
    assert await sender(cluster, acks=0).write(tp(0), memoryview(b"x")) == -1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 30)), max_size=60), st.integers(1, 60))
def test_loads_hold_everything_once_in_order_and_within_the_limit(
    batches: list[tuple[int, int]], max_bytes: int
) -> None:
    given_ = [Departure(tp(partition), memoryview(bytes(size)), None) for partition, size in batches]  # type: ignore[arg-type]
    loads = _loads(given_, max_bytes)
    for load in loads:
        assert load, "an empty request"
        assert len({one.topic_partition for one in load}) == len(load)
        assert len(load) == 1 or sum(len(one.data) for one in load) <= max_bytes
    for partition in range(6):
        mine = [one for one in given_ if one.topic_partition.partition == partition]
        sent = [one for load in loads for one in load if one.topic_partition.partition == partition]
        assert [id(one) for one in mine] == [id(one) for one in sent]
