"""The controller: the one that changes the cluster's state, one change at a time.

Each method follows the same order: decide (pure functions beside this module), write to the store, then apply to the
metadata cache and the replicas, then return. It runs as one of the `Changes`: they follow one another, and a client
that leaves while its change is under way does not cut it off. Reads never wait for them.

A broker on the embedded store is always the controller. With a shared store it would be whoever made the ephemeral
`/controller` node; every write is already guarded by versions, so that two who think they lead cannot both succeed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Protocol

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller import topic_plans as plans
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.controller.entity_configs import Decide, EntityConfigs
from tidelog.broker.controller.internal_topics import internal_topic
from tidelog.broker.controller.loading import load_topics
from tidelog.broker.controller.producer_ids import allocate_block
from tidelog.broker.controller.topic_plans import Deletion, NewTopic, TopicPlan
from tidelog.broker.detached import outcome_of
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.metadata.names import METADATA_LOG_TOPIC
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.adopted import forget_unknown
from tidelog.broker.store.api import Create, Delete, Operation, SetData, Stat, Store, ensure_path
from tidelog.broker.store.errors import BadVersionError, NodeExistsError, StoreFullError
from tidelog.broker.store.znodes import ProducerIdBlock
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig, check_topic_config

logger = logging.getLogger(__name__)


class Propagation(Protocol):
    """Makes what was decided true on the brokers that hold the replicas."""

    async def lead_and_follow(self, states: Sequence[PartitionState]) -> None: ...
    async def delete_replicas(self, partitions: Sequence[TopicPartition]) -> None: ...
    def update_config(self, topic: str, config: LogConfig) -> None: ...


class Controller:
    def __init__(
        self,
        *,
        node_id: int,
        store: Store,
        changes: Changes,
        config: BrokerConfig,
        metadata: MetadataCache,
        topic_configs: TopicConfigs,
        propagation: Propagation,
        clock: Clock,
        rng: Rng,
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._config = config
        self._metadata = metadata
        self._topic_configs = topic_configs
        self._propagation = propagation
        self._clock = clock
        self._rng = rng
        self._changes = changes
        self.entity_configs = EntityConfigs(changes, store)
        #: Deletions that are in the store and could not be brought to their end: before the next change, or a restart.
        self._doomed: dict[str, TopicImage] = {}
        self._creating: dict[str, asyncio.Task[None]] = {}
        self.epoch = 0

    # -- taking office -----------------------------------------------------------------------------------------------

    async def start(self, uncertain: Collection[TopicPartition] = ()) -> None:
        """Rule, after `take_office`: read the tree, elect where a leader is missing.

        `uncertain` are partitions whose last records a crash may have taken. They get a new leader epoch, so that a
        consumer that has seen such records finds out (KIP-320) instead of reading others at the same offsets.
        """
        loaded = await load_topics(self._store, self._rng, self.epoch)
        if loaded.repairs:
            await self._store.multi(loaded.repairs)
        doomed = set(await self._store.children(paths.DELETE_TOPICS))
        images = {image.name: image for image in loaded.images}
        self._metadata.apply(image for name, image in images.items() if name not in doomed)
        await self._elect_missing([image for name, image in images.items() if name not in doomed])
        await self._renew(uncertain)
        hosted = [s for i in self._metadata.topics.values() for s in i.partitions if self._node_id in s.replicas]
        await self._propagation.lead_and_follow(hosted)
        for name in sorted(doomed):
            await self._finish_deletion(name, images.get(name))

    async def take_office(self) -> None:
        """Become the controller: take the node and count the epoch."""
        data = znodes.encode_controller(self._node_id, self._clock.time_ms())
        found = await self._store.exists(paths.CONTROLLER_EPOCH)
        if found is None:
            await self._store.create(paths.CONTROLLER_EPOCH, b"0")
        text, stat = await self._store.get(paths.CONTROLLER_EPOCH)
        self.epoch = int(text) + 1
        await self._store.multi(
            [
                Create(paths.CONTROLLER, data, ephemeral=True),
                SetData(paths.CONTROLLER_EPOCH, str(self.epoch).encode(), stat.version),
            ]
        )
        self._metadata.controller_id = self._node_id
        self._metadata.controller_epoch = self.epoch

    async def _elect_missing(self, images: Sequence[TopicImage]) -> None:
        """Elect where nobody leads or the leader is not alive, and write the outcome."""
        alive = self._metadata.brokers
        changed: list[PartitionState] = []
        for image in images:
            for state in image.partitions:
                if state.leader_epoch < 0:
                    changed.append(elect(state, Reason.NEW, alive, self.epoch)._replace(leader_epoch=0, is_new=True))
                elif state.leader not in alive:
                    unclean = self._topic_configs.log_config(image.name).unclean_leader_election_enable
                    reason = Reason.UNCLEAN if unclean else Reason.OFFLINE
                    after = elect(state, reason, alive, self.epoch)
                    if after is not state:
                        changed.append(after)
        await self._write_states(changed)

    async def _renew(self, partitions: Collection[TopicPartition]) -> None:
        states = [state for state in map(self._metadata.partition, partitions) if state is not None]
        await self._write_states(
            [
                state._replace(leader_epoch=state.leader_epoch + 1, controller_epoch=self.epoch)
                for state in states
                if state.leader == self._node_id
            ]
        )

    # -- topics ------------------------------------------------------------------------------------------------------

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicPlan | KafkaError]:
        """Create what can be created; the answer to each topic, in their order."""
        return await self._changes.run("create topics", partial(self._create_topics, topics, validate_only))

    async def _create_topics(self, topics: Sequence[NewTopic], validate_only: bool) -> list[TopicPlan | KafkaError]:
        await self._finish_deletions()
        outcomes = self._plan(topics)
        made = [outcome for outcome in outcomes if isinstance(outcome, TopicPlan)]
        if made and not validate_only:
            refused = await self._carry_out(made)
            return [refused.get(o.image.name, o) if isinstance(o, TopicPlan) else o for o in outcomes]
        return outcomes

    def _plan(self, topics: Sequence[NewTopic]) -> list[TopicPlan | KafkaError]:
        outcomes: list[TopicPlan | KafkaError] = []
        cluster = self._cluster()
        planned: list[str] = []
        for topic in topics:
            try:
                if topic.name == METADATA_LOG_TOPIC:
                    text = f"Creation of internal topic {METADATA_LOG_TOPIC} is prohibited."
                    raise KafkaError(ErrorCode.INVALID_REQUEST, text)
                known = cluster._replace(topics=[*cluster.topics, *planned]) if planned else cluster
                plan = plans.plan_topic(topic, known, self._rng, self._check_configs)
                planned.append(topic.name)
                outcomes.append(plan)
            except KafkaError as error:
                outcomes.append(error)
        return outcomes

    def _check_configs(self, configs: Mapping[str, str]) -> None:
        check_topic_config(configs, self._topic_configs.broker_defaults())

    async def _carry_out(self, made: Sequence[TopicPlan]) -> dict[str, KafkaError]:
        """Make what was planned; returns what the store refused, by name."""
        refused: dict[str, KafkaError] = {}
        try:
            await self._store.multi(await self._creation(made))
        except NodeExistsError as error:
            if len(made) > 1:  # each by itself: one that is in the store and nowhere else must not hold back the others
                for plan in made:
                    refused |= await self._carry_out([plan])
                return refused
            text = f"{error.path} exists already in the store."
            return {made[0].image.name: KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, text)}
        with self._changes.applying("The creation of topics"):
            for plan in made:
                self._topic_configs.forget(plan.image.name)
                self._topic_configs.set(plan.image.name, plan.configs)
            await self._propagation.lead_and_follow([state for plan in made for state in plan.image.partitions])
            self._metadata.apply(_settled(plan.image) for plan in made)
        return refused

    async def _creation(self, made: Sequence[TopicPlan]) -> list[Operation]:
        """Configs of a topic that does not exist are left over from an older one: they give way."""
        found = await self._store.get_many([paths.topic_config(plan.image.name) for plan in made])
        return [
            operation
            for plan, item in zip(made, found, strict=True)
            for operation in plans.create_operations(plan, None if item is None else item[1].version)
        ]

    async def ensure_topic(self, name: str) -> None:
        """Create a topic that somebody asked for in passing; callers that ask at the same time share the work."""
        if name in self._metadata.topics:
            return
        task = self._creating.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._ensure(name), name=f"creation of {name}")
            self._creating[name] = task
            task.add_done_callback(lambda done: self._creating.pop(name, None))
        await outcome_of(task)

    async def _ensure(self, name: str) -> None:
        wanted = internal_topic(name, self._config, len(self._metadata.brokers)) or NewTopic(name)
        outcome = (await self.create_topics([wanted]))[0]
        if isinstance(outcome, KafkaError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise outcome

    async def delete_topics(self, names: Sequence[str] = (), ids: Sequence[bytes] = ()) -> list[Deletion]:
        """Delete topics, by name or by id; what became of each. Once this returns they are gone from the store and from
        the log directories."""
        return await self._changes.run("delete topics", partial(self._delete_topics, names, ids))

    async def _delete_topics(self, names: Sequence[str], ids: Sequence[bytes]) -> list[Deletion]:
        await self._finish_deletions()
        planned = plans.plan_deletions(names, ids, self._metadata)
        images = [deletion.image for deletion in planned if deletion.image is not None]
        if images:
            await self._store.multi([Create(paths.delete_topic(image.name)) for image in images])
            with self._changes.applying("The deletion of topics"):
                self._metadata.apply(deleted=[image.name for image in images])
            self._doomed.update((image.name, image) for image in images)
            try:
                await self._finish_deletions()
            except StoreFullError as error:  # decided and durable: what is left to write is made up for
                logger.error("The deletion of topics is to be finished: %s", error)
        return planned

    async def _finish_deletions(self) -> None:
        for name, image in list(self._doomed.items()):
            await self._finish_deletion(name, image)
            del self._doomed[name]

    async def _finish_deletion(self, name: str, image: TopicImage | None) -> None:
        operations: list[Operation] = [Delete(paths.delete_topic(name))]
        if image is not None:
            with self._changes.applying(f"The deletion of topic {name}"):
                await self._propagation.delete_replicas([state.tp for state in image.partitions])
            has_config = await self._store.exists(paths.topic_config(name)) is not None
            operations += plans.delete_operations(image, has_config=has_config)
        await self._store.multi(operations)
        self._topic_configs.forget(name)

    async def create_partitions(
        self,
        name: str,
        count: int,
        assignments: Sequence[Sequence[int]] | None,
        *,
        validate_only: bool = False,
    ) -> None:
        async def step() -> None:
            image = self._metadata.topics.get(name)
            if image is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            after = plans.plan_more_partitions(image, count, assignments, self._cluster(), self._rng)
            if validate_only:
                return
            before = len(image.partitions)
            _, stat = await self._store.get(paths.topic(name))
            await self._store.multi(plans.more_partitions_operations(after, before, stat.version))
            with self._changes.applying(f"The new partitions of {name}"):
                await self._propagation.lead_and_follow(after.partitions[before:])
                self._metadata.apply([_settled(after)])

        await self._changes.run(f"create partitions of {name}", step)

    async def change_topic_config(self, topic: str, decide: Decide, *, validate_only: bool = False) -> None:
        """Change what is set for a topic that exists, durably and at once."""

        async def step() -> None:
            if topic not in self._metadata.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            also = await forget_unknown(self._store, topic) if self._topic_configs.is_guarded(topic) else []
            path = paths.topic_config(topic)
            values = await self.entity_configs.write(path, decide, also=also, validate_only=validate_only)
            if values is None:
                return
            with self._changes.applying(f"The config of topic {topic}"):
                self._topic_configs.set(topic, values)
                self._topic_configs.unguard(topic)
                self._propagation.update_config(topic, self._topic_configs.log_config(topic))

        await self._changes.run(f"configs of topic {topic}", step)

    # -- leaders and in-sync replicas --------------------------------------------------------------------------------

    async def alter_isr(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> PartitionState:
        """The leader's wish to change its in-sync set: compared with the store, and set."""

        async def step() -> PartitionState:
            state = self._metadata.partition(tp)
            if state is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if leader_epoch != state.leader_epoch:
                raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
            if partition_epoch != state.partition_epoch:
                raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
            if not isr or not set(isr) <= set(state.replicas):
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{isr} is no subset of the replicas {state.replicas}")
            await self._write_states([state._replace(isr=isr, controller_epoch=self.epoch, is_new=False)])
            after = self._metadata.partition(tp)
            assert after is not None
            return after

        return await self._changes.run(f"in-sync replicas of {tp}", step)

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition], reason: Reason
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect; the answer to each partition."""

        async def step() -> dict[TopicPartition, ErrorCode]:
            outcome: dict[TopicPartition, ErrorCode] = {}
            changed: list[PartitionState] = []
            for tp in partitions:
                state = self._metadata.partition(tp)
                if state is None:
                    outcome[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    continue
                settled = state.leader == state.replicas[0] if reason is Reason.PREFERRED else state.has_leader
                if settled:
                    outcome[tp] = ErrorCode.ELECTION_NOT_NEEDED
                    continue
                after = elect(state, reason, self._metadata.brokers, self.epoch)
                if after is state:
                    preferred = reason is Reason.PREFERRED
                    outcome[tp] = (
                        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
                        if preferred
                        else ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
                    )
                    continue
                outcome[tp] = ErrorCode.NONE
                changed.append(after)
            await self._write_states(changed)
            with self._changes.applying("An election"):
                await self._propagation.lead_and_follow([s for s in changed if self._node_id in s.replicas])
            return outcome

        return await self._changes.run("elect leaders", step)

    async def _write_states(self, states: Sequence[PartitionState]) -> None:
        """Write partition states with compare and set, and put them into the metadata cache."""
        if not states:
            return
        operations: list[Operation] = []
        for state in states:
            path = paths.partition_state(state.topic, state.partition)
            encoded = znodes.encode_state(plans.state_node(state))
            if state.is_new:
                await ensure_path(self._store, paths.partition(state.topic, state.partition))
                operations.append(Create(path, encoded))
            else:
                operations.append(SetData(path, encoded, state.partition_epoch))
        try:
            results = await self._store.multi(operations)
        except BadVersionError as error:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION, str(error)) from error
        images: dict[str, TopicImage] = {}
        for state, result in zip(states, results, strict=True):
            epoch = result.version if isinstance(result, Stat) else 0
            image = images.get(state.topic) or self._metadata.topics[state.topic]
            partitions = list(image.partitions)
            partitions[state.partition] = state._replace(partition_epoch=epoch, is_new=False)
            images[state.topic] = image._replace(partitions=partitions)
        with self._changes.applying("New states of partitions"):
            self._metadata.apply(images.values())

    # -- the rest ----------------------------------------------------------------------------------------------------

    async def allocate_producer_ids(self) -> ProducerIdBlock:
        return await self._changes.run("producer ids", lambda: allocate_block(self._store, self._node_id))

    def _cluster(self) -> plans.Cluster:
        return plans.Cluster(
            self._metadata.topics,
            self._metadata.brokers,
            self.epoch,
            self._config[keys.NUM_PARTITIONS],
            self._config[keys.DEFAULT_REPLICATION_FACTOR],
            frozenset() if self._config.takes_partitions else frozenset({self._node_id}),
        )


def _settled(image: TopicImage) -> TopicImage:
    """The image once its new partitions have been made."""
    return image._replace(partitions=[state._replace(is_new=False) for state in image.partitions])
