"""What a member does about an error: one table per request.

The same code means different things to different requests. UNKNOWN_MEMBER_ID ends a membership when a heartbeat gets
it, and ends only a commit that was sent by the member of yesterday. What no table names is tried again if its code says
that this may help, and is told to the user else.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from tidelog.common.errors import ErrorCode


class Reaction(Enum):
    """What follows."""

    RETRY = "ask again after a while, the coordinator being looked up anew if it has moved"
    TAKE_ID = "join again at once, with the member id that the answer has"
    REJOIN = "the group rebalances: take part"
    NEW_GENERATION = "our generation is over: what we own is lost; join again under the same member id"
    NEW_MEMBER = "we are not known: what we own is lost; join again as a new member"
    TELL = "tell the user, and go on"
    ASK_USER = "tell the user; who polls again wants another try"
    FAIL = "tell the user; this member is done"


# What every request may be refused with. An instance id that somebody else uses now stays so however often we ask; a
# permission that is missing, a group that is full, or a token that could not be had, may have been set right when the
# user polls again.
_REFUSED = {
    ErrorCode.GROUP_AUTHORIZATION_FAILED: Reaction.ASK_USER,
    ErrorCode.SASL_AUTHENTICATION_FAILED: Reaction.ASK_USER,
    ErrorCode.GROUP_MAX_SIZE_REACHED: Reaction.ASK_USER,
    ErrorCode.INCONSISTENT_GROUP_PROTOCOL: Reaction.ASK_USER,
    ErrorCode.FENCED_INSTANCE_ID: Reaction.FAIL,
    ErrorCode.BROKER_NOT_AVAILABLE: Reaction.RETRY,
}

#: JoinGroup. A group that has begun another rebalance while it wrote down the last one asks for patience, not more.
JOIN: Mapping[ErrorCode, Reaction] = {
    **_REFUSED,
    ErrorCode.MEMBER_ID_REQUIRED: Reaction.TAKE_ID,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.ILLEGAL_GENERATION: Reaction.NEW_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.RETRY,
}

#: SyncGroup. A rebalance that has begun since we joined makes the answer worthless: join again at once.
SYNC: Mapping[ErrorCode, Reaction] = {
    **_REFUSED,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.ILLEGAL_GENERATION: Reaction.NEW_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
}

#: Heartbeat, which is also how members hear that the group rebalances.
HEARTBEAT: Mapping[ErrorCode, Reaction] = {
    **_REFUSED,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.ILLEGAL_GENERATION: Reaction.NEW_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
}

#: ConsumerGroupHeartbeat. A fenced member gives up what it has without committing, as somebody else has it by now.
CONSUMER_HEARTBEAT: Mapping[ErrorCode, Reaction] = {
    **_REFUSED,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.FENCED_MEMBER_EPOCH: Reaction.NEW_MEMBER,
    ErrorCode.UNRELEASED_INSTANCE_ID: Reaction.FAIL,
    ErrorCode.UNSUPPORTED_ASSIGNOR: Reaction.FAIL,
    ErrorCode.UNSUPPORTED_VERSION: Reaction.FAIL,
    ErrorCode.INVALID_REQUEST: Reaction.FAIL,
    ErrorCode.INVALID_REGULAR_EXPRESSION: Reaction.FAIL,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Reaction.TELL,
}

#: OffsetCommit, as far as it tells something of the membership.
COMMIT: Mapping[ErrorCode, Reaction] = {
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.NEW_MEMBER,
    ErrorCode.ILLEGAL_GENERATION: Reaction.NEW_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS: Reaction.REJOIN,
    ErrorCode.FENCED_INSTANCE_ID: Reaction.FAIL,
}


def reaction_to(table: Mapping[ErrorCode, Reaction], code: ErrorCode) -> Reaction:
    """What the table says, or else what the code says of itself."""
    return table.get(code) or (Reaction.RETRY if code.retriable else Reaction.FAIL)
