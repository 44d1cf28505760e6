"""The time-outs of a consumer group's members, and the fencing of those who miss them.

("session", group, member)     the member has been silent
("rebalance", group, member)   the member does not give back what it must
("join", group, member), ("sync", group, member)   a classic member does not come back for its part of a rebalance
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.kinds import Kinds
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember
from tidelog.broker.coordinator.group.consumer.states import MemberState
from tidelog.broker.coordinator.group.consumer.update import ConsumerUpdate
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.timers import Timers

logger = logging.getLogger(__name__)

_KINDS = ("session", "rebalance", "join", "sync")


class ConsumerSessions:
    """A member that misses a time-out is fenced: it is taken out, its partitions go to others, and if it comes back it
    is told UNKNOWN_MEMBER_ID and joins as a new one.
    """

    def __init__(
        self, state: GroupShardState, timers: Timers, update: ConsumerUpdate, kinds: Kinds, config: GroupConfig
    ) -> None:
        self._state = state
        self._timers = timers
        self._update = update
        self._kinds = kinds
        self._config = config

    def keep_alive(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """A sign of life: the session starts anew; a member that must give back partitions has limited time for it."""
        timeout = self._config.session_timeout_of(group.group_id)
        if member.classic is not None:
            timeout = member.classic.session_timeout_ms
        self._set("session", group, member, timeout, "its session timed out")
        if member.classic is not None:
            return
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self._watch_revocation(group, member)
        else:
            self._timers.cancel(("rebalance", group.group_id, member.member_id))

    def expect_join(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """A classic member was told to rejoin."""
        key = ("join", group.group_id, member.member_id)
        if key not in self._timers:
            self._set("join", group, member, member.rebalance_timeout_ms, "it did not join again")

    def expect_sync(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """A classic member has its JoinGroup answer: the next thing to come from it is a SyncGroup."""
        self._timers.cancel(("join", group.group_id, member.member_id))
        self._set("sync", group, member, member.rebalance_timeout_ms, "it did not sync")

    def synced(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """It came; from here on its session counts."""
        self._timers.cancel(("sync", group.group_id, member.member_id))
        self.keep_alive(group, member)

    def resume(self, group: ConsumerGroup) -> None:
        """After a load all sessions start anew: how much of each had passed is not in the log, and members must have
        time to find their new coordinator.
        """
        for member in list(group.members.values()):
            self.keep_alive(group, member)

    def cancel(self, group_id: str, member_id: str) -> None:
        """Watch the member no more, for whatever it was watched."""
        for kind in _KINDS:
            self._timers.cancel((kind, group_id, member_id))

    def fence(self, group: ConsumerGroup, members: Iterable[ConsumerMember], emitter: Emitter) -> None:
        """Take members out. If only classic ones are left, the group becomes a classic one again.

        Timers are cancelled first, and are soft: should the write be refused, `GroupShardState.remember` has the
        sessions of everybody who is back begin anew.
        """
        gone = list(members)
        for member in gone:
            self.cancel(group.group_id, member.member_id)
        if self._kinds.can_downgrade(group, gone):
            for member_id in group.members:
                self.cancel(group.group_id, member_id)
            self._kinds.to_classic(group, gone, emitter, "members of the new protocol left")
        else:
            self._update.remove(group, gone, emitter)

    def _set(self, kind: str, group: ConsumerGroup, member: ConsumerMember, timeout_ms: int, reason: str) -> None:
        group_id, member_id = group.group_id, member.member_id
        self._timers.set((kind, group_id, member_id), timeout_ms, lambda: self._expired(group_id, member_id, reason))

    def _watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """Time to give back partitions counts from when it was first asked for, and is not extended by heartbeats that
        come without them. The member may have done it by then and be asked for others at a later epoch: that has a time
        of its own.
        """
        group_id, member_id, epoch = group.group_id, member.member_id, member.epoch

        def expired() -> Result | None:
            present = self._state.groups.get(group_id)
            if isinstance(present, ConsumerGroup) and member_id in present.members:
                late = present.members[member_id]
                if late.epoch == epoch and late.state is MemberState.UNREVOKED_PARTITIONS:
                    return self._expired(group_id, member_id, "it did not give back its partitions in time")
            return None

        self._timers.set_if_absent(("rebalance", group_id, member_id), member.rebalance_timeout_ms, expired)

    def _expired(self, group_id: str, member_id: str, reason: str) -> Result | None:
        """The member may be gone, or the group of another kind, by the time its timer fires."""
        group = self._state.groups.get(group_id)
        if not isinstance(group, ConsumerGroup) or member_id not in group.members:
            return None
        logger.info("group %s: member %s is fenced: %s", group_id, member_id, reason)
        emitter = Emitter(self._state, group_id)

        def fence() -> Result:
            self.fence(group, [group.members[member_id]], emitter)
            return emitter.result()

        return emitter.guard(fence)
