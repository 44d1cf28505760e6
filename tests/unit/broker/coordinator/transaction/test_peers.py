"""Markers and questions for other brokers: here both sides are one broker, reached under another node id."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
import uvloop

from tidelog.broker.coordinator.transaction.machine import MarkerJob, ProducerIdentity
from tidelog.broker.coordinator.transaction.peers import TransactionPeers
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.network.stepper import Stepper
from tidelog.broker.peers.connections import PeerConnections
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TRANSACTION_STATE_TOPIC, TopicPartition

SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "node.id": "1",
    "transaction.state.log.num.partitions": "1",
    "auto.create.topics.enable": "true",
}
TP = TopicPartition("a", 0)


def test_markers_and_partitions_by_request(tmp_path: Path) -> None:
    async def run() -> None:
        async with Broker({**SETTINGS, "log.dirs": str(tmp_path)}) as broker:
            for topic in ("a", TRANSACTION_STATE_TOPIC):
                await broker.controller.ensure_topic(topic)
            host, port = broker.address.split(":")
            metadata = MetadataCache()
            here = BrokerImage(1, {"PLAINTEXT": (host, int(port))})
            metadata.update(UpdateMetadata(1, 1, [here], list(broker.metadata.topics.values())))
            connections = PeerConnections(metadata, "PLAINTEXT", "test")
            peers = TransactionPeers(metadata, connections)
            producer = await broker.coordinators.transaction.init("t", 60_000)
            outside = await peers.add_partition("t", producer, TP, True)
            assert outside is ErrorCode.TRANSACTION_ABORTABLE
            assert await peers.add_partition("t", producer, TP, False) is ErrorCode.NONE
            assert await peers.add_partition("t", producer, TP, True) is ErrorCode.NONE
            stale = ProducerIdentity(producer.producer_id, 9)
            assert await peers.add_partition("t", stale, TP, True) is ErrorCode.PRODUCER_FENCED
            job = MarkerJob("t", producer.producer_id, producer.epoch, True, frozenset({TP}), 0, 0)
            gone = TopicPartition("gone", 3)
            codes = await peers.write_markers(1, job, [TP, gone])
            assert codes == {TP: ErrorCode.NONE, gone: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
            assert await peers.write_markers(7, job, [TP]) == {TP: ErrorCode.NETWORK_EXCEPTION}
            await connections.stop()

    uvloop.run(run())


def test_another_coordinator_is_asked_without_a_task(tmp_path: Path) -> None:
    """Produce runs without a task, and the network has time-outs, which ask for the task that they are in."""

    async def run() -> None:
        async with Broker({**SETTINGS, "log.dirs": str(tmp_path)}) as broker:
            for topic in ("a", TRANSACTION_STATE_TOPIC):
                await broker.controller.ensure_topic(topic)
            coordinator = broker.coordinators.transaction
            producer = await coordinator.init("t", 60_000)
            coordinator.runtime.on_resigned(0)  # from here on the broker asks "another" one: itself, over the network
            answers: list[object] = []
            ended = asyncio.Event()

            def done(code: ErrorCode | None, error: Exception | None) -> None:
                answers.append(code if error is None else error)
                ended.set()

            Stepper(coordinator.verify("t", producer.producer_id, producer.epoch, TP), done).step()
            await ended.wait()
            assert answers == [ErrorCode.NOT_ENOUGH_REPLICAS]  # Produce's word for a coordinator that is not there

    uvloop.run(run())


@pytest.mark.parametrize("known", [True, False])
def test_a_broker_that_is_not_there(known: bool) -> None:
    async def run() -> None:
        metadata = MetadataCache()
        if known:
            metadata.update(UpdateMetadata(2, 1, [BrokerImage(2, {"PLAINTEXT": ("127.0.0.1", 1)})]))
        connections = PeerConnections(metadata, "PLAINTEXT", "test")
        peers = TransactionPeers(metadata, connections)
        job = MarkerJob("t", 1, 0, True, frozenset({TP}), 0, 0)
        assert await peers.write_markers(2, job, [TP]) == {TP: ErrorCode.NETWORK_EXCEPTION}
        answer = await peers.add_partition("t", ProducerIdentity(1, 0), TP, True)
        assert answer is ErrorCode.COORDINATOR_NOT_AVAILABLE

    uvloop.run(run())
