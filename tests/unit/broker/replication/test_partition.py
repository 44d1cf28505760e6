"""Roles, the high watermark, and a disk that fails."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from support.appending import append
from support.loop import until
from support.wire import batch, connected, run, serving
from tidelog.broker.replication.isr import RemoteReplica, high_watermark, lagging, may_join
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.types import TopicPartition
from tidelog.log.partition.partition_log import PartitionLog

TP = TopicPartition("t", 0)


@given(
    leader=st.integers(0, 100),
    ends=st.dictionaries(st.integers(2, 6), st.integers(-1, 100), max_size=5),
    isr=st.sets(st.integers(1, 6)),
)
def test_the_high_watermark_is_what_every_in_sync_replica_has(leader, ends, isr):
    followers = {node: RemoteReplica(log_end_offset=end) for node, end in ends.items()}
    hw = high_watermark(leader, isr, followers)
    assert hw <= leader
    assert all(hw <= ends[node] for node in isr if node in ends)
    assert hw == leader or hw in ends.values()


def test_followers_join_and_fall_behind():
    follower = RemoteReplica(caught_up_at=0.0)
    follower.on_fetch(5, 0, leader_end=10, now=1.0)
    assert not may_join(follower, hw=8, epoch_start=0)
    assert lagging({2}, {2: follower}, 10, now=31.0, max_lag_seconds=30.0) == {2}
    follower.on_fetch(10, 0, leader_end=12, now=2.0)  # has what the leader had at its previous fetch
    assert follower.caught_up_at == 1.0
    follower.on_fetch(12, 0, leader_end=12, now=3.0)
    assert follower.caught_up_at == 3.0
    assert may_join(follower, hw=12, epoch_start=11)
    assert lagging({2}, {2: follower}, 12, now=99.0, max_lag_seconds=30.0) == set()
    assert lagging({2}, {2: follower}, 13, now=34.0, max_lag_seconds=30.0) == {2}


def test_leadership_comes_and_goes(tmp_path):
    async def main():
        async with serving(tmp_path) as broker:
            told = []
            broker.replicas.on_leadership(lambda tp, epoch: told.append((tp, epoch)))
            broker.create_topic("t", leader_epoch=3)
            broker.create_topic("t", leader_epoch=3)
            assert told == [(TP, 3)]
            broker.create_topic("t", leader=2, leader_epoch=4, replicas=(1, 2), isr=(1, 2))
            assert broker.replicas.leader_or_error(TP) == ErrorCode.NOT_LEADER_OR_FOLLOWER
            broker.create_topic("t", leader=1, leader_epoch=5, replicas=(1, 2), isr=(1,))
            assert told[1:] == [(TP, None), (TP, 5)]
            assert broker.replicas.hosted("t") == [TP]
            broker.replicas.stop_replicas([TP], delete=True)
            assert told[-1] == (TP, None)
            assert broker.replicas.partition(TP) is None
            assert broker.log_manager.get(TP) is None

    run(main())


def test_watchers_hear_of_the_high_watermark(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            heard = []
            stop = broker.replicas.on_high_watermark(TP, heard.append)
            await client.produce("t", batch(b"a", b"b"))
            stop()
            await client.produce("t", batch(b"c"))
            assert heard == [2]

    run(main())


def test_coordinators_append_and_read_back(tmp_path):
    async def main():
        async with serving(tmp_path) as broker:
            broker.create_topic("t")
            for number in range(5):
                info = await append(broker.replicas, TP, batch(b"%d" % number, bytes(300_000)))
                assert info.first_offset == 2 * number
            chunks = list(broker.replicas.read_committed_batches(TP))
            assert sum(map(len, chunks)) == broker.log_manager.get(TP).size
            assert list(broker.replicas.read_committed_batches(TP, start=10)) == []

    run(main())


def test_a_failing_disk_takes_its_partitions_offline(tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise StorageError("the disk is full") from OSError(28, "No space left on device")

    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            assert (await client.produce("t", batch(b"a"))).error_code == 0
            monkeypatch.setattr(PartitionLog, "append_as_leader", fail)
            assert (await client.produce("t", batch(b"b"))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert (await client.fetch("t")).responses[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR

    run(main())


class Controller:
    """Takes every wish, or refuses them all."""

    def __init__(self, broker):
        self.broker = broker
        self.wishes = []
        self.refuses = False

    async def __call__(self, tp, *, leader_epoch, isr, partition_epoch):
        self.wishes.append(isr)
        if self.refuses:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
        state = self.broker.metadata.partition(tp)
        return state._replace(isr=isr, leader_epoch=leader_epoch, partition_epoch=partition_epoch + 1)


def test_a_follower_that_catches_up_joins_and_one_that_falls_behind_leaves(tmp_path):
    async def main():
        async with serving(tmp_path, {"replica.lag.time.max.ms": "400"}) as broker, connected(broker) as client:
            broker.controller = Controller(broker)
            broker.create_topic("t", replicas=(1, 2), isr=(1,))
            await client.produce("t", batch(b"a"))
            partition = broker.replicas.partition(TP)
            await client.fetch("t", 0, replica_id=2)
            assert partition.isr == (1,)
            await client.fetch("t", 1, replica_id=2)
            await asyncio.sleep(0)
            assert partition.isr == (1, 2)
            assert partition.partition_epoch == 1
            await client.produce("t", batch(b"b"))
            assert partition.log.high_watermark == 1
            await until(lambda: partition.isr == (1,))
            assert partition.log.high_watermark == 2
            assert broker.controller.wishes == [(1, 2), (1,)]

    run(main())


def test_while_a_wish_is_open_the_larger_set_counts(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.controller = Controller(broker)
            broker.controller.refuses = True
            broker.create_topic("t", replicas=(1, 2), isr=(1,))
            partition = broker.replicas.partition(TP)
            broker.replicas.on_follower_fetch(partition, 2, 0, 0)
            assert partition.leading.pending_isr == (1, 2)
            await append(broker.replicas, TP, batch(b"a"), acks=1)
            assert partition.log.high_watermark == 0
            await asyncio.sleep(0)
            assert partition.leading.pending_isr is None
            assert partition.isr == (1,)
            await client.produce("t", batch(b"b"))
            assert partition.log.high_watermark == 2

    run(main())
