"""A leader's wishes for its in-sync set: granted, refused, and what counts meanwhile."""

from __future__ import annotations

import asyncio

from support.appending import append
from support.loop import until
from support.wire import batch, connected, run, serving
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
