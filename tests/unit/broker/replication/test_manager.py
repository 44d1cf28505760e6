"""Roles as the controller gives them: late messages, messages that come twice, and those of another topic."""

from __future__ import annotations

from support.loop import async_test, until
from support.wire import batch, connected, serving
from tidelog.broker.metadata.images import PartitionState
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)
STATE = PartitionState("t", 0, bytes(range(16)), 1, 5, (1, 2), (1, 2), partition_epoch=7, is_new=True)


@async_test
async def test_a_message_may_come_twice(tmp_path):
    async with serving(tmp_path) as broker:
        told = []
        broker.replicas.on_leadership(lambda tp, epoch: told.append((tp, epoch)))
        for _ in range(2):
            assert broker.replicas.apply_leader_and_isr([STATE]) == {}
        assert told == [(TP, 5)]
        assert broker.replicas.partition(TP).isr == (1, 2)


@async_test
async def test_what_is_older_than_what_is_known_changes_nothing(tmp_path):
    async with serving(tmp_path) as broker, connected(broker) as client:
        broker.replicas.apply_leader_and_isr([STATE])
        partition = broker.replicas.partition(TP)
        for late in (
            STATE._replace(leader=2, leader_epoch=4, partition_epoch=6),
            STATE._replace(isr=(1,), partition_epoch=6),  # overtaken by the answer to a wish of the leader's
        ):
            assert broker.replicas.apply_leader_and_isr([late]) == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}
            assert (partition.is_leader, partition.isr, partition.partition_epoch) == (True, (1, 2), 7)
        assert (await client.produce("t", batch(b"a"))).error_code == 0
        broker.replicas.stop_replicas([TP], delete=False)
        assert broker.replicas.partition_or_error(TP) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@async_test
async def test_a_new_topic_does_not_take_over_the_log_of_one_that_is_still_hosted(tmp_path):
    """The message that it was deleted has not arrived."""
    async with serving(tmp_path) as broker:
        broker.replicas.apply_leader_and_isr([STATE])
        partition = broker.replicas.partition(TP)
        other = STATE._replace(topic_id=bytes(range(1, 17)), leader_epoch=6)
        assert broker.replicas.apply_leader_and_isr([other]) == {TP: ErrorCode.INCONSISTENT_TOPIC_ID}
        assert (partition.topic_id, partition.leader_epoch) == (STATE.topic_id, 5)


@async_test
async def test_roles_that_are_yet_to_be_taken_on_are_not_replaced_by_older_ones(tmp_path):
    async with serving(tmp_path) as broker:
        replicas = broker.replicas
        replicas.expect([STATE])
        assert replicas.apply_leader_and_isr([STATE._replace(leader_epoch=4)]) == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}
        assert replicas.partition(TP).leader_epoch == 5
        replicas.expect([STATE._replace(leader_epoch=4)])
        await until(lambda: replicas._making.done())
        assert replicas.partition(TP).leader_epoch == 5
