"""A member of a classic group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

A rebalance is a barrier. The coordinator tells every member by its next heartbeat, each gives back what it must and
sends JoinGroup; when all have joined, a new generation begins, the leader shares out, and SyncGroup brings everybody
its part. `_rebalance` is that, from the one member's side; `states.CLASSIC_MEMBER` has its steps.

Eager or cooperative: before it joins, an eager member gives back all that it owns. A cooperative one keeps it, and
gives back only what the new assignment takes from it, after which it joins once more, so that others can have it.

A step that waits may wait for long: `_prepare` and `_take_over` for the user's turn, `_join` for the slowest member.
Heartbeats go on meanwhile where the coordinator counts on them. In `joining` and `syncing` it holds a request of ours,
which is as good; and as it answers a connection's requests in order, a heartbeat would only queue behind that.

Who we are (member id, generation) is lost when the coordinator says so; then what we own may be somebody else's
already, and is *lost* rather than revoked: no commit for it counts.
"""

from __future__ import annotations

import asyncio
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.assignors.assignor import Assignment, Assignor, RebalanceProtocol
from tidelog.client.consumer.assignors.lookup import assignors_of, common_protocol
from tidelog.client.consumer.host import GroupHost
from tidelog.client.consumer.membership import reactions
from tidelog.client.consumer.membership.base import MembershipBase, logger
from tidelog.client.consumer.membership.classic_requests import (
    Generation,
    Group,
    assignment_of,
    heartbeat_request,
    join_request,
    leave_request,
    members_of,
    sync_request,
)
from tidelog.client.consumer.membership.leader import GroupLeader
from tidelog.client.consumer.membership.reactions import Reaction, reaction_to
from tidelog.client.consumer.membership.states import CLASSIC_MEMBER, ClassicMemberState
from tidelog.client.values import ConsumerGroupMetadata
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net.pauses import pause
from tidelog.protocol.api import ApiKey

#: The coordinator answers a JoinGroup when the rebalance times out at the latest; the answer needs a while, too.
_JOIN_LAPSE = 5.0
#: How long one who leaves waits for the answer to a JoinGroup that may be on its way.
_LAST_WORD = 1.0
#: States in which the coordinator must hear from us. In `joining` and `syncing` it holds a request of ours.
_BEATING = (ClassicMemberState.REVOKING, ClassicMemberState.RECONCILING, ClassicMemberState.STABLE)
_MOVING = (ClassicMemberState.JOINING, ClassicMemberState.SYNCING)


class ClassicMembership(MembershipBase[ClassicMemberState]):
    """One consumer's place in a classic group.

    `_me` is who the coordinator takes us for, and what commits are sent with. `_reason` is why we should join (again):
    None means that all is well. Everybody may set it; only the walking task takes it away, when it joins.
    """

    def __init__(self, cluster: ClusterClient, host: GroupHost, config: Config) -> None:
        super().__init__(cluster, host, config, CLASSIC_MEMBER)
        self._group = Group(
            self._group_id,
            self._instance_id,
            config[keys.SESSION_TIMEOUT_MS],
            config[keys.MAX_POLL_INTERVAL_MS],
            config[keys.CLIENT_RACK] or None,
        )
        strategy = config[keys.PARTITION_ASSIGNMENT_STRATEGY]
        self._assignors = assignors_of(strategy)
        for assignor in self._assignors:
            assignor.configure(getattr(config, "originals", {}))
        self._protocol = common_protocol(self._assignors)
        self._interval = config[keys.HEARTBEAT_INTERVAL_MS] / 1000
        self._join_timeout = max(
            config[common.REQUEST_TIMEOUT_MS] / 1000, config[keys.MAX_POLL_INTERVAL_MS] / 1000 + _JOIN_LAPSE
        )
        self._me = Generation()
        self._leader: GroupLeader | None = None
        self._leaving = self._ending = self._held = False
        self._joined_topics: frozenset[str] = frozenset()
        self._reason: str | None = "the consumer starts"  # why to join (again); None: no need to

    # --- what the consumer calls --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to join; the user's first poll may be later, and finds the partitions there."""
        self._spawn(self._walk(), self._beat(), self._watch_polls())

    def subscription_changed(self) -> None:
        if self._host.topics() != self._joined_topics:
            self._rejoin("the subscription has changed")

    def metadata_changed(self) -> None:
        """Only the leader cares, and only at rest: a rebalance that is under way ends with a look at the topics."""
        if self._at is ClassicMemberState.STABLE and self._leader is not None and self._leader.changed():
            self._rejoin("a subscribed topic has changed")

    def group_metadata(self) -> ConsumerGroupMetadata:
        return ConsumerGroupMetadata(self._group_id, self._me.id, self._me.member_id, self._instance_id)

    def polled(self) -> None:
        """The user is back: whoever left because it was away, or failed in a way that may have passed, joins again."""
        super().polled()
        if self._at is ClassicMemberState.IDLE or (self._at is ClassicMemberState.FAILED and self._reason is not None):
            self._enter(ClassicMemberState.UNJOINED)
            self._reason = self._reason or "the consumer polls again"
            self._wake.set()

    async def leave(self, *, reason: str = "consumer closed") -> None:
        """Give back what we own and tell the coordinator. A static member does not tell: it may be back in time.

        Between two generations what we own may be promised to others already, so it is lost rather than revoked. While
        we join, the coordinator still waits for members of the old one, takes their commits, and has promised nothing:
        what a cooperative member has kept is revoked then, too. Only it may be a step further than we know: its answer
        is on the way, and with the new generation no commit of the old one counts. So that is waited for a little.
        """
        if self._at is ClassicMemberState.LEFT:
            return
        if self._at in _MOVING and self._me.is_known and self._host.owned():
            await self._hear_out()
        me = self._me
        ours = (self._at in _BEATING or self._at is ClassicMemberState.JOINING) and me.is_known
        moving = self._held = self._at in _MOVING
        await self._stop_tasks()
        self._leaving = True  # nobody walks any more: commits that wait for another generation go out with this one
        self._let_settled()
        if not ours:
            self._me = Generation()
        if owned := self._host.owned():
            await (self._host.revoke(owned) if ours else self._host.lose(owned))
        self._me = Generation()
        self._enter(ClassicMemberState.LEFT)
        await self._tell_leave(me, reason, beside=moving)

    async def _hear_out(self) -> None:
        """Let the step at hand come to where the new generation is known, if it is about to. What it brings is not
        taken over; until somebody joins again, nothing that we still have is another member's.
        """
        self._ending = True
        try:
            async with asyncio.timeout(_LAST_WORD):
                await self.settle()
        except TimeoutError:
            logger.debug("%s leaves while the group still gathers", self._name)

    @property
    def is_held_up(self) -> bool:
        """We leave while the coordinator keeps a request of ours: it would answer a commit behind that."""
        return self._leaving and self._held

    # --- what commits tell us -----------------------------------------------------------------------------------------

    def commit_refused(self, code: ErrorCode, sent: ConsumerGroupMetadata) -> None:
        """A commit shows the same as a heartbeat would, a little earlier."""
        if code in reactions.COMMIT and sent == self.group_metadata():
            self._react(reactions.COMMIT, code, "OffsetCommit")

    # --- the walking task ---------------------------------------------------------------------------------------------

    @property
    def _is_moving(self) -> bool:
        return self._at in _MOVING and not self._leaving

    @property
    def _in_group(self) -> bool:
        return self._at not in (ClassicMemberState.IDLE, ClassicMemberState.FAILED, ClassicMemberState.LEFT)

    async def _walk(self) -> None:
        """Rebalance whenever there is a reason, one at a time; a heartbeat may break one off (`_reset`)."""
        while True:
            self._wake.clear()
            if self._reason is None or not self._in_group or not self._host.topics():
                await self._wake.wait()
                continue
            await self._run_step(self._rebalance())

    async def _rebalance(self) -> None:
        """From revoking to stable; an error leads to where its table says."""
        table, request = reactions.JOIN, "JoinGroup"
        try:
            await self._prepare()
            joined = await self._join()
            table, request = reactions.SYNC, "SyncGroup"
            part, assignor = await self._sync(joined)
            await self._take_over(part, assignor)
        except KafkaError as error:
            reaction = self._react(table, error.code, request, error)
            if reaction is Reaction.RETRY:
                self._rejoin(f"{request} failed: {error.code.name}")
                await self._back_off()
        except ProtocolError as error:
            self._fail(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"a member's bytes cannot be read: {error}"), True)
        except Exception as error:  # noqa: BLE001 - an assignor or a listener is the user's code, and may raise anything
            logger.exception("%s: the rebalance failed", self._name)
            self._fail(error, True)
        else:
            self._failures = 0

    async def _prepare(self) -> None:
        """What must be given up before we join: everything, if we are not known any more (lost) or the group is eager
        (revoked); in a cooperative group the partitions of topics that we have unsubscribed from.
        """
        if self._at is not ClassicMemberState.JOINING:
            self._enter(ClassicMemberState.REVOKING)
        owned = self._host.owned()
        if not self._me.is_known:
            if owned:
                await self._host.lose(owned)
            return
        topics = self._host.topics()
        eager = self._protocol is RebalanceProtocol.EAGER
        if going := frozenset(tp for tp in owned if eager or tp.topic not in topics):
            await self._host.revoke(going)

    async def _join(self) -> Any:
        """One JoinGroup, or two when the coordinator wants us to know our id before it counts us (KIP-394)."""
        self._enter(ClassicMemberState.JOINING)
        reason, self._reason = self._reason or "", None
        self._leader = None
        self._joined_topics = self._host.topics()
        while True:
            request = join_request(
                self._group, self._me, self._joined_topics, self._host.owned(), self._assignors, reason
            )
            response = await self._coordinator.ask(request, timeout=self._join_timeout)
            if response.error_code == ErrorCode.MEMBER_ID_REQUIRED:
                self._me = Generation(member_id=response.member_id)
                continue
            self._check(response.error_code)
            self._me = Generation(response.generation_id, response.member_id, response.protocol_name)
            self._enter(ClassicMemberState.SYNCING)
            return response

    async def _sync(self, joined: Any) -> tuple[Assignment, Assignor]:
        """Our part of the assignment; the leader makes it first.

        `skip_assignment`: a static leader has come back to a group in which nothing changed. The coordinator still has
        the last assignment, and only wants the leader to go on watching the topics (KIP-814).
        """
        name = joined.protocol_name
        assignor = next((known for known in self._assignors if known.name == name), None)
        if assignor is None:
            text = f"the group uses the assignor {name!r}, which this consumer does not have"
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, text)
        parts: Any = {}
        if joined.leader == joined.member_id:
            leader = GroupLeader(self._cluster, members_of(joined))
            await leader.take_snapshot()
            if not joined.skip_assignment:
                parts = leader.assign(assignor, self._protocol)
            self._leader = leader
        response = await self._coordinator.ask(sync_request(self._group, self._me, parts))
        self._check(response.error_code)
        return assignment_of(bytes(response.assignment)), assignor

    async def _take_over(self, part: Assignment, assignor: Assignor) -> None:
        """Make ours what the assignment says. Losing something in a cooperative group means to join once more: what we
        gave back is nobody's until the next assignment.
        """
        self._enter(ClassicMemberState.RECONCILING)
        if self._ending:
            return
        topics = self._host.topics()
        assigned = frozenset(tp for tp in part.partitions if tp.topic in topics)
        owned = self._host.owned()
        if going := owned - assigned:
            await self._host.revoke(going)
            self._rejoin("partitions were given back for others")
        assignor.on_assignment(part, self.group_metadata())
        await self._host.assign(assigned - owned)
        self._enter(ClassicMemberState.STABLE)
        if self._host.topics() != self._joined_topics:
            self._rejoin("the subscription has changed")
        logger.info("%s is in generation %d with %d partitions", self._name, self._me.id, len(assigned))

    # --- heartbeats ---------------------------------------------------------------------------------------------------

    async def _beat(self) -> None:
        """Never waits for the walking task, nor for the user.

        An answer that is about a generation which is over by now is dropped. The leader looks at the group's topics on
        the way, which costs nothing while its metadata is fresh.
        """
        wait = self._interval
        while True:
            await pause(wait)
            wait = self._interval
            if self._at not in _BEATING or not self._me.is_known:
                continue
            sent = self._me
            try:
                response = await self._coordinator.ask(heartbeat_request(self._group, sent), timeout=self._session)
                code = ErrorCode(response.error_code)
                self._coordinator.note(code)
                if self._leader is not None and self._at is ClassicMemberState.STABLE:
                    await self._leader.look()
                    self.metadata_changed()
            except KafkaError as error:
                code = error.code
            if code and sent == self._me and self._react(reactions.HEARTBEAT, code, "Heartbeat") is Reaction.RETRY:
                wait = min(self._interval, self._cluster.wait_before_retry(0))

    @property
    def _session(self) -> float:
        return min(self._group.session_timeout_ms, self._config[common.REQUEST_TIMEOUT_MS]) / 1000

    # --- what errors lead to ------------------------------------------------------------------------------------------

    def _check(self, code: int) -> None:
        """Raise an answer's error."""
        if code:
            self._coordinator.note(code)
            raise KafkaError(code)

    def _react(self, table: Any, code: ErrorCode, request: str, error: KafkaError | None = None) -> Reaction:
        """Do what the table says, but for waiting, which is the caller's."""
        reaction = reaction_to(table, code)
        if reaction is Reaction.REJOIN:
            self._rejoin("the group is rebalancing")
        elif reaction in (Reaction.NEW_MEMBER, Reaction.NEW_GENERATION):
            logger.info("%s joins anew: %s was answered %s", self._name, request, code.name)
            keep = reaction is Reaction.NEW_GENERATION
            self._reset(Generation(member_id=self._me.member_id if keep else ""), f"{request}: {code.name}")
        elif reaction in (Reaction.FAIL, Reaction.ASK_USER):
            self._fail(error or KafkaError(code, f"{request}: {code.text}"), reaction is Reaction.ASK_USER)
        return reaction

    def _rejoin(self, reason: str) -> None:
        """Join when the step at hand is over; the first reason is the one that is told."""
        if self._reason is None:
            self._reason = reason
        self._wake.set()

    def _reset(self, me: Generation, reason: str) -> None:
        """Our generation is over: break off what was built on it, and begin again."""
        self._me = me
        self._leader = None
        self._reason = reason
        self._break_off()
        if self._in_group:
            self._enter(ClassicMemberState.UNJOINED)
        self._wake.set()

    def _fail(self, error: Exception, again: bool) -> None:
        """The user learns of it from the next poll; `again`: the poll after that makes another try."""
        if not self._in_group:
            return
        self._me = Generation()
        self._reason = "the consumer polls again" if again else None
        self._break_off()
        self._enter(ClassicMemberState.FAILED)
        self._host.hold_back()
        self._host.failed(error, final=not again)

    async def _put_out(self) -> None:
        """The partitions stay with the host until the user's next poll, when they are given up as lost; nothing of them
        is handed out from now on.
        """
        self._host.hold_back()
        moving = self._at in _MOVING
        me, self._me = self._me, Generation()
        self._reason = "the consumer polls again"
        self._break_off()
        self._enter(ClassicMemberState.IDLE)
        await self._tell_leave(me, "consumer poll timeout has expired", beside=moving)

    async def _tell_leave(self, me: Generation, reason: str, *, beside: bool) -> None:
        """A static member says nothing: it may be back before its session is over, and nothing has to move.

        `beside`: the coordinator holds a request of ours, behind which the word would wait, for seconds while a new
        group gathers its members.
        """
        if me.member_id and self._instance_id is None:
            await self._farewell(self._say_leave(me, reason, beside))

    async def _say_leave(self, me: Generation, reason: str, beside: bool) -> None:
        version = await self._coordinator.version_of(ApiKey.LEAVE_GROUP)
        await self._coordinator.ask(leave_request(self._group, me, reason, version), beside=beside)
