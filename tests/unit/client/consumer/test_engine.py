"""What a consumer asks brokers for, and what it does with strange answers: against a fake cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.consumers import of
from support.fake_cluster import TOPIC, FakeCluster
from tidelog.client.consumer.aio import Consumer
from tidelog.client.consumer.errors import LogTruncationError, TopicRecreatedError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import FetchResponse, OffsetForLeaderEpochResponse

TP = TopicPartition(TOPIC, 0)
FAST = {"retry.backoff.ms": 1, "retry.backoff.max.ms": 5, "request.timeout.ms": 2000, "auto.offset.reset": "earliest"}


class Cluster(FakeCluster):
    """Answers OffsetForLeaderEpoch from `epoch_ends`, and fetches as `change` makes them."""

    def __init__(self, partitions: int = 1) -> None:
        super().__init__(partitions)
        self.sessions = False  # it has one for all connections, and a consumer has two
        self.epoch_ends: dict[int, int] = {}
        self.elections = 0  # as many times the next leader is elected while the last one is asked for its epochs
        self.change: Callable[[Any, Any], None] = lambda request, response: None

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        if header.api_key == ApiKey.OFFSET_FOR_LEADER_EPOCH:
            asked = request.topics[0].partitions[0]
            end = self.epoch_ends.get(asked.leader_epoch, -1)
            if self.elections:
                self.elections -= 1
                self.leader_epoch += 1
            fenced = asked.current_leader_epoch != self.leader_epoch
            entry = OffsetForLeaderEpochResponse.EpochEndOffset(
                error_code=ErrorCode.FENCED_LEADER_EPOCH if fenced else 0,
                partition=asked.partition,
                leader_epoch=asked.leader_epoch if end >= 0 else -1,
                end_offset=end,
            )
            Topic = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
            return OffsetForLeaderEpochResponse(topics=[Topic(topic=TOPIC, partitions=[entry])])
        response = super()._handle(header, request)
        if header.api_key == ApiKey.FETCH:
            self.change(request, response)
        return response

    def fetched(self) -> list[Any]:
        return self.asked(ApiKey.FETCH)


def run(scenario: Callable[[Cluster, Consumer], Awaitable[None]], partitions: int = 1, **settings: object) -> None:
    async def main() -> None:
        async with Cluster(partitions) as cluster:
            given = {"bootstrap.servers": cluster.address, **FAST}
            given |= {name.replace("_", "."): value for name, value in settings.items()}
            async with Consumer(given) as consumer:
                await scenario(cluster, consumer)

    asyncio.run(main())


async def take(consumer: Consumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    while len(found) < count:
        found += [record.value for record in await consumer.poll(10)]
    return found


async def poll_on(consumer: Consumer) -> None:
    while True:
        await consumer.poll(0.05)


def test_a_fetch_says_what_the_settings_say() -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        await consumer.assign([TP])
        await take(consumer, 1)
        for fetch in cluster.fetched():
            assert (fetch.min_bytes, fetch.max_bytes, fetch.max_wait_ms) == (7, 5000, 321)
            assert (fetch.isolation_level, fetch.rack_id) == (1, "here")
        assert cluster.fetched()[0].topics[0].partitions[0].partition_max_bytes == 777

    run(
        scenario,
        fetch_min_bytes=7,
        fetch_max_bytes=5000,
        fetch_max_wait_ms=321,
        max_partition_fetch_bytes=777,
        isolation_level="read_committed",
        client_rack="here",
    )


def test_what_is_there_is_asked_for_without_waiting_and_what_is_to_come_with_it() -> None:
    """Two connections: a partition that has more must not wait behind one that is at its end."""

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        cluster.append(1, of("b", "c"))
        await consumer.assign([TP, TopicPartition(TOPIC, 1)])
        await take(consumer, 3)
        while not any(fetch.max_wait_ms == 400 for fetch in cluster.fetched()):
            await consumer.poll(0.01)
        assert cluster.fetched()[0].max_wait_ms == 0

    run(scenario, 2, fetch_max_wait_ms=400)


def test_no_more_is_asked_for_than_may_be_buffered() -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        for number in range(100):
            cluster.append(0, of(f"{number:0100}"))
        await consumer.assign([TP])
        assert len(await consumer.poll(10, max_records=1)) == 1
        for _ in range(50):
            await asyncio.sleep(0)
        asked = [fetch.topics[0].partitions[0].fetch_offset for fetch in cluster.fetched() if fetch.topics]
        assert max(asked) < 20
        assert len(await take(consumer, 99)) == 99

    run(scenario, max_partition_fetch_bytes=1000)


def test_the_next_answer_is_asked_for_while_a_full_one_waits() -> None:
    """Answers of a busy partition are as large as was asked for: one that waits must not keep the next one away."""
    size = len(of("0"))

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        for number in range(8):
            cluster.append(0, of(str(number)))
        await consumer.assign([TP])
        assert len(await consumer.poll(10, max_records=1)) == 1
        for _ in range(50):
            await asyncio.sleep(0)
        asked = [fetch.topics[0].partitions[0].fetch_offset for fetch in cluster.fetched() if fetch.topics]
        assert sorted(set(asked)) == [0, 2]
        assert len(await take(consumer, 7)) == 7

    run(scenario, max_partition_fetch_bytes=2 * size)


@pytest.mark.parametrize("columns", [False, True])
def test_what_is_sound_before_a_broken_batch_is_handed_out(columns: bool) -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        async def values() -> list[bytes | None]:
            if columns:
                found: list[bytes | None] = (await consumer.poll_arrow(10))["value"].to_pylist()
                return found
            return [record.value for record in await consumer.poll(10)]

        cluster.append(0, of("a"))
        broken = len(cluster.logs[0]) + 17
        cluster.append(0, of("b"))
        cluster.append(0, of("c"))
        cluster.logs[0][broken] ^= 0xFF
        cluster.epoch_ends = dict.fromkeys((0, cluster.leader_epoch), 3)
        await consumer.assign([TP])
        assert await values() == [b"a"]
        with pytest.raises(KafkaError, match="t-0 from offset") as caught:
            await values()
        assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
        cluster.logs[0][broken] ^= 0xFF
        assert await values() == [b"b", b"c"]

    run(scenario)


@pytest.mark.parametrize("check", [True, False])
def test_checksums_are_checked_unless_told_otherwise(check: bool) -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        cluster.logs[0][17] ^= 0xFF
        await consumer.assign([TP])
        if check:
            with pytest.raises(KafkaError, match="t-0 from offset 0") as caught:
                await consumer.poll(10)
            assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
            cluster.logs[0][17] ^= 0xFF
        assert await take(consumer, 1) == [b"a"]

    run(scenario, check_crcs=check)


def test_errors_that_pass_are_not_seen() -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        cluster.fail = {
            ApiKey.FETCH: [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH],
            ApiKey.LIST_OFFSETS: [ErrorCode.LEADER_NOT_AVAILABLE],
        }
        await consumer.assign([TP])
        assert await take(consumer, 1) == [b"a"]

    run(scenario)


def test_a_wait_that_ends_while_others_are_asked_is_not_forgotten() -> None:
    """It was one when we looked, and is none when the next look is planned: who would look again?"""

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        await consumer.assign([TP])
        assert not await consumer.poll(0.01)
        core = consumer._core
        looked = core.clock.monotonic()
        (part,) = core.subscription.partitions.values()
        part.blocked_until = core.clock.monotonic()
        assert looked < part.blocked_until
        assert core.engine._until_next(looked) == 0.001
        assert core.engine._until_next(core.clock.monotonic()) > 1

    run(scenario)


def test_errors_that_do_not_pass_are_raised_from_poll() -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        cluster.fail = {ApiKey.FETCH: [ErrorCode.TOPIC_AUTHORIZATION_FAILED]}
        await consumer.assign([TP])
        with pytest.raises(KafkaError, match="Not authorized"):
            await consumer.poll(10)
        assert await take(consumer, 1) == [b"a"]

    run(scenario)


def test_the_nearer_replica_is_read_and_the_leader_when_that_fails() -> None:
    """KIP-392: the leader names a replica; here both are the same process, told apart by node id."""

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        named = 0

        def redirect(request: Any, response: FetchResponse) -> None:
            nonlocal named
            for topic in response.responses:
                for data in topic.partitions:
                    if not named:
                        named += 1
                        data.preferred_read_replica, data.records = 1, b""

        cluster.change = redirect
        await consumer.assign([TP])
        assert await take(consumer, 1) == [b"a"]
        part = consumer._core.subscription.partitions[TP]
        assert (named, part.replica) == (1, 1)
        cluster.fail = {ApiKey.FETCH: [ErrorCode.NOT_LEADER_OR_FOLLOWER]}
        cluster.append(0, of("b"))
        assert await take(consumer, 1) == [b"b"]
        assert part.replica == -1

    run(scenario, client_rack="here")


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_a_log_that_was_cut_by_an_election_is_noticed(reset: str) -> None:
    """KIP-320: the new leader's log ends epoch 0 at offset 1, and we have read up to 3."""

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        cluster.append(0, of("b", "c"))
        await consumer.assign([TP])
        if reset == "none":
            await consumer.seek(TP, 0)
        assert await take(consumer, 3) == [b"a", b"b", b"c"]
        del cluster.logs[0][len(of("a")) :]
        cluster.ends[0], cluster.leader_epoch, cluster.epoch_ends = 1, 1, {0: 1}
        cluster.append(0, of("other", "history", "here"))
        consumer._core.cluster.metadata.mark_stale([TOPIC])
        if reset == "none":
            with pytest.raises(LogTruncationError, match="differs from 1") as caught:
                await poll_on(consumer)
            assert (caught.value.offset, caught.value.divergent_offset) == (3, 1)
            await consumer.seek(TP, 1)
        assert await take(consumer, 3) == [b"other", b"history", b"here"]

    run(scenario, auto_offset_reset=reset, fetch_max_wait_ms=10)


def test_leaders_that_follow_each_other_quickly_hold_nobody_up() -> None:
    """A broker that restarts is elected more than once: what it is asked at an epoch may be refused for the next."""

    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("a"))
        await consumer.assign([TP])
        assert await take(consumer, 1) == [b"a"]
        cluster.leader_epoch, cluster.epoch_ends, cluster.elections = 1, {0: 1}, 2
        cluster.append(0, of("b"))
        consumer._core.cluster.metadata.mark_stale([TOPIC])
        async with asyncio.timeout(60):
            assert await take(consumer, 1) == [b"b"]
        assert (cluster.leader_epoch, cluster.elections) == (3, 0)

    run(scenario, fetch_max_wait_ms=10)


@pytest.mark.parametrize("reset", ["earliest", "none"])
def test_a_topic_that_was_made_anew_is_noticed(reset: str) -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.append(0, of("old", "topic"))
        await consumer.assign([TP])
        if reset == "none":
            await consumer.seek(TP, 0)
        await take(consumer, 2)
        cluster.topic_id, cluster.logs[0], cluster.ends[0] = b"N" * 16, bytearray(), 0
        cluster.append(0, of("new", "one", "here"))
        consumer._core.cluster.metadata.mark_stale([TOPIC])
        if reset == "none":
            with pytest.raises(TopicRecreatedError, match="made anew"):
                await poll_on(consumer)
            await consumer.seek(TP, 0)
        assert await take(consumer, 3) == [b"new", b"one", b"here"]

    run(scenario, auto_offset_reset=reset, fetch_max_wait_ms=10)


def test_a_lost_session_is_begun_anew() -> None:
    async def scenario(cluster: Cluster, consumer: Consumer) -> None:
        cluster.sessions = True
        await consumer.assign([TP])
        for number in range(3):
            cluster.append(0, of(str(number)))
            assert await take(consumer, 1) == [str(number).encode()]
            cluster.session.clear()
            cluster.fail = {ApiKey.FETCH: [ErrorCode.FETCH_SESSION_ID_NOT_FOUND]}

    run(scenario, fetch_max_wait_ms=10)
