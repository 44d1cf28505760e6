"""What to write into the store so that the topics on disk are served. Pure.

Three sources, strongest first: the store (what Tidelog itself knows), KRaft's metadata log, the directories. Each topic
on disk that the store does not know is made known: with the metadata log's configs, replicas and epochs where there is
one. Partitions that the cluster had and this directory does not are kept in the count, without a leader: their records
are elsewhere, and an empty log in their place would be a lie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.broker.adoption.disk import DiskTopic
from tidelog.broker.adoption.metadata_log import KafkaMetadata, KafkaTopic
from tidelog.broker.controller.images import PartitionState, TopicImage
from tidelog.broker.controller.topic_plans import TopicPlan, create_operations, more_partitions_operations
from tidelog.broker.store.api import Operation
from tidelog.common.rng import Rng
from tidelog.common.types import INTERNAL_TOPICS, NO_NODE
from tidelog.common.uuids import random_uuid

#: Stands for "some other broker, nobody knows which" among a partition's replicas.
ELSEWHERE = 2**31 - 1
TOPIC_RESOURCE = 2


@dataclass
class AdoptionPlan:
    operations: list[Operation] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)
    #: Topics whose configs nobody knows.
    unknown: list[str] = field(default_factory=list)


def plan_adoption(
    disk: Mapping[str, DiskTopic],
    known: Mapping[str, TopicImage],
    metadata: KafkaMetadata | None,
    *,
    node_id: int,
    controller_epoch: int,
    internal_configs: Mapping[str, Mapping[str, str]],
    rng: Rng,
) -> AdoptionPlan:
    plan = AdoptionPlan()
    by_name = {topic.name: topic for topic in metadata.topics.values()} if metadata is not None else {}
    for name, found in sorted(disk.items()):
        image = known.get(name)
        if image is not None:
            _extend(plan, image, found, node_id, controller_epoch)
            continue
        kafka = by_name.get(name)
        if kafka is not None and found.topic_id not in (None, kafka.topic_id):
            kafka = None  # a topic of that name was made anew: the metadata log's is another one
        configs = _configs(name, kafka, metadata, internal_configs)
        topic_id = found.topic_id or (kafka.topic_id if kafka is not None else random_uuid(rng))
        count = max([*found.partitions, *(kafka.partitions if kafka is not None else ())]) + 1
        states = [_state(name, topic_id, index, found, kafka, node_id, controller_epoch) for index in range(count)]
        image = TopicImage(name, topic_id, states, name in INTERNAL_TOPICS)
        plan.operations += create_operations(TopicPlan(image, dict(configs or {})))
        plan.adopted.append(name)
        if configs is None:
            plan.unknown.append(name)
    return plan


def _configs(
    name: str,
    kafka: KafkaTopic | None,
    metadata: KafkaMetadata | None,
    internal: Mapping[str, Mapping[str, str]],
) -> Mapping[str, str] | None:
    """The topic's configs, or None when nobody knows them. Internal topics have the same everywhere."""
    if kafka is not None and metadata is not None:
        return metadata.configs.get((TOPIC_RESOURCE, name), {})
    return internal.get(name)


def _state(
    name: str,
    topic_id: bytes,
    index: int,
    found: DiskTopic,
    kafka: KafkaTopic | None,
    node_id: int,
    controller_epoch: int,
) -> PartitionState:
    known = kafka.partitions.get(index) if kafka is not None else None
    epoch = known.leader_epoch if known is not None else -1
    if index not in found.partitions:
        replicas = known.replicas if known is not None and node_id not in known.replicas else (ELSEWHERE,)
        return PartitionState(name, index, topic_id, NO_NODE, max(epoch, 0), (), replicas, controller_epoch)
    # A new leader epoch: whatever the old cluster's leader wrote after this directory was left is not here.
    epoch = max(epoch, found.partitions[index]) + 1
    return PartitionState(name, index, topic_id, node_id, epoch, (node_id,), (node_id,), controller_epoch)


def _extend(plan: AdoptionPlan, image: TopicImage, found: DiskTopic, node_id: int, controller_epoch: int) -> None:
    """A topic that the store knows, with more partitions on disk: another Kafka served the directory in between."""
    before = len(image.partitions)
    if max(found.partitions, default=-1) < before:
        return
    more = [
        _state(image.name, image.topic_id, index, found, None, node_id, controller_epoch)
        for index in range(before, max(found.partitions) + 1)
    ]
    after = image._replace(partitions=image.partitions + more)
    plan.operations += more_partitions_operations(after, before)
    plan.adopted.append(image.name)
