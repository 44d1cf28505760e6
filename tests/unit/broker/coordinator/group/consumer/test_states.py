"""A consumer group goes the ways of its table, and no others: the code refuses what the page does not list."""

from __future__ import annotations

from itertools import product

import pytest

from support.coordinator import GroupHarness, topic_id
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember
from tidelog.broker.coordinator.group.consumer.states import CONSUMER_GROUP, ConsumerState
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Caller, Result
from tidelog.common.state_table import IllegalTransition
from tidelog.protocol import messages as m

EMPTY, ASSIGNING, RECONCILING, STABLE, DEAD = ConsumerState


def records_of(state: ConsumerState) -> list[CoordinatorRecord]:
    """What brings a group into this state, whichever it was in."""
    group = ConsumerGroup("g")
    if state is DEAD:
        return [*group.member_tombstones("m"), CoordinatorRecord(m.ConsumerGroupMetadataKey(group_id="g"))]
    if state is EMPTY:
        return [group.epoch_record(5, 0), group.target_epoch_record(5), *group.member_tombstones("m")]
    epoch, target, own = {ASSIGNING: (6, 5, 5), RECONCILING: (5, 5, 4), STABLE: (5, 5, 5)}[state]
    member = ConsumerMember("m", epoch=own)
    return [
        member.subscription_record("g"),
        member.assignment_record("g"),
        group.epoch_record(epoch, 0),
        group.target_epoch_record(target),
    ]


@pytest.mark.parametrize(("source", "target"), [*product([EMPTY, ASSIGNING, RECONCILING, STABLE], ConsumerState)])
def test_a_step_that_is_not_in_the_table_is_refused_and_taken_back(
    source: ConsumerState, target: ConsumerState
) -> None:
    state = GroupHarness().machine().state
    for record in records_of(source):
        state.replay(record)
    assert state.groups["g"].state is source
    emitter = Emitter(state, "g")

    def step() -> Result:
        emitter.emit_all(records_of(target))
        emitter.settle()
        return emitter.result()

    if source is target or CONSUMER_GROUP.allows(source, target):
        assert emitter.guard(step).records
        assert target is DEAD or state.groups["g"].state is target
    else:
        with pytest.raises(IllegalTransition):
            emitter.guard(step)
        assert state.groups["g"].state is source


class Walker:
    """One group in a shard, and every way that it was seen to go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: set[tuple[ConsumerState, ConsumerState]] = set()
        self.harness = GroupHarness(topics={"a": 4, "b": 4})
        check = CONSUMER_GROUP.check

        def noting(source: ConsumerState, target: ConsumerState) -> ConsumerState:
            self.seen.add((source, target))
            return check(source, target)

        monkeypatch.setattr(CONSUMER_GROUP, "check", noting)

    def beat(self, member: str, epoch: int, group: str = "g", **fields: object) -> m.ConsumerGroupHeartbeatResponse:
        request = m.ConsumerGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch)
        if epoch == 0:
            request.rebalance_timeout_ms, request.topic_partitions = 60_000, []
        for name, value in fields.items():
            setattr(request, name, value)
        answer = self.harness.write(group, lambda machine: machine.consumer_heartbeat(request, Caller("c", "/h", 1)))
        assert answer.error is None, answer.error
        return answer.response

    def own(self, **topics: list[int]) -> list[object]:
        kind = m.ConsumerGroupHeartbeatRequest.TopicPartitions
        return [kind(topic_id=topic_id(name), partitions=numbers) for name, numbers in topics.items()]


def test_heartbeats_walk_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins, changes, a static member's holiday and leaves; migration and deletion have their own scenarios."""
    walk = Walker(monkeypatch)
    first = walk.beat("m1", 0, subscribed_topic_names=["a"], instance_id="i1")  # empty, assigning, reconciling, stable
    walk.beat("m2", 0, subscribed_topic_names=["a"])  # stable, assigning, reconciling: m1 has to give back
    walk.beat("m3", 0, subscribed_topic_names=["a"])  # reconciling, assigning
    walk.beat("m3", -1)
    walk.beat("m2", -1)
    epoch = walk.beat(
        "m1", first.member_epoch, instance_id="i1", topic_partitions=walk.own(a=[0, 1, 2, 3])
    ).member_epoch
    walk.beat("m1", -2, instance_id="i1")  # stable, reconciling: away for a while
    epoch = walk.beat("m1b", 0, instance_id="i1", subscribed_topic_names=["a"]).member_epoch
    assert epoch > 0
    walk.beat("m1b", -1, instance_id="i1")  # stable, empty
    walk.beat("n", 0, group="h", subscribed_topic_names=[])  # empty, reconciling: it wants nothing yet
    walked = {(EMPTY, ASSIGNING), (EMPTY, RECONCILING), (ASSIGNING, RECONCILING), (RECONCILING, STABLE)}
    walked |= {(RECONCILING, ASSIGNING), (STABLE, ASSIGNING), (STABLE, RECONCILING), (STABLE, EMPTY)}
    assert walked <= walk.seen
    assert walk.seen <= {(row.source, row.target) for row in CONSUMER_GROUP.rows}


def test_a_refused_join_leaves_no_group_behind() -> None:
    """A group comes into being by its first record; before that there is nothing that a reload would not know."""
    harness = GroupHarness(GroupConfig(consumer_max_size=0), topics={"a": 1})
    request = m.ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_names=["a"], topic_partitions=[]
    )
    answer = harness.write("g", lambda machine: machine.consumer_heartbeat(request, Caller("c", "/h", 1)))
    assert answer.code.name == "GROUP_MAX_SIZE_REACHED"
    assert harness.machine().state.groups == {}
    assert harness.log.batches == {}
