"""Placement, election and topic plans: the controller's decisions, as pure functions."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.controller.placement import check_assignment, place_replicas
from tidelog.broker.controller.topic_plans import (
    Cluster,
    NewTopic,
    create_operations,
    delete_operations,
    plan_more_partitions,
    plan_topic,
)
from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.broker.metadata.names import check_collision, check_topic_name, is_valid_topic_name
from tidelog.broker.store.api import Create
from tidelog.broker.store.tree import Tree
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng


def brokers(count: int, racks: int = 0) -> dict[int, BrokerImage]:
    return {i: BrokerImage(i, {}, f"r{i % racks}" if racks else None) for i in range(1, count + 1)}


def cluster(count: int = 1, topics: tuple[str, ...] = ()) -> Cluster:
    return Cluster(topics, brokers(count), 5, 2, 1)


def state(**changes: object) -> PartitionState:
    base = PartitionState("t", 0, bytes(16), 1, 3, (1, 2, 3), (1, 2, 3), 1, 7)
    return base._replace(**changes)


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "A-b_c.d", "0", "x" * 249])
def test_good_names(name):
    check_topic_name(name)


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 250, "a b", "a/b", "ä", "a\n"])
def test_bad_names(name):
    assert not is_valid_topic_name(name)
    with pytest.raises(KafkaError) as caught:
        check_topic_name(name)
    assert caught.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_names_that_differ_in_dots_and_underscores_only_collide():
    check_collision("a.b", ["a-b", "a.b"])
    with pytest.raises(KafkaError, match="collides with existing topic: a_b"):
        check_collision("a.b", ["x", "a_b"])


# -- placement -------------------------------------------------------------------------------------------------------


@given(
    count=st.integers(1, 40),
    nodes=st.integers(1, 9),
    racks=st.integers(0, 4),
    factor=st.integers(1, 9),
    seed=st.integers(),
)
def test_replicas_are_distinct_spread_and_led_evenly(count, nodes, racks, factor, seed):
    factor = min(factor, nodes)
    known = brokers(nodes, racks)
    placed = place_replicas(count, factor, list(known.values()), seeded_rng(seed))
    assert len(placed) == count
    for replicas in placed:
        assert len(set(replicas)) == factor
        assert set(replicas) <= set(known)
        available = len({image.rack for image in known.values()})
        assert len({known[node].rack for node in replicas}) == min(factor, available)
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[node] for node in known) <= 1


def test_more_replicas_than_brokers_is_refused():
    with pytest.raises(KafkaError, match="only 1 broker") as caught:
        place_replicas(1, 2, list(brokers(1).values()), seeded_rng(0))
    assert caught.value.code is ErrorCode.INVALID_REPLICATION_FACTOR


@pytest.mark.parametrize(
    ("replicas", "expected", "says"),
    [
        ([], None, "empty replica list"),
        ([1, 9], None, "broker 9"),
        ([1, 1], None, "more than once"),
        ([1], 2, "consistent"),
    ],
)
def test_manual_assignments_are_checked(replicas, expected, says):
    with pytest.raises(KafkaError, match=says) as caught:
        check_assignment(replicas, brokers(3), expected)
    assert caught.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


# -- election --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "before", "alive", "leader", "isr", "epoch"),
    [
        (Reason.OFFLINE, state(), {2, 3}, 2, (2, 3), 4),
        (Reason.OFFLINE, state(isr=(1, 3)), {2, 3}, 3, (3,), 4),
        (Reason.OFFLINE, state(isr=(1,)), {2, 3}, -1, (1,), 4),
        (Reason.UNCLEAN, state(isr=(1,)), {2, 3}, 2, (2,), 4),
        (Reason.UNCLEAN, state(isr=(1, 3)), {2, 3}, 3, (3,), 4),
        (Reason.UNCLEAN, state(), set(), -1, (1, 2, 3), 4),
        (Reason.PREFERRED, state(leader=2), {1, 2, 3}, 1, (1, 2, 3), 4),
        (Reason.PREFERRED, state(leader=2, isr=(2, 3)), {1, 2, 3}, 2, (2, 3), 3),
        (Reason.SHUTDOWN, state(), {2, 3}, 2, (2, 3), 4),
        (Reason.SHUTDOWN, state(isr=(1,)), {2, 3}, 1, (1,), 3),
    ],
)
def test_elections(reason, before, alive, leader, isr, epoch):
    after = elect(before, reason, alive, 9)
    assert (after.leader, after.isr, after.leader_epoch) == (leader, isr, epoch)


@given(
    replicas=st.lists(st.integers(1, 6), min_size=1, max_size=5, unique=True),
    alive=st.sets(st.integers(1, 6)),
    data=st.data(),
)
def test_without_unclean_elections_only_replicas_in_sync_lead(replicas, alive, data):
    isr = tuple(data.draw(st.lists(st.sampled_from(replicas), min_size=1, unique=True)))
    before = state(replicas=tuple(replicas), isr=isr, leader=isr[0])
    after = elect(before, Reason.OFFLINE, alive, 9)
    assert after.leader == -1 or (after.leader in isr and after.leader in alive and after.leader in after.isr)
    assert after.leader_epoch >= before.leader_epoch


# -- plans -----------------------------------------------------------------------------------------------------------


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


def test_images_print_their_partition():
    image = TopicImage("t", bytes(16), [state()], False)
    assert str(image.partitions[0].tp) == "t-0"
