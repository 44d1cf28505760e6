"""Replicas as one leader sees them: 004 多副本机制, 分区的偏移量, Producer, 副本/AR ISR OSR. Several brokers: later."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.wire import batch, connected, produce_request, run, serving
from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.isr import RemoteReplica, high_watermark, lagging, may_join
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.records.format.batch import iter_batches


def test_the_high_watermark_is_the_least_end_in_the_isr() -> None:
    """004 分区的偏移量: each replica has its LEO; the least one of the ISR is the HW (not of the OSR)."""
    followers = {2: RemoteReplica(log_end_offset=7), 3: RemoteReplica(log_end_offset=4), 4: RemoteReplica(1)}
    assert high_watermark(9, {1, 2, 3}, followers) == 4
    assert high_watermark(9, {1, 2}, followers) == 7
    assert high_watermark(9, {1}, followers) == 9


def test_a_replica_that_lags_too_long_leaves_the_isr_and_returns_when_it_caught_up() -> None:
    """004 AR ISR OSR: `in sync` means not behind for longer than a time that can be set; AR = ISR + OSR."""
    assigned, isr = {1, 2, 3}, {1, 2, 3}
    followers = {2: RemoteReplica(log_end_offset=10, caught_up_at=5.0), 3: RemoteReplica(6, caught_up_at=5.0)}
    isr -= lagging(isr, followers, leader_end=10, now=40.0, max_lag_seconds=30.0)
    out_of_sync = assigned - isr
    assert (isr, out_of_sync) == ({1, 2}, {3})
    assert not may_join(followers[3], hw=10, epoch_start=0)
    followers[3].on_fetch(10, 0, leader_end=10, now=41.0)
    assert may_join(followers[3], hw=10, epoch_start=0)


def test_consumers_read_below_the_high_watermark_only(tmp_path: Path) -> None:
    """004 分区的偏移量: LEO is where the next message goes; a consumer gets what is before the HW, not at it."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as follower:
            broker.create_topic("t", replicas=(1, 2), isr=(1, 2))
            for value in (b"0", b"1", b"2"):
                await client.produce("t", batch(value), acks=1)
            log = broker.replicas.topic("t")[0].log
            assert (log.log_end_offset, log.high_watermark) == (3, 0)

            async def visible() -> list[bytes | None]:
                data = (await client.fetch("t")).responses[0].partitions[0].records
                return [record.value for part in iter_batches(data) for record in part.records()]

            assert await visible() == []
            await follower.fetch("t", 2, replica_id=2)
            assert log.high_watermark == 2
            assert await visible() == [b"0", b"1"]

    run(main())


def test_followers_pull_and_only_then_is_a_producer_answered(tmp_path: Path) -> None:
    """004 Producer: the leader writes, followers pull, and when all of the ISR have it the HW rises and it acks."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client, connected(broker) as follower:
            broker.create_topic("t", replicas=(1, 2), isr=(1, 2))
            await follower.fetch("t", 0, replica_id=2)
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"a")}}, acks=-1))
            pulled = await follower.fetch("t", 0, replica_id=2, max_wait_ms=5000)
            assert pulled.responses[0].partitions[0].records
            log = broker.replicas.topic("t")[0].log
            assert (log.log_end_offset, log.high_watermark, len(broker.purgatories.produce)) == (1, 0, 1)
            await follower.fetch("t", 1, replica_id=2)
            part = (await client.receive(ApiKey.PRODUCE, 9)).responses[0].partition_responses[0]
            assert (part.error_code, part.base_offset, log.high_watermark) == (0, 0, 1)

    run(main())


def test_only_the_leader_serves(tmp_path: Path) -> None:
    """004 副本: reads and writes are the leader's; a follower serves nobody."""

    async def main() -> None:
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", leader=2, replicas=(1, 2), isr=(1, 2))
            assert (await client.produce("t", batch(b"a"))).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            part = (await client.fetch("t")).responses[0].partitions[0]
            assert part.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    run(main())


@pytest.mark.parametrize(
    ("isr", "unclean", "leader"),
    [
        pytest.param((1, 3), False, 3, id="from the ISR"),
        pytest.param((1,), False, -1, id="nobody else in sync"),
        pytest.param((1,), True, 2, id="unless out-of-sync replicas are allowed"),
    ],
)
def test_a_new_leader_comes_from_the_isr(isr: tuple[int, ...], unclean: bool, leader: int) -> None:
    """004 AR ISR OSR: when the leader fails, only a replica of the ISR may lead, unless a setting allows others."""
    state = PartitionState("t", 0, bytes(16), 1, 3, isr, (1, 2, 3))
    reason = Reason.UNCLEAN if unclean else Reason.OFFLINE
    assert elect(state, reason, {2, 3}, controller_epoch=1).leader == leader
