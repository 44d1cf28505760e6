"""Roles that come and go, and a disk that fails."""

from __future__ import annotations

from support.wire import batch, connected, run, serving
from tidelog.common.errors import ErrorCode, StorageError
from tidelog.common.types import TopicPartition
from tidelog.log.partition.partition_log import PartitionLog

TP = TopicPartition("t", 0)


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
