"""A leader's wishes for its in-sync set: granted, refused, and what counts meanwhile."""

from __future__ import annotations

import asyncio

from support.appending import append
from support.loop import async_test, until
from support.wire import batch, connected, run, serving
from tidelog.broker.store.errors import StoreLostError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)


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


class SlowController:
    """Answers a wish when the test says so, and how."""

    def __init__(self):
        self.wishes = []

    async def __call__(self, tp, *, leader_epoch, isr, partition_epoch):
        answer = asyncio.get_running_loop().create_future()
        self.wishes.append((isr, answer))
        return await answer


@async_test
async def test_a_wish_that_is_granted_too_late_makes_nobody_lead_again(tmp_path):
    """The replica is given up, and its log deleted, while the controller writes."""
    async with serving(tmp_path) as broker:
        broker.controller = controller = SlowController()
        broker.create_topic("t", replicas=(1, 2), isr=(1,))
        partition = broker.replicas.partition(TP)
        broker.replicas.on_follower_fetch(partition, 2, 0, 0)
        await asyncio.sleep(0)
        ((isr, answer),) = controller.wishes
        broker.replicas.stop_replicas([TP], delete=True)
        answer.set_result(broker.metadata.partition(TP)._replace(isr=isr, partition_epoch=1))
        await until(lambda: not broker.replicas._isr_changes._tasks)
        assert not partition.is_leader
        assert partition.committed(0) is ErrorCode.NOT_LEADER_OR_FOLLOWER


@async_test
async def test_a_late_answer_does_not_end_the_wish_after_it(tmp_path):
    """The controller has changed the partition meanwhile, and the leader wishes anew: the larger set still counts."""
    async with serving(tmp_path) as broker:
        broker.controller = controller = SlowController()
        broker.create_topic("t", replicas=(1, 2), isr=(1,))
        partition = broker.replicas.partition(TP)
        broker.replicas.on_follower_fetch(partition, 2, 0, 0)
        changed = broker.metadata.partition(TP)._replace(partition_epoch=1)
        assert not broker.replicas.apply_leader_and_isr([changed])
        broker.replicas.on_follower_fetch(partition, 2, 0, 0)
        await asyncio.sleep(0)
        (_, first), (isr, second) = controller.wishes
        first.set_exception(KafkaError(ErrorCode.INVALID_UPDATE_VERSION))
        await until(lambda: len(broker.replicas._isr_changes._tasks) == 1)
        assert partition.leading.pending_isr is isr
        await append(broker.replicas, TP, batch(b"a"), acks=1)
        assert partition.log.high_watermark == 0
        second.set_result(changed._replace(isr=isr, partition_epoch=2))
        await until(lambda: partition.isr == (1, 2))
        assert partition.leading.pending_isr is None
        assert partition.log.high_watermark == 0


@async_test
async def test_a_controller_whose_store_fails_has_refused(tmp_path, caplog):
    async with serving(tmp_path) as broker:
        broker.controller = controller = SlowController()
        broker.create_topic("t", replicas=(1, 2), isr=(1,))
        partition = broker.replicas.partition(TP)
        broker.replicas.on_follower_fetch(partition, 2, 0, 0)
        await asyncio.sleep(0)
        controller.wishes[0][1].set_exception(StoreLostError("/store"))
        await until(lambda: partition.leading.pending_isr is None)
        assert partition.isr == (1,)
    assert "refused the in-sync replicas (1, 2)" in caplog.text
