"""The states of a consumer group (KIP-848) and of one of its members, as tables.

A consumer group's state is derived: it is Empty without members, Assigning while its target assignment is older than
its epoch, Reconciling while a member has not reached the target, and Stable else. Nothing stores it, and replay asks no
table: the log is what it is. While requests are served, `Emitter.settle` holds each step to the rows below.

A member's state is durable, as it says what the coordinator waits for.
"""

from __future__ import annotations

from enum import Enum

from tidelog.common.state_table import Row, StateTable


class ConsumerState(Enum):
    """The value is the name that ConsumerGroupDescribe and ListGroups give."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(Enum):
    """The value is what ConsumerGroupCurrentMemberAssignmentValue.State holds.

    STABLE                  it has everything that the target of its epoch gives it
    UNREVOKED_PARTITIONS    it must give back partitions first; it keeps its old epoch until it has
    UNRELEASED_PARTITIONS   it is at the target's epoch and waits for partitions that others have not released yet
    UNKNOWN                 a newer broker wrote a state that this one does not know
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


_EMPTY, _ASSIGNING, _RECONCILING, _STABLE, _DEAD = ConsumerState

CONSUMER_GROUP = StateTable(
    "Consumer group",
    ConsumerState.EMPTY,
    (
        Row(_EMPTY, "a member joins: the group's epoch is bumped", _ASSIGNING),
        Row(_EMPTY, "a member joins that subscribes to nothing yet: nothing has to be assigned", _RECONCILING),
        Row(_EMPTY, "a classic group is upgraded: its members keep what they have", _STABLE),
        Row(_EMPTY, "the group is deleted, or its last offset expires", _DEAD),
        Row(_ASSIGNING, "the target assignment of the group's epoch is computed", _RECONCILING),
        Row(_RECONCILING, "every member has reached the target assignment", _STABLE),
        Row(_RECONCILING, "a subscription, the members or the topics change", _ASSIGNING),
        Row(_RECONCILING, "the last member leaves", _EMPTY),
        Row(_RECONCILING, "only classic members are left: the group is downgraded", _DEAD),
        Row(_STABLE, "a subscription, the members or the topics change", _ASSIGNING),
        Row(_STABLE, "a static member leaves for a while or is replaced; a member drops topics", _RECONCILING),
        Row(_STABLE, "the last member leaves", _EMPTY),
        Row(_STABLE, "only classic members are left: the group is downgraded", _DEAD),
        Row(_ASSIGNING, "the last member leaves", _EMPTY),
        Row(_ASSIGNING, "only classic members are left: the group is downgraded", _DEAD),
    ),
    final=(ConsumerState.DEAD,),
)

_M = MemberState
CONSUMER_MEMBER = StateTable(
    "Member of a consumer group",
    MemberState.STABLE,
    (
        Row(_M.STABLE, "the target takes partitions away", _M.UNREVOKED_PARTITIONS),
        Row(_M.STABLE, "the target gives partitions that others still own", _M.UNRELEASED_PARTITIONS),
        Row(_M.STABLE, "the target gives free partitions only", _M.STABLE),
        Row(
            _M.UNREVOKED_PARTITIONS, "the member has revoked them, and newer targets take more", _M.UNREVOKED_PARTITIONS
        ),
        Row(
            _M.UNREVOKED_PARTITIONS,
            "the member has revoked them; others still own some of its new ones",
            _M.UNRELEASED_PARTITIONS,
        ),
        Row(_M.UNREVOKED_PARTITIONS, "the member has revoked them", _M.STABLE),
        Row(_M.UNRELEASED_PARTITIONS, "a newer target takes partitions away", _M.UNREVOKED_PARTITIONS),
        Row(_M.UNRELEASED_PARTITIONS, "some partitions became free", _M.UNRELEASED_PARTITIONS),
        Row(_M.UNRELEASED_PARTITIONS, "all partitions became free", _M.STABLE),
        Row(_M.UNKNOWN, "written by a newer broker: the member has started anew", _M.STABLE),
        Row(_M.UNKNOWN, "the same, and others still own some of its partitions", _M.UNRELEASED_PARTITIONS),
    ),
)
