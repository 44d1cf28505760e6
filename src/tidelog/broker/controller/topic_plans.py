"""CreateTopics, CreatePartitions and DeleteTopics, decided: what is asked → what will be, or the error of Kafka.

Pure: a plan is the topic's image as it will be, its configs, and the store operations that make it so. Carrying it out
is the controller's. What only validates (`validate_only`) is the same plan, thrown away.

The texts of errors are Kafka's own where it has one: tools and tests of others look for them. The order of the checks
is, too, because a request with two faults gets one answer: the name first, then whether the topic exists, then its
configs, then its placement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.controller.placement import check_assignment, place_replicas
from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.broker.metadata.names import check_collision, check_topic_name
from tidelog.broker.store import paths
from tidelog.broker.store.api import ANY_VERSION, Create, Delete, Operation, SetData
from tidelog.broker.store.znodes import StateNode, TopicNode, encode_config, encode_state, encode_topic
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.common.types import INTERNAL_TOPICS, NO_NODE
from tidelog.common.uuids import ZERO_UUID, random_uuid

if TYPE_CHECKING:
    from tidelog.broker.metadata.topics import TopicTable

#: The most partitions that one request may make: what a store can write as one.
MAX_PARTITIONS_PER_BATCH = 10_000


class NewTopic(NamedTuple):
    """A topic as asked for; -1 stands for the broker's default."""

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: Mapping[int, Sequence[int]] = MappingProxyType({})
    configs: Mapping[str, str | None] = MappingProxyType({})
    duplicate_assignments: tuple[int, ...] = ()


class TopicPlan(NamedTuple):
    """A topic that can be made, every default filled in. CreateTopics answers with it since version 5."""

    image: TopicImage
    configs: dict[str, str]

    @property
    def replication_factor(self) -> int:
        return len(self.image.partitions[0].replicas)


class ClusterFacts(NamedTuple):
    """What planning needs to know. The defaults are those of the broker that plans: `num.partitions` and
    `default.replication.factor`, for requests that leave them open (-1, since version 4 of CreateTopics)."""

    topics: Collection[str]
    brokers: Mapping[int, BrokerImage]
    controller_epoch: int
    default_partitions: int
    default_replication_factor: int
    #: Brokers whose log directories are all cordoned: they get a new partition only by hand.
    cordoned: frozenset[int] = frozenset()

    @property
    def placeable(self) -> list[BrokerImage]:
        return [broker for broker in self.brokers.values() if broker.node_id not in self.cordoned]


def plan_topic(
    new: NewTopic,
    cluster: ClusterFacts,
    rng: Rng,
    check_configs: Callable[[Mapping[str, str]], object] = lambda _: None,
) -> TopicPlan:
    """Check a new topic and place it; raises KafkaError."""
    check_topic_name(new.name)
    if new.name in cluster.topics:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{new.name}' already exists.")
    check_collision(new.name, cluster.topics)
    missing = [name for name, value in new.configs.items() if value is None]
    if missing:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {','.join(sorted(missing))}"
        )
    configs = {name: value for name, value in new.configs.items() if value is not None}
    check_configs(configs)
    replicas = _manual(new, cluster) if new.assignments else _placed(new, cluster, rng)
    topic_id = random_uuid(rng)
    image = TopicImage(
        new.name, topic_id, new_partitions(new.name, topic_id, 0, replicas, cluster), new.name in INTERNAL_TOPICS
    )
    return TopicPlan(image, configs)


def new_partitions(
    topic: str, topic_id: bytes, first: int, replicas: Sequence[tuple[int, ...]], cluster: ClusterFacts
) -> list[PartitionState]:
    """States of new partitions: everybody alive is in sync with an empty log."""
    states = []
    for index, nodes in enumerate(replicas, first):
        blank = PartitionState(topic, index, topic_id, NO_NODE, -1, (), nodes, cluster.controller_epoch, is_new=True)
        states.append(
            elect(blank, Reason.NEW, cluster.brokers, cluster.controller_epoch)._replace(is_new=True, leader_epoch=0)
        )
    return states


def _manual(new: NewTopic, cluster: ClusterFacts) -> list[tuple[int, ...]]:
    """Replicas as the request lists them. Whoever gives an assignment may give no numbers beside it: they might differ.
    Partitions are numbered from 0 without a gap, and all have as many replicas."""
    if new.replication_factor != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if new.partitions != -1:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    if new.duplicate_assignments:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Found multiple manual partition assignments for partition {new.duplicate_assignments[0]}",
        )
    expected: int | None = None
    for replicas in new.assignments.values():
        check_assignment(replicas, cluster.brokers, expected)
        expected = len(replicas)
    if sorted(new.assignments) != list(range(len(new.assignments))):
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return [tuple(new.assignments[index]) for index in range(len(new.assignments))]


def _placed(new: NewTopic, cluster: ClusterFacts, rng: Rng) -> list[tuple[int, ...]]:
    """Replicas as we place them, on brokers that have a log directory for new partitions (KIP-1066: not cordoned)."""
    if new.replication_factor < -1 or new.replication_factor == 0:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if new.partitions < -1 or new.partitions == 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    count = cluster.default_partitions if new.partitions == -1 else new.partitions
    factor = cluster.default_replication_factor if new.replication_factor == -1 else new.replication_factor
    if count > MAX_PARTITIONS_PER_BATCH:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"Excessively large number of partitions per request: at most {MAX_PARTITIONS_PER_BATCH}.",
        )
    return place_replicas(count, factor, cluster.placeable, rng)


def plan_more_partitions(
    image: TopicImage, count: int, assignments: Sequence[Sequence[int]] | None, cluster: ClusterFacts, rng: Rng
) -> TopicImage:
    """The topic with `count` partitions in all; raises KafkaError.

    The new ones have as many replicas as the first, and are placed as if the topic had been made with all of them. No
    partition ever goes away again: its records would have to go with it.
    """
    have = len(image.partitions)
    if count == have:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {have} partition(s).")
    if count < have:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {image.name} currently has {have} partition(s); {count} would not be an increase.",
        )
    additional = count - have
    if additional > MAX_PARTITIONS_PER_BATCH:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"Excessively large number of partitions per request: at most {MAX_PARTITIONS_PER_BATCH}.",
        )
    factor = len(image.partitions[0].replicas)
    if assignments is None:
        replicas = place_replicas(additional, factor, cluster.placeable, rng, have)
    else:
        if len(assignments) != additional:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {additional} additional partition(s), but only {len(assignments)} assignment(s) "
                "were specified.",
            )
        for nodes in assignments:
            check_assignment(nodes, cluster.brokers, factor)
        replicas = [tuple(nodes) for nodes in assignments]
    states = new_partitions(image.name, image.topic_id, have, replicas, cluster)
    return image._replace(partitions=image.partitions + states)


class Deletion(NamedTuple):
    """A topic to delete, as it was named: either it has an image, or it is refused."""

    name: str | None
    topic_id: bytes
    image: TopicImage | None = None
    error: KafkaError | None = None


def plan_deletions(names: Iterable[str], ids: Iterable[bytes], known: TopicTable) -> list[Deletion]:
    """Names and ids, each given once, resolved to topics; first what is refused. An id means that topic alone, not a
    newer one of its name."""
    refused: list[Deletion] = []
    found: dict[str, TopicImage] = {}
    for topic_id in ids:
        image = known.topics.get(known.topic_name(topic_id) or "")
        if image is None or image.topic_id != topic_id:
            refused.append(Deletion(None, topic_id, error=KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)))
        else:
            found[image.name] = image
    for name in names:
        image = known.topics.get(name)
        if image is None:
            error = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            refused.append(Deletion(name, ZERO_UUID, error=error))
        elif found.pop(name, None) is not None:
            text = "The provided topic name maps to an ID that was already supplied."
            error = KafkaError(ErrorCode.INVALID_REQUEST, text)
            refused.append(Deletion(name, image.topic_id, error=error))
        else:
            found[name] = image
    return refused + [Deletion(image.name, image.topic_id, image) for image in found.values()]


# -- store operations ------------------------------------------------------------------------------------------------


def topic_node(image: TopicImage) -> TopicNode:
    """What `/brokers/topics/<name>` holds: the assignment, and what a reassignment adds to it and takes from it."""
    return TopicNode(
        image.topic_id,
        {state.partition: state.replicas for state in image.partitions},
        {state.partition: state.adding for state in image.partitions if state.adding},
        {state.partition: state.removing for state in image.partitions if state.removing},
    )


def state_node(state: PartitionState) -> StateNode:
    """What a partition's `state` node holds. Its version is not in it: the store counts that."""
    return StateNode(state.leader, state.leader_epoch, state.isr, state.controller_epoch)


def create_operations(plan: TopicPlan, config_version: int | None = None) -> list[Operation]:
    """All nodes of a new topic, parents first, to be made as one: no controller ever finds half a topic.

    `config_version` is that of a config node which is there already, and is taken over.
    """
    image = plan.image
    path, configs = paths.topic_config(image.name), encode_config(plan.configs)
    return [
        Create(path, configs) if config_version is None else SetData(path, configs, config_version),
        Create(paths.topic(image.name), encode_topic(topic_node(image))),
        Create(paths.partitions(image.name)),
        *_partition_operations(image.partitions),
    ]


def more_partitions_operations(image: TopicImage, before: int, version: int = ANY_VERSION) -> list[Operation]:
    """`version` is that of the topic's node as it was when they were planned."""
    return [
        SetData(paths.topic(image.name), encode_topic(topic_node(image)), version),
        *_partition_operations(image.partitions[before:]),
    ]


def delete_operations(image: TopicImage, *, has_config: bool) -> list[Operation]:
    """Everything that the store knows of a topic, children first."""
    operations: list[Operation] = []
    for state in image.partitions:
        operations.append(Delete(paths.partition_state(image.name, state.partition)))
        operations.append(Delete(paths.partition(image.name, state.partition)))
    operations += [Delete(paths.partitions(image.name)), Delete(paths.topic(image.name))]
    if has_config:
        operations.append(Delete(paths.topic_config(image.name)))
    return operations


def _partition_operations(states: Sequence[PartitionState]) -> list[Operation]:
    operations: list[Operation] = []
    for state in states:
        operations.append(Create(paths.partition(state.topic, state.partition)))
        operations.append(Create(paths.partition_state(state.topic, state.partition), encode_state(state_node(state))))
    return operations
