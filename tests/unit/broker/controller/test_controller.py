"""The controller by itself: three brokers in the store, and messages to them instead of brokers."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.loop import async_test
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.controller.api import ClusterController
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.controller import Controller
from tidelog.broker.controller.election import Reason
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.metadata.control_messages import LeaderAndIsr, StopReplica, UpdateMetadata
from tidelog.broker.metadata.registration import Registration
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store import paths
from tidelog.broker.store.api import Store, ensure_path
from tidelog.broker.store.local import LocalStore
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition
from tidelog.testing.clock import ManualClock

T = TopicPartition("t", 0)


class Messages:
    """A `Propagation` that writes down who was told what."""

    def __init__(self) -> None:
        self.told: list[tuple[int, object]] = []

    async def leader_and_isr(self, node: int, message: LeaderAndIsr) -> dict[TopicPartition, ErrorCode]:
        self.told.append((node, message))
        return {}

    async def stop_replica(self, node: int, message: StopReplica) -> dict[TopicPartition, ErrorCode]:
        self.told.append((node, message))
        return {}

    async def update_metadata(self, node: int, message: UpdateMetadata) -> None:
        self.told.append((node, message))

    def topic_config(self, topic: str, overrides: dict[str, str] | None) -> None:
        self.told.append((0, (topic, overrides)))

    def taken(self) -> list[tuple[int, object]]:
        told, self.told = self.told, []
        return told


class Cluster:
    """A tree with three brokers registered, of which node 1 is the controller."""

    def __init__(self) -> None:
        self.store = LocalStore()
        self.sessions: dict[int, Store] = {node: self.store.session() for node in (1, 2, 3)}
        self.messages = Messages()

    async def register(self, *nodes: int) -> None:
        for node in nodes:
            endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"h{node}", 9092)
            await Registration(self.sessions[node], node, None, ManualClock()).announce([endpoint])

    def controller(self, node: int = 1) -> Controller:
        config = BrokerConfig({"log.dirs": "unused", "listeners": "PLAINTEXT://127.0.0.1:0"})
        return Controller(
            node_id=node,
            store=self.sessions[node],
            changes=Changes(lambda error: None),
            config=config,
            topic_configs=TopicConfigs(config),
            propagation=self.messages,
            clock=ManualClock(),
            rng=seeded_rng(1),
        )


@asynccontextmanager
async def cluster(*nodes: int) -> AsyncIterator[tuple[Cluster, Controller]]:
    made = Cluster()
    for path in paths.PERSISTENT:
        await ensure_path(made.sessions[1], path)
    await made.register(*nodes)
    controller = made.controller()
    await controller.take_office()
    await controller.start()
    try:
        yield made, controller
    finally:
        await made.store.close()


@async_test
async def test_brokers_come_from_the_store():
    async with cluster(1, 3) as (made, controller):
        told = made.messages.taken()
        assert [node for node, _ in told] == [1, 3]
        assert {broker.node_id for _, message in told for broker in message.brokers} == {1, 3}
        await made.register(2)
        assert made.messages.taken() == [], "a broker that registers tells nobody but the store"
        await controller.brokers_changed()
        told = made.messages.taken()
        assert [node for node, _ in told] == [1, 2, 3]
        assert [broker.endpoints["PLAINTEXT"] for broker in told[0][1].brokers] == [(f"h{n}", 9092) for n in (1, 2, 3)]
        await made.sessions[3].close()
        await controller.brokers_changed()
        assert [node for node, _ in made.messages.taken()] == [1, 2]


@async_test
async def test_each_broker_is_told_of_its_replicas_and_all_of_the_topic():
    async with cluster(1, 2, 3) as (made, controller):
        made.messages.taken()
        await controller.create_topics(
            [NewTopic("t", assignments={0: [1, 2], 1: [2, 1]}, configs={"retention.ms": "1"})]
        )
        config, *told = made.messages.taken()
        assert config == (0, ("t", {"retention.ms": "1"})), "logs are made by it"
        roles = [(node, m) for node, m in told if isinstance(m, LeaderAndIsr)]
        assert [(node, [(s.leader, s.is_new) for s in m.states]) for node, m in roles] == [
            (1, [(1, True), (2, True)]),
            (2, [(1, True), (2, True)]),
        ]
        updates = told[len(roles) :]
        assert [node for node, _ in updates] == [1, 2, 3], "no client is sent to a leader that does not know it yet"
        assert all(isinstance(m, UpdateMetadata) and m.controller_epoch == controller.epoch == 1 for _, m in updates)
        assert [s.is_new for s in updates[0][1].topics[0].partitions] == [False, False]


@async_test
async def test_a_deleted_topic_leaves_the_metadata_first():
    async with cluster(1, 2, 3) as (made, controller):
        await controller.create_topics([NewTopic("t", assignments={0: [3]})])
        made.messages.taken()
        await controller.delete_topics(["t"])
        *updates, (node, stop), config = made.messages.taken()
        assert [(node, m.deleted) for node, m in updates] == [(1, ["t"]), (2, ["t"]), (3, ["t"])]
        assert (node, stop) == (3, StopReplica(1, 1, [T], delete=True))
        assert config == (0, ("t", None))


@async_test
async def test_the_replicas_of_many_topics_are_deleted_together():
    async with cluster(1, 2) as (made, controller):
        names = [f"t{n}" for n in range(5)]
        await controller.create_topics([NewTopic(name, assignments={0: [2], 1: [2]}) for name in names])
        made.messages.taken()
        await controller.delete_topics(names)
        stops = [m for _, m in made.messages.taken() if isinstance(m, StopReplica)]
        assert [sorted(stop.partitions) for stop in stops] == [
            [TopicPartition(name, n) for name in names for n in (0, 1)]
        ]
        assert await made.sessions[1].children(paths.TOPICS) == []
        assert await made.sessions[1].children(paths.DELETE_TOPICS) == []


@async_test
async def test_a_new_controller_finishes_deletions_that_were_decided():
    async with cluster(1) as (made, controller):
        await controller.create_topics([NewTopic(name, assignments={0: [1]}) for name in ("t", "u", "kept")])
        for name in ("u", "t", "vanished"):  # of the last only the decision is left
            await made.sessions[1].create(paths.delete_topic(name))
        await made.sessions[1].delete(paths.CONTROLLER)
        second = made.controller()
        await second.take_office()
        made.messages.taken()
        await second.start()
        stops = [m.partitions for _, m in made.messages.taken() if isinstance(m, StopReplica)]
        assert stops == [[T, TopicPartition("u", 0)]]
        assert await made.sessions[1].children(paths.TOPICS) == ["kept"]
        assert await made.sessions[1].children(paths.DELETE_TOPICS) == []


@async_test
async def test_an_elected_leader_knows_the_partition_epoch_that_the_next_wish_must_name():
    async with cluster(1, 2) as (made, controller):
        await controller.create_topics([NewTopic("t", assignments={0: [1, 2]})])
        state = await controller.alter_isr(T, leader_epoch=0, isr=(2, 1), partition_epoch=0)
        assert (state.isr, state.partition_epoch, state.controller_epoch) == ((2, 1), 1, 1)
        await made.sessions[1].delete(paths.CONTROLLER)
        await made.sessions[1].delete(paths.broker(1))
        second = made.controller(2)
        await second.take_office()
        made.messages.taken()
        await second.start()
        (elected,) = next(m.states for _, m in made.messages.taken() if isinstance(m, LeaderAndIsr))
        assert (elected.leader, elected.isr, elected.leader_epoch, elected.controller_epoch) == (2, (2,), 1, 2)
        with pytest.raises(KafkaError) as caught:
            await controller.alter_isr(T, leader_epoch=0, isr=(1,), partition_epoch=1)
        assert caught.value.code is ErrorCode.INVALID_UPDATE_VERSION, "the store knows better than an old controller"
        await made.register(1)
        await second.brokers_changed()
        wish = {"leader_epoch": 1, "isr": (2, 1), "partition_epoch": elected.partition_epoch}
        assert (await second.alter_isr(T, **wish)).isr == (2, 1)
        made.messages.taken()
        assert await second.elect_leaders([T], Reason.PREFERRED) == {T: ErrorCode.NONE}
        (again,) = next(m.states for _, m in made.messages.taken() if isinstance(m, LeaderAndIsr))
        wish = {"leader_epoch": again.leader_epoch, "isr": (1,), "partition_epoch": again.partition_epoch}
        assert (again.leader, (await second.alter_isr(T, **wish)).isr) == (1, (1,))


def test_a_controller_is_what_brokers_ask():
    assert {name for name in vars(ClusterController) if not name.startswith("_")} <= vars(Controller).keys()
