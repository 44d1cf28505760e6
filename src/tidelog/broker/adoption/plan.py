"""What to write into the store so that the topics on disk are served. Pure.

Three sources, strongest first: the store (what Tidelog itself knows), KRaft's metadata log, the directories. Each topic
on disk that the store does not know is made known: with the metadata log's configs, replicas and epochs where there is
one. Partitions that the cluster had and this directory does not are kept in the count, without a leader: their records
are elsewhere, and an empty log in their place would be a lie. What a Kafka changed that served the directories in
between is planned in `comeback.py`.
"""

from __future__ import annotations

from tidelog.broker.adoption.comeback import plan_comeback
from tidelog.broker.adoption.disk import DiskTopic
from tidelog.broker.adoption.metadata_log import KafkaTopic
from tidelog.broker.adoption.situation import AdoptionPlan, Situation
from tidelog.broker.controller.topic_plans import TopicPlan, create_operations, more_partitions_operations
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.common.rng import Rng
from tidelog.common.types import INTERNAL_TOPICS, NO_NODE
from tidelog.common.uuids import random_uuid

#: Stands for "some other broker, nobody knows which" among a partition's replicas.
ELSEWHERE = 2**31 - 1


def plan_adoption(situation: Situation, rng: Rng) -> AdoptionPlan:
    """In the order of names, so that the same directories give the same plan."""
    plan = AdoptionPlan()
    by_name = situation.by_name
    if situation.before is not None:
        plan_comeback(plan, situation, situation.before, by_name)
    for name, found in sorted(situation.disk.items()):
        image = situation.known.get(name) if name not in plan.gone else None
        if image is not None:
            _extend(plan, image, found, situation)
        else:
            _take(plan, name, found, by_name.get(name), situation, rng)
    return plan


def _take(
    plan: AdoptionPlan, name: str, found: DiskTopic, kafka: KafkaTopic | None, situation: Situation, rng: Rng
) -> None:
    """A topic that the store does not know. Its id is the directory's, else the metadata log's, else a new one: clients
    that know the topic by its id go on with it."""
    if kafka is not None and found.topic_id not in (None, kafka.topic_id):
        kafka = None  # a topic of that name was made anew: the metadata log's is another one
    # Internal topics have the same configs everywhere.
    configs = situation.kafka_configs(name) if kafka is not None else situation.internal_configs.get(name)
    topic_id = found.topic_id or (kafka.topic_id if kafka is not None else random_uuid(rng))
    count = max([*found.partitions, *(kafka.partitions if kafka is not None else ())]) + 1
    states = [_state(name, topic_id, index, found, kafka, situation) for index in range(count)]
    image = TopicImage(name, topic_id, states, name in INTERNAL_TOPICS)
    plan.operations += create_operations(TopicPlan(image, {}))
    plan.configs[name] = dict(configs or {})
    plan.adopted.append(name)
    if configs is None:
        plan.unknown.append(name)


def _state(
    name: str, topic_id: bytes, index: int, found: DiskTopic, kafka: KafkaTopic | None, situation: Situation
) -> PartitionState:
    """This node leads what lies here, alone: the other replicas were those of a cluster that is no more."""
    known = kafka.partitions.get(index) if kafka is not None else None
    epoch = known.leader_epoch if known is not None else -1
    node_id, controller_epoch = situation.node_id, situation.controller_epoch
    if index not in found.partitions:
        replicas = known.replicas if known is not None and node_id not in known.replicas else (ELSEWHERE,)
        return PartitionState(name, index, topic_id, NO_NODE, max(epoch, 0), (), replicas, controller_epoch)
    # A new leader epoch: whatever the old cluster's leader wrote after this directory was left is not here.
    epoch = max(epoch, found.partitions[index]) + 1
    return PartitionState(name, index, topic_id, node_id, epoch, (node_id,), (node_id,), controller_epoch)


def _extend(plan: AdoptionPlan, image: TopicImage, found: DiskTopic, situation: Situation) -> None:
    """A topic that the store knows, with more partitions on disk: another Kafka served the directory in between."""
    before = len(image.partitions)
    if max(found.partitions, default=-1) < before:
        return
    more = [
        _state(image.name, image.topic_id, index, found, None, situation)
        for index in range(before, max(found.partitions) + 1)
    ]
    after = image._replace(partitions=image.partitions + more)
    plan.operations += more_partitions_operations(after, before)
    plan.adopted.append(image.name)
