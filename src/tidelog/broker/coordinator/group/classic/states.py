"""The states of a classic group, as a table.

`Dead` is a group that is no longer in the shard: requests that still hold it are sent to look it up again. There is no
way back from it; a group of the same id is a new one.
"""

from __future__ import annotations

from enum import Enum

from tidelog.common.state_table import Row, StateTable


class ClassicState(Enum):
    """The value is the name that DescribeGroups and ListGroups give."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_EMPTY, _PREPARING, _COMPLETING, _STABLE, _DEAD = ClassicState

CLASSIC_GROUP = StateTable(
    "Classic group",
    ClassicState.EMPTY,
    (
        Row(_EMPTY, "a member joins: wait for others for group.initial.rebalance.delay.ms", _PREPARING),
        Row(_EMPTY, "the group is deleted, or its last offset expires", _DEAD),
        Row(_PREPARING, "all known members have joined, or the rebalance time-out passed", _COMPLETING),
        Row(_PREPARING, "all members have left or failed to join again", _EMPTY),
        Row(_PREPARING, "the coordinator drops the group", _DEAD),
        Row(_COMPLETING, "the leader's assignment is committed", _STABLE),
        Row(_COMPLETING, "a member joins, leaves, fails, or does not sync in time", _PREPARING),
        Row(_COMPLETING, "the coordinator drops the group", _DEAD),
        Row(_STABLE, "a member joins, leaves, fails, or the leader joins again", _PREPARING),
        Row(_STABLE, "the coordinator drops the group", _DEAD),
    ),
    final=(ClassicState.DEAD,),
)
