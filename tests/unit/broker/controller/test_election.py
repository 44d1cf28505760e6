"""Who leads, and when nobody may."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.controller.election import Reason, elect
from tidelog.broker.metadata.images import PartitionState


def state(**changes: object) -> PartitionState:
    base = PartitionState("t", 0, bytes(16), 1, 3, (1, 2, 3), (1, 2, 3), 1, 7)
    return base._replace(**changes)


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
