"""The local form of the port to brokers: what is told arrives here, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.loop import async_test
from tidelog.broker.controller.propagation import LocalPropagation
from tidelog.broker.metadata.control_messages import LeaderAndIsr, StopReplica, UpdateMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)


class Broker:
    """Writes down what it is told, and can do nothing of it."""

    def __init__(self) -> None:
        self.told: list[object] = []

    async def leader_and_isr(self, message: LeaderAndIsr) -> Mapping[TopicPartition, ErrorCode]:
        self.told.append(message)
        return {TP: ErrorCode.KAFKA_STORAGE_ERROR}

    async def stop_replica(self, message: StopReplica) -> Mapping[TopicPartition, ErrorCode]:
        self.told.append(message)
        return {TP: ErrorCode.KAFKA_STORAGE_ERROR}

    async def update_metadata(self, message: UpdateMetadata) -> None:
        self.told.append(message)

    def topic_config(self, topic: str, overrides: Mapping[str, str] | None) -> None:
        self.told.append((topic, overrides))


@async_test
async def test_its_own_broker_is_told_and_answers():
    broker = Broker()
    propagation = LocalPropagation(1, broker)
    messages = LeaderAndIsr(1, 2, []), StopReplica(1, 2, [TP], delete=True), UpdateMetadata(1, 2, [])
    assert await propagation.leader_and_isr(1, messages[0]) == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert await propagation.stop_replica(1, messages[1]) == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    await propagation.update_metadata(1, messages[2])
    propagation.topic_config("t", {})
    assert broker.told == [*messages, ("t", {})]


@async_test
async def test_another_broker_is_not_reached():
    broker = Broker()
    propagation = LocalPropagation(1, broker)
    with pytest.raises(KafkaError) as caught:
        await propagation.update_metadata(2, UpdateMetadata(1, 1, []))
    assert caught.value.code is ErrorCode.BROKER_NOT_AVAILABLE
    assert broker.told == []
