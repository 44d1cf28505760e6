"""Replicas placed by us, and by hand."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.controller.placement import check_assignment, place_replicas
from tidelog.broker.metadata.images import BrokerImage
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng


def brokers(count: int, racks: int = 0) -> dict[int, BrokerImage]:
    return {i: BrokerImage(i, {}, f"r{i % racks}" if racks else None) for i in range(1, count + 1)}


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
