"""What a broker does with a controller's messages, and with those of one that was replaced."""

from __future__ import annotations

import pytest

from support.loop import async_test
from support.mini_broker import MiniBroker
from tidelog.broker.metadata.control_messages import LeaderAndIsr, StopReplica, UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.broker.replication.control_requests import ControlRequests
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)
STATE = PartitionState("t", 0, bytes(range(16)), 1, 0, (1,), (1,), is_new=True)
TOPIC = TopicImage("t", STATE.topic_id, [STATE], False)


@async_test
async def test_roles_metadata_and_configs_are_taken_on(tmp_path):
    async with MiniBroker(tmp_path) as broker:
        control = ControlRequests(broker.replicas, broker.metadata, broker.configs)
        control.topic_config("t", {"max.message.bytes": "1234"})
        assert await control.leader_and_isr(LeaderAndIsr(1, 1, [STATE])) == {}
        assert broker.log_manager.get(TP).config.max_message_bytes == 1234
        assert "t" not in broker.metadata.topics
        await control.update_metadata(UpdateMetadata(1, 1, [BrokerImage(1, {})], [TOPIC]))
        assert broker.metadata.topics["t"] is TOPIC
        control.topic_config("t", {"max.message.bytes": "4321"})
        assert broker.log_manager.get(TP).config.max_message_bytes == 4321
        assert await control.stop_replica(StopReplica(1, 1, [TP], delete=True)) == {}
        assert broker.log_manager.get(TP) is None
        control.topic_config("t", None)
        assert broker.configs.overrides("t") == {}


@async_test
async def test_a_replica_that_cannot_be_served_is_the_answer(tmp_path):
    async with MiniBroker(tmp_path) as broker:
        control = ControlRequests(broker.replicas, broker.metadata, broker.configs)
        await control.leader_and_isr(LeaderAndIsr(1, 1, [STATE]))
        other = STATE._replace(topic_id=bytes(range(1, 17)))
        broker.replicas.stop_replicas([TP], delete=False)
        assert await control.leader_and_isr(LeaderAndIsr(1, 1, [other])) == {TP: ErrorCode.INCONSISTENT_TOPIC_ID}


@async_test
async def test_a_controller_that_was_replaced_is_refused(tmp_path):
    async with MiniBroker(tmp_path) as broker:
        control = ControlRequests(broker.replicas, broker.metadata, broker.configs)
        await control.update_metadata(UpdateMetadata(2, 7, [BrokerImage(1, {})]))
        for refused in (
            control.leader_and_isr(LeaderAndIsr(1, 6, [STATE])),
            control.stop_replica(StopReplica(1, 6, [TP], delete=True)),
            control.update_metadata(UpdateMetadata(1, 6, [])),
        ):
            with pytest.raises(KafkaError) as caught:
                await refused
            assert caught.value.code is ErrorCode.STALE_CONTROLLER_EPOCH
        assert (broker.metadata.controller_id, broker.metadata.controller_epoch) == (2, 7)
        assert broker.replicas.partition(TP) is None
        await control.leader_and_isr(LeaderAndIsr(3, 8, [STATE]))
        assert broker.replicas.partition(TP).is_leader
