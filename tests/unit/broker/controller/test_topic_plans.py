"""Topics made, grown and deleted, as plans: checks, defaults, and the store operations."""

from __future__ import annotations

import pytest

from tidelog.broker.controller.topic_plans import (
    ClusterFacts,
    NewTopic,
    create_operations,
    delete_operations,
    plan_more_partitions,
    plan_topic,
)
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.store.api import Create
from tidelog.broker.store.tree import Tree
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng


def cluster(count: int = 1, topics: tuple[str, ...] = ()) -> ClusterFacts:
    brokers = {i: BrokerImage(i, {}) for i in range(1, count + 1)}
    return ClusterFacts(topics, brokers, 5, 2, 1)


def test_a_plan_fills_in_the_defaults():
    plan = plan_topic(NewTopic("t"), cluster(), seeded_rng(1))
    assert len(plan.image.partitions) == 2
    assert all(s.leader == 1 and s.isr == (1,) and s.leader_epoch == 0 and s.is_new for s in plan.image.partitions)
    assert plan.replication_factor == 1


@pytest.mark.parametrize(
    ("new", "code"),
    [
        (NewTopic("t", 0), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", -2), ErrorCode.INVALID_PARTITIONS),
        (NewTopic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 1, 2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (NewTopic("t", 20_000), ErrorCode.POLICY_VIOLATION),
        (NewTopic("old"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (NewTopic("o.ld"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t", 1, -1, {0: [1]}), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, 1, {0: [1]}), ErrorCode.INVALID_REQUEST),
        (NewTopic("t", -1, -1, {1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", -1, -1, {0: [1]}, {}, (0,)), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("t", configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_refused_topics(new, code):
    with pytest.raises(KafkaError) as caught:
        plan_topic(new, cluster(topics=("old", "o_ld")), seeded_rng(1))
    assert caught.value.code is code


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (4, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_refused_growth(count, assignments, code):
    image = plan_topic(NewTopic("t", 2), cluster(), seeded_rng(1)).image
    with pytest.raises(KafkaError) as caught:
        plan_more_partitions(image, count, assignments, cluster(), seeded_rng(1))
    assert caught.value.code is code


def test_growth_keeps_the_old_partitions():
    image = plan_topic(NewTopic("t", 2), cluster(), seeded_rng(1)).image
    after = plan_more_partitions(image, 5, None, cluster(), seeded_rng(1))
    assert after.partitions[:2] == image.partitions
    assert [s.partition for s in after.partitions] == list(range(5))


def test_what_a_plan_creates_its_deletion_removes():
    tree = Tree()
    tree.apply([Create(path) for path in ("/brokers", "/brokers/topics", "/config", "/config/topics")], 1)
    before = set(tree.nodes)
    plan = plan_topic(NewTopic("t", 3, configs={"retention.ms": "1"}), cluster(), seeded_rng(1))
    tree.apply(create_operations(plan), 1)
    assert b'"retention.ms":"1"' in tree.nodes["/config/topics/t"].data
    tree.apply(delete_operations(plan.image, has_config=True), 1)
    assert set(tree.nodes) == before
