"""New topics and new partitions, carried out: what `topic_plans.py` has planned goes into the store, then to brokers.

A topic is answered for when it can be used: its nodes are durable, its replicas (the first of them, where there are
very many) are made, and the metadata name it. In that order: a client that finds it can produce to it at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller import topic_plans as plans
from tidelog.broker.controller.changes import Changes
from tidelog.broker.controller.context import ControllerContext
from tidelog.broker.controller.propagation import BrokerRequests
from tidelog.broker.controller.topic_plans import NewTopic, TopicPlan
from tidelog.broker.metadata.images import TopicImage
from tidelog.broker.metadata.names import METADATA_LOG_TOPIC
from tidelog.broker.metadata.topic_configs import TopicConfigs
from tidelog.broker.store import paths
from tidelog.broker.store.api import Operation, Store
from tidelog.broker.store.errors import NodeExistsError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.log.config import check_topic_config


class Creations:
    """Steps of the controller's changes: each is called within one."""

    def __init__(
        self,
        *,
        node_id: int,
        store: Store,
        context: ControllerContext,
        requests: BrokerRequests,
        changes: Changes,
        config: BrokerConfig,
        topic_configs: TopicConfigs,
        rng: Rng,
    ) -> None:
        self._node_id = node_id
        self._store = store
        self._context = context
        self._requests = requests
        self._changes = changes
        self._config = config
        self._topic_configs = topic_configs
        self._rng = rng

    async def create(self, topics: Sequence[NewTopic], *, validate_only: bool) -> list[TopicPlan | KafkaError]:
        """Create what can be created; the answer to each topic, in their order.

        All that can be made are made by one write of the store, however many there are: a thousand topics of one
        request cost one sync.
        """
        outcomes = self._plan(topics)
        made = [outcome for outcome in outcomes if isinstance(outcome, TopicPlan)]
        if made and not validate_only:
            refused = await self._carry_out(made)
            return [refused.get(o.image.name, o) if isinstance(o, TopicPlan) else o for o in outcomes]
        return outcomes

    def _plan(self, topics: Sequence[NewTopic]) -> list[TopicPlan | KafkaError]:
        """Each topic by itself: one that is refused does not take the others with it, as in Kafka."""
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
        """What a topic sets must hold beside what the brokers' keys give all topics."""
        check_topic_config(configs, self._topic_configs.broker_defaults())

    async def _carry_out(self, made: Sequence[TopicPlan]) -> dict[str, KafkaError]:
        """Make what was planned; returns what the store refused, by name.

        Everything is one write, or where the store knows a topic that the context does not, one write each. (It was
        made by somebody else on the same store, or by hand.)
        """
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
                self._requests.topic_config(plan.image.name, plan.configs)
            await self._requests.leader_and_isr([state for plan in made for state in plan.image.partitions])
            await self._tell([plan.image for plan in made])
        return refused

    async def _creation(self, made: Sequence[TopicPlan]) -> list[Operation]:
        """Configs of a topic that does not exist are left over from an older one: they give way."""
        found = await self._store.get_many([paths.topic_config(plan.image.name) for plan in made])
        return [
            operation
            for plan, item in zip(made, found, strict=True)
            for operation in plans.create_operations(plan, None if item is None else item[1].version)
        ]

    async def more_partitions(
        self, name: str, count: int, assignments: Sequence[Sequence[int]] | None, *, validate_only: bool
    ) -> None:
        """Let a topic grow to `count` partitions. Records stay where they are; keys that are hashed over the number of
        partitions go elsewhere from now on, which is why Kafka never does this by itself."""
        image = self._context.topics.get(name)
        if image is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        after = plans.plan_more_partitions(image, count, assignments, self._cluster(), self._rng)
        if validate_only:
            return
        before = len(image.partitions)
        _, stat = await self._store.get(paths.topic(name))
        await self._store.multi(plans.more_partitions_operations(after, before, stat.version))
        with self._changes.applying(f"The new partitions of {name}"):
            await self._requests.leader_and_isr(after.partitions[before:])
            await self._tell([after])

    async def _tell(self, images: Sequence[TopicImage]) -> None:
        """The replicas are made: from now on these topics are like any other.

        `is_new` says to a broker that a log which it does not have was never there. It must not be said again: a broker
        that lost a disk would make an empty log where it ought to answer KAFKA_STORAGE_ERROR.
        """
        settled = [
            image._replace(partitions=[state._replace(is_new=False) for state in image.partitions]) for image in images
        ]
        self._context.put(settled)
        await self._requests.update_metadata(settled)

    def _cluster(self) -> plans.ClusterFacts:
        """What is known, as planning wants it. Of the brokers only our own says whether its directories are cordoned:
        registrations do not."""
        return plans.ClusterFacts(
            self._context.topics,
            self._context.brokers,
            self._context.epoch,
            self._config[keys.NUM_PARTITIONS],
            self._config[keys.DEFAULT_REPLICATION_FACTOR],
            frozenset() if self._config.takes_partitions else frozenset({self._node_id}),
        )
