"""The controller: the one that changes the cluster's state, one change at a time.

Each method follows the same order: decide (pure functions beside this module), write to the store, take it into the
context, tell the brokers, return. It runs as one of the `Changes`: they follow one another, and a client that leaves
while its change is under way does not cut it off. Reads never wait for them.

A broker on the embedded store is always the controller. With a shared store it would be whoever made the ephemeral
`/controller` node; every write is already guarded by versions, so that two who think they lead cannot both succeed.

Taking office has two halves. `take_office` is a race that one broker wins, and makes the epoch: from here on whatever
another controller says is older. `start` is the work of the one that won. It reads everything anew, whatever this
broker knew before as one of those who are told: between the old controller's last message and its death there may be
writes that nobody has heard of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.controller.creations import Creations
from tidelog.broker.controller.deletions import TopicDeletions
from tidelog.broker.controller.election import Reason
from tidelog.broker.controller.elections import Elections
from tidelog.broker.controller.entity_configs import Decide, EntityConfigs
from tidelog.broker.controller.internal_topics import internal_topic
from tidelog.broker.controller.loading import load_topics
from tidelog.broker.controller.partition_states import PartitionStates
from tidelog.broker.controller.producer_ids import allocate_block
from tidelog.broker.controller.propagation import BrokerRequests, Propagation
from tidelog.broker.controller.topic_plans import Deletion, NewTopic, TopicPlan
from tidelog.broker.detached import outcome_of
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.metadata.registration import read_registrations
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.adopted import forget_unknown
from tidelog.broker.store.api import Create, SetData, Store
from tidelog.broker.store.znodes import ProducerIdBlock
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.common.types import TopicPartition


class Controller:
    """A `ClusterController`: the queue in front of the steps that its parts carry out, and the taking of office."""

    def __init__(
        self,
        *,
        node_id: int,
        store: Store,
        changes: Changes,
        config: BrokerConfig,
        topic_configs: TopicConfigs,
        propagation: Propagation,
        clock: Clock,
        rng: Rng,
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._config = config
        self._topic_configs = topic_configs
        self._clock = clock
        self._rng = rng
        self._changes = changes
        self._context = context = ControllerContext()
        self._requests = requests = BrokerRequests(node_id, context, propagation)
        self._states = PartitionStates(store, context, requests, changes)
        self._elections = Elections(context, self._states, requests, changes, topic_configs)
        self._deletions = TopicDeletions(store, context, requests, changes)
        self._creations = Creations(
            node_id=node_id,
            store=store,
            context=context,
            requests=requests,
            changes=changes,
            config=config,
            topic_configs=topic_configs,
            rng=rng,
        )
        self.entity_configs = EntityConfigs(changes, store)
        self._creating: dict[str, asyncio.Task[None]] = {}

    @property
    def epoch(self) -> int:
        """Which controller of the cluster this is, counted from its first."""
        return self._context.epoch

    # -- taking office -----------------------------------------------------------------------------------------------

    async def take_office(self) -> None:
        """Become the controller: take the node and count the epoch, as one.

        Were it two writes, a broker could die between them, and the next controller would have the same epoch.
        """
        data = znodes.encode_controller(self._node_id, self._clock.time_ms())
        found = await self._store.exists(paths.CONTROLLER_EPOCH)
        if found is None:
            await self._store.create(paths.CONTROLLER_EPOCH, b"0")
        text, stat = await self._store.get(paths.CONTROLLER_EPOCH)
        epoch = int(text) + 1
        await self._store.multi(
            [
                Create(paths.CONTROLLER, data, ephemeral=True),
                SetData(paths.CONTROLLER_EPOCH, str(epoch).encode(), stat.version),
            ]
        )
        self._context.epoch = epoch

    async def start(self, uncertain: Collection[TopicPartition] = ()) -> None:
        """Rule, after `take_office`: read who and what is there, elect where a leader is missing, tell everybody.

        `uncertain` are partitions whose last records a crash may have taken. They get a new leader epoch, so that a
        consumer that has seen such records finds out (KIP-320) instead of reading others at the same offsets.
        """
        context = self._context
        context.set_brokers(await read_registrations(self._store))
        loaded = await load_topics(self._store, self._rng, context.epoch)
        if loaded.repairs:
            await self._store.multi(loaded.repairs)
        doomed = set(await self._store.children(paths.DELETE_TOPICS))
        images = {image.name: image for image in loaded.images}
        context.put(image for name, image in images.items() if name not in doomed)
        await self._requests.update_metadata(context.topics.values())
        await self._elections.fill_vacancies()
        await self._elections.renew(uncertain, self._node_id)
        await self._requests.leader_and_isr([s for image in context.topics.values() for s in image.partitions])
        context.doomed = {name: images.get(name) for name in sorted(doomed)}
        await self._deletions.finish()

    async def brokers_changed(self) -> None:
        """Read the registrations again, and tell everybody who is there and where.

        A broker that has changed its own registration calls this; it is also what a watch on `/brokers/ids` would call.
        Nobody is elected here: that is for whoever knows that a broker has gone.
        """

        async def step() -> None:
            self._context.set_brokers(await read_registrations(self._store))
            await self._requests.update_metadata()

        await self._changes.run("brokers", step)

    # -- topics ------------------------------------------------------------------------------------------------------

    async def create_topics(
        self, topics: Sequence[NewTopic], *, validate_only: bool = False
    ) -> list[TopicPlan | KafkaError]:
        """Create what can be created; the answer to each topic, in their order."""

        async def step() -> list[TopicPlan | KafkaError]:
            await self._deletions.finish()
            return await self._creations.create(topics, validate_only=validate_only)

        return await self._changes.run("create topics", step)

    async def ensure_topic(self, name: str) -> None:
        """Create a topic that somebody asked for in passing (`auto.create.topics.enable`, or a coordinator's own);
        callers that ask at the same time share the work. A thousand consumers that start at once make one change."""
        if name in self._context.topics:
            return
        task = self._creating.get(name)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._ensure(name), name=f"creation of {name}")
            self._creating[name] = task
            task.add_done_callback(lambda done: self._creating.pop(name, None))
        await outcome_of(task)

    async def _ensure(self, name: str) -> None:
        wanted = internal_topic(name, self._config, len(self._context.brokers)) or NewTopic(name)
        outcome = (await self.create_topics([wanted]))[0]
        if isinstance(outcome, KafkaError) and outcome.code is not ErrorCode.TOPIC_ALREADY_EXISTS:
            raise outcome

    async def delete_topics(self, names: Sequence[str] = (), ids: Sequence[bytes] = ()) -> list[Deletion]:
        """Delete topics, by name or by id; what became of each. Once this returns they are gone from the store and from
        the log directories."""
        return await self._changes.run("delete topics", partial(self._deletions.delete, names, ids))

    async def create_partitions(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None, *, validate_only: bool = False
    ) -> None:
        """Let a topic grow to `count` partitions; new ones are placed as `assignments` say, or as in new topics."""
        step = partial(self._creations.more_partitions, name, count, assignments, validate_only=validate_only)
        await self._changes.run(f"create partitions of {name}", step)

    async def change_topic_config(self, topic: str, decide: Decide, *, validate_only: bool = False) -> None:
        """Change what is set for a topic that exists, durably and at once. `decide` sees what is stored at that moment,
        so that of two changes at the same time none is lost."""

        async def step() -> None:
            if topic not in self._context.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            also = await forget_unknown(self._store, topic) if self._topic_configs.is_guarded(topic) else []
            path = paths.topic_config(topic)
            values = await self.entity_configs.write(path, decide, also=also, validate_only=validate_only)
            if values is None:
                return
            with self._changes.applying(f"The config of topic {topic}"):
                self._requests.topic_config(topic, values)

        await self._changes.run(f"configs of topic {topic}", step)

    # -- leaders and in-sync replicas --------------------------------------------------------------------------------

    async def alter_isr(
        self, tp: TopicPartition, *, leader_epoch: int, isr: tuple[int, ...], partition_epoch: int
    ) -> PartitionState:
        """The leader's wish to change its in-sync set: compared with what is known, and set (Kafka: AlterPartition).

        The wish says what the leader knew when it wished. Another leader epoch: it leads no longer, or has not heard
        yet that it does. Another partition epoch: the set is not the one that it wants to change.
        """

        async def step() -> PartitionState:
            state = self._context.partition(tp)
            if state is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            if leader_epoch != state.leader_epoch:
                raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
            if partition_epoch != state.partition_epoch:
                raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
            if not isr or not set(isr) <= set(state.replicas):
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"{isr} is no subset of the replicas {state.replicas}")
            changed = state._replace(isr=isr, controller_epoch=self.epoch, is_new=False)
            return (await self._states.write([changed]))[0]

        return await self._changes.run(f"in-sync replicas of {tp}", step)

    async def elect_leaders(
        self, partitions: Sequence[TopicPartition], reason: Reason
    ) -> dict[TopicPartition, ErrorCode]:
        """Elect; the answer to each partition."""
        return await self._changes.run("elect leaders", partial(self._elections.hold, partitions, reason))

    # -- the rest ----------------------------------------------------------------------------------------------------

    async def allocate_producer_ids(self) -> ProducerIdBlock:
        """A block of producer ids that nobody else has: in the store before it is given out."""
        return await self._changes.run("producer ids", lambda: allocate_block(self._store, self._node_id))
