"""The directories come back from an Apache Kafka: what it did to the topics that the store knows. Pure.

| Kafka's metadata log | then |
|---|---|
| the topic's configs differ from those of the last time | what differs is taken over |
| has the topic no more, nor has the disk | the topic is deleted here, too |
| has another topic of that name, and so has the disk | the old one is forgotten, the new one adopted |
| is not there (ZooKeeper mode), or nobody knows what it said the last time | the topic is guarded |

Kafka's leader epochs have moved on as well; ours go on above them.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.broker.adoption.configs import merged
from tidelog.broker.adoption.disk import DiskTopic
from tidelog.broker.adoption.guard import few
from tidelog.broker.adoption.metadata_log import KafkaTopic
from tidelog.broker.adoption.situation import AdoptionPlan, Situation
from tidelog.broker.controller.topic_plans import delete_operations, state_node
from tidelog.broker.metadata.images import TopicImage
from tidelog.broker.store import paths
from tidelog.broker.store.adopted import Note
from tidelog.broker.store.api import SetData
from tidelog.broker.store.znodes import encode_state
from tidelog.common.types import NO_EPOCH
from tidelog.common.uuids import uuid_to_text


def plan_comeback(plan: AdoptionPlan, situation: Situation, before: Note, by_name: Mapping[str, KafkaTopic]) -> None:
    """Plan what becomes of the topics that the store knows.

    A topic is deleted here only when two sources agree that Kafka deleted it: its log no longer has what it had at the
    last adoption, and the disk has no partition of it. One of them alone may be a directory that is not mounted today.
    """
    for name, image in sorted(situation.known.items()):
        found, kafka = situation.disk.get(name), by_name.get(name)
        if _is_gone(plan, image, found, kafka, before, situation):
            plan.operations += delete_operations(image, has_config=name in situation.configs)
            plan.gone.add(name)
        elif found is not None:
            _raise_epochs(plan, image, found, kafka)
            if name not in situation.internal_configs:
                _renew_configs(plan, image, kafka, before, situation)
    if plan.unknown:
        plan.changes.append(f"how it configured {few(plan.unknown)} is not known")


def _is_gone(
    plan: AdoptionPlan,
    image: TopicImage,
    found: DiskTopic | None,
    kafka: KafkaTopic | None,
    before: Note,
    situation: Situation,
) -> bool:
    """Whether the store's topic is no more: deleted, or another one now bears its name.

    Ids tell, never names: `t` may have been deleted and made anew, and its records are another topic's then.
    """
    on_disk = found.topic_id if found is not None else None
    if on_disk is not None and on_disk != image.topic_id:
        plan.changes.append(f"{image.name} was deleted and made anew")
        return True
    was_kafkas = before.topics.get(image.name) == uuid_to_text(image.topic_id)
    if situation.metadata is None or not was_kafkas or (kafka is not None and kafka.topic_id == image.topic_id):
        return False
    if found is None:
        plan.changes.append(f"{image.name} was deleted")
        return True
    plan.changes.append(f"{image.name} was deleted, but is still on the disk: it is kept")
    return False


def _renew_configs(
    plan: AdoptionPlan, image: TopicImage, kafka: KafkaTopic | None, before: Note, situation: Situation
) -> None:
    """Three versions are compared, as a merge does: Kafka's of the last time, Kafka's now, and ours. Without the first
    nobody can tell who changed what; where the other two differ then, the topic is guarded."""
    name, path = image.name, paths.topic_config(image.name)
    ours = situation.configs.get(name, {})
    if kafka is None or kafka.topic_id != image.topic_id:
        if situation.metadata is None or name in before.topics:
            plan.unknown.append(name)
        return  # else a topic of our own, which Kafka knew nothing of
    now = situation.kafka_configs(name)
    if name in before.unknown:
        plan.configs[name] = dict(now)
        return
    if path not in before.configs:
        if dict(now) != dict(ours):
            plan.unknown.append(name)
        return
    values = merged(before.configs[path], now, ours)
    if values != ours:
        changed = sorted(key for key in values.keys() | ours.keys() if values.get(key) != ours.get(key))
        shown = ", ".join(f"{key}={values[key]}" if key in values else f"{key} unset" for key in changed)
        plan.changes.append(f"{name} was configured: {shown}")
        plan.configs[name] = values


def _raise_epochs(plan: AdoptionPlan, image: TopicImage, found: DiskTopic, kafka: KafkaTopic | None) -> None:
    """A leader epoch is never used twice: Kafka's leaders have written under later ones than the store knows."""
    for state in image.partitions:
        if state.partition not in found.partitions or state.is_new:
            continue
        known = kafka.partitions.get(state.partition) if kafka is not None else None
        seen = max(found.partitions[state.partition], known.leader_epoch if known is not None else NO_EPOCH)
        if seen >= state.leader_epoch:
            after = state._replace(leader_epoch=seen + 1)
            plan.operations.append(
                SetData(paths.partition_state(image.name, state.partition), encode_state(state_node(after)))
            )
