"""The states of a member of a group, as tables: a step that has no row here raises.

A classic member (JoinGroup, SyncGroup):

    unjoined → revoking → joining → syncing → reconciling → stable → revoking → …

A member of a consumer group (KIP-848) has no barrier at which all wait for all; it is told of a new assignment by a
heartbeat, works towards it, and says when it is done:

    joining → stable → reconciling → acknowledging → stable → …

Offsets may be committed in every state but `joining` and `syncing` of the classic protocol: there the generation that
we know is about to end, or not confirmed yet, and commits wait until it is settled.
"""

from __future__ import annotations

from enum import Enum

from tidelog.common.state_table import Row, StateTable


class ClassicMemberState(Enum):
    """The value is the word that `health` shows.

    REVOKING      the group rebalances; what has to go first waits for the user's turn. The old generation still counts.
    JOINING       our JoinGroup is with the coordinator, which answers when all members have joined
    SYNCING       we are in the new generation; the leader shares out, the others wait for their part
    RECONCILING   the part is known; listeners run in the user's turn
    IDLE          we have left because the user does not poll, and join again when that changes
    """

    UNJOINED = "unjoined"
    REVOKING = "revoking"
    JOINING = "joining"
    SYNCING = "syncing"
    RECONCILING = "reconciling"
    STABLE = "stable"
    IDLE = "idle"
    FAILED = "failed"
    LEFT = "left"


class ConsumerMemberState(Enum):
    """The same for KIP-848.

    RECONCILING     the coordinator gave us another part; listeners run in the user's turn
    ACKNOWLEDGING   we own that part, and the heartbeat that says so is on its way
    FENCED          we are not known any more; what we had is given up in the user's turn, then we join anew
    """

    UNJOINED = "unjoined"
    JOINING = "joining"
    STABLE = "stable"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    FENCED = "fenced"
    IDLE = "idle"
    FAILED = "failed"
    LEFT = "left"


_UNJOINED, _REVOKING, _JOINING, _SYNCING, _RECONCILING, _STABLE, _IDLE, _FAILED, _LEFT = ClassicMemberState
_IN_GROUP = (_REVOKING, _JOINING, _SYNCING, _RECONCILING, _STABLE)

CLASSIC_MEMBER = StateTable(
    "Classic member",
    _UNJOINED,
    (
        Row(_UNJOINED, "there is a subscription: what we still have goes first", _REVOKING),
        Row(_REVOKING, "the partitions that must go are given back (eager: all)", _JOINING),
        Row(_JOINING, "the coordinator has all members: we are in the new generation", _SYNCING),
        Row(_SYNCING, "the leader's assignment is there", _RECONCILING),
        Row(_SYNCING, "the next rebalance has begun meanwhile", _REVOKING),
        Row(_RECONCILING, "what we lose is given back, what we gain is taken", _STABLE),
        Row(_RECONCILING, "a listener failed in a way that may pass: begin again", _REVOKING),
        Row(_STABLE, "the group rebalances, or we ask it to", _REVOKING),
        *(Row(state, "the coordinator does not know us or our generation", _UNJOINED) for state in _IN_GROUP),
        *(Row(state, "the user has not polled for max.poll.interval.ms", _IDLE) for state in (_UNJOINED, *_IN_GROUP)),
        Row(_IDLE, "the user polls again", _UNJOINED),
        *(Row(state, "an error that trying again does not help", _FAILED) for state in (_UNJOINED, *_IN_GROUP)),
        Row(_FAILED, "the user polls again after an error that may have been set right", _UNJOINED),
        *(Row(state, "the consumer leaves", _LEFT) for state in (_UNJOINED, *_IN_GROUP, _IDLE, _FAILED)),
    ),
    final=(_LEFT,),
)

_C = ConsumerMemberState
_MEMBER = (_C.JOINING, _C.STABLE, _C.RECONCILING, _C.ACKNOWLEDGING)
_ALIVE = (_C.UNJOINED, _C.FENCED, *_MEMBER)

CONSUMER_MEMBER = StateTable(
    "Member of a consumer group",
    _C.UNJOINED,
    (
        Row(_C.UNJOINED, "there is a subscription: a heartbeat with epoch 0", _C.JOINING),
        Row(_C.JOINING, "the answer has no new partitions", _C.STABLE),
        Row(_C.JOINING, "the answer has an assignment that is not what we own", _C.RECONCILING),
        Row(_C.STABLE, "an answer has an assignment that is not what we own", _C.RECONCILING),
        Row(_C.RECONCILING, "we own what it says: the next heartbeat tells so", _C.ACKNOWLEDGING),
        Row(_C.ACKNOWLEDGING, "the heartbeat is answered", _C.STABLE),
        Row(_C.ACKNOWLEDGING, "the answer has the next assignment", _C.RECONCILING),
        *(Row(state, "the coordinator does not know us or our epoch", _C.FENCED) for state in _MEMBER),
        Row(_C.FENCED, "what we had is given up as lost: join as new", _C.UNJOINED),
        *(Row(state, "the user has not polled for max.poll.interval.ms", _C.IDLE) for state in _ALIVE),
        Row(_C.IDLE, "the user polls again", _C.UNJOINED),
        *(Row(state, "an error that trying again does not help", _C.FAILED) for state in _ALIVE),
        Row(_C.FAILED, "the user polls again after an error that may have been set right", _C.UNJOINED),
        *(Row(state, "the consumer leaves", _C.LEFT) for state in _C if state is not _C.LEFT),
    ),
    final=(_C.LEFT,),
)
