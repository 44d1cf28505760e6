"""The group coordinator's machine: one per partition of __consumer_offsets.

Entry points take a request message (already authorized, topic names resolved) and return a `Result`, or raise the
KafkaError that the answer shall carry. JoinGroup and SyncGroup may have to wait for other members: they answer by the
`Reply` that they are given, or by their result, whichever knows first. Whether a group id is a classic or a consumer
group decides who handles it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.admin import GroupDescriber
from tidelog.broker.coordinator.group.bridge.classic_members import ClassicMembers
from tidelog.broker.coordinator.group.bridge.migration import Migration
from tidelog.broker.coordinator.group.classic.group import ClassicGroup
from tidelog.broker.coordinator.group.classic.join import ClassicJoin
from tidelog.broker.coordinator.group.classic.rebalance import ClassicRebalance
from tidelog.broker.coordinator.group.classic.sync import ClassicSync
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.heartbeat import ConsumerHeartbeat
from tidelog.broker.coordinator.group.consumer.session import ConsumerSessions
from tidelog.broker.coordinator.group.consumer.update import ConsumerUpdate
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.group.offsets.commits import Commits
from tidelog.broker.coordinator.group.offsets.expiry import OffsetExpiry
from tidelog.broker.coordinator.group.offsets.fencing import EPOCH_COMMIT_VERSION, CommitFence
from tidelog.broker.coordinator.group.offsets.fetches import fetch_offsets
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Caller, Reply, Result
from tidelog.broker.coordinator.timers import Timers
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from tidelog.protocol.messages import (
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    DescribeGroupsResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    SyncGroupRequest,
    TxnOffsetCommitRequest,
)


class GroupMachine:
    """One shard's groups. Every request of a group ends up in one of the methods below; most of them only find out
    which kind the group is of.
    """

    def __init__(self, *, timers: Timers, clock: Clock, rng: Rng, view: MetadataView, config: GroupConfig) -> None:
        self.state = GroupShardState(clock, self)
        self._clock = clock
        self._config = config
        self._timers = timers
        self._commits = Commits(clock, config)
        self._expiry = OffsetExpiry(self.state.offsets, config)
        self.admin = GroupDescriber(self.state, view, config.consumer_assignors[0])
        self._rebalance = ClassicRebalance(timers, clock, config)
        fence = CommitFence(self.state.groups, self._rebalance, view)
        self.check_commit = fence.check_commit  # bound here: every commit asks, and a hop would cost it
        self.check_fetch = fence.check_fetch
        self.replay_commits = self.state.replay_commits
        self._join = ClassicJoin(self._rebalance, rng)
        self._sync = ClassicSync(self._rebalance)
        update = ConsumerUpdate(view, clock, config)
        migration = Migration(self.state, self._rebalance, view, config)
        self._sessions = ConsumerSessions(self.state, timers, update, migration, config)
        self._heartbeat = ConsumerHeartbeat(self.state, update, self._sessions, migration, config, rng)
        self._bridge = ClassicMembers(self.state, update, self._sessions, migration, config, rng)

    # -- the shard's side ------------------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, producer_id: int = -1) -> None:
        self.state.replay(record, producer_id)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        self.state.replay_marker(producer_id, producer_epoch, committed)

    def on_loaded(self) -> Result | None:
        """Sessions start anew, of both kinds. Groups that are larger than the limit allows by now rebalance at once,
        which may leave records to write.
        """
        records: list[CoordinatorRecord] = []
        for group in list(self.state.groups.values()):
            if isinstance(group, ClassicGroup):
                result = self._rebalance.resume(group)
                records += result.records if result else ()
            else:
                self._sessions.resume(group)
        return Result(records, replay=False, divisible=True)

    def on_unloaded(self) -> None:
        """Who waits in a rebalance is sent to look for the new coordinator. Consumer groups have nobody waiting."""
        for group in self.state.groups.values():
            if isinstance(group, ClassicGroup):
                self._rebalance.unload(group)

    def dismiss(self, group: ClassicGroup | ConsumerGroup) -> None:
        """See `Timekeeper`: what was begun for a group that is taken back must not go on."""
        if isinstance(group, ClassicGroup):
            self._rebalance.drop(group)
            self._rebalance.unload(group, ErrorCode.UNKNOWN_SERVER_ERROR)
        else:
            for member_id in group.members:
                self._sessions.cancel(group.group_id, member_id)

    def revive(self, group: ClassicGroup | ConsumerGroup) -> None:
        """See `Timekeeper`."""
        if isinstance(group, ClassicGroup):
            self._rebalance.revive(group)
        else:
            self._sessions.resume(group)

    # -- classic protocol ------------------------------------------------------------------------------------------

    def join(self, request: JoinGroupRequest, caller: Caller, reply: Reply) -> Result | None:
        """JoinGroup. The session time-out must be within the broker's limits. A group that does not exist is made by a
        member that comes without an id; a member that names one is left over from a group that is gone, and must start
        over (UNKNOWN_MEMBER_ID).
        """
        if not self._config.min_session_timeout_ms <= request.session_timeout_ms <= self._config.max_session_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)
        group = self.state.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup):
            if group.members:
                return self._bridge.join(group, request, caller)
            return self._join_emptied(group, request, caller, reply)
        if group is None:
            if request.member_id:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            group = self.state.classic(request.group_id)
        return self._join.join(group, request, caller, reply)

    def _join_emptied(
        self, group: ConsumerGroup, request: JoinGroupRequest, caller: Caller, reply: Reply
    ) -> Result | None:
        """A classic member joins what was a consumer group: without members, the group just changes its kind."""
        if request.member_id:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        emitter = Emitter(self.state, group.group_id)
        emitter.emit_all(group.tombstones())

        def join() -> Result:
            emitter.settle()
            emitter.add(self._join.join(self.state.classic(request.group_id), request, caller, reply))
            return emitter.result()

        return emitter.guard(join)

    def sync(self, request: SyncGroupRequest, reply: Reply) -> Result | None:
        """SyncGroup; an unknown group has no members, and says so."""
        group = self._known(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._bridge.sync(group, request)
        return self._sync.sync(group, request, reply)

    def heartbeat(self, request: HeartbeatRequest) -> Result:
        """Heartbeat of the classic protocol."""
        group = self._known(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._bridge.heartbeat(group, request)
        return self._sync.heartbeat(group, request)

    def beat(self, group_id: str, member_id: str, instance_id: str | None, generation: int) -> ErrorCode | None:
        """The same for a classic group, where a heartbeat writes nothing; None if the group is of the other kind."""
        group = self._known(group_id)
        if isinstance(group, ConsumerGroup):
            return None
        return self._sync.beat(group, member_id, instance_id, generation)

    def leave(self, request: LeaveGroupRequest) -> Result:
        """LeaveGroup, of one or several members."""
        group = self._known(request.group_id)
        if isinstance(group, ConsumerGroup):
            return self._bridge.leave(group, request)
        return self._sync.leave(group, request)

    def _known(self, group_id: str) -> ClassicGroup | ConsumerGroup:
        """UNKNOWN_MEMBER_ID, not GROUP_ID_NOT_FOUND: members are told what makes them join again."""
        group = self.state.groups.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return group

    # -- consumer protocol -----------------------------------------------------------------------------------------

    def consumer_heartbeat(self, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> Result:
        """ConsumerGroupHeartbeat; UNSUPPORTED_VERSION if `group.coordinator.rebalance.protocols` leaves it out."""
        if not self._config.consumer_enabled:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        return self._heartbeat.handle(request, caller)

    # -- offsets ---------------------------------------------------------------------------------------------------

    def commit(self, request: OffsetCommitRequest, version: int) -> Result:
        """OffsetCommit, of a message; the compiled form of the request asks `check_commit` and
        `replay_commits` itself.
        """
        self.check_commit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            request.topics,
            version=version,
        )
        return self._commits.commit(request)

    def commit_in_transaction(self, request: TxnOffsetCommitRequest) -> Result:
        """TxnOffsetCommit: the same fence, and the offsets stay pending until the marker."""
        self.check_commit(
            request.group_id,
            request.member_id,
            request.group_instance_id,
            request.generation_id,
            request.topics,
            version=EPOCH_COMMIT_VERSION,
            transactional=True,
        )
        return self._commits.commit_in_transaction(request)

    def fetch(
        self, group: OffsetFetchRequest.OffsetFetchRequestGroup, require_stable: bool
    ) -> OffsetFetchResponse.OffsetFetchResponseGroup:
        """OffsetFetch, of one group."""
        self.check_fetch(group.group_id, group.member_id, group.member_epoch)
        return fetch_offsets(self.state.offsets, group, require_stable)

    def delete_offsets(self, request: OffsetDeleteRequest) -> Result:
        """OffsetDelete (KIP-496). A group with members must be one of consumers: of other protocols nobody knows what
        they use.
        """
        group = self.state.group(request.group_id)
        if isinstance(group, ClassicGroup) and not group.is_empty and group.protocol_type != CONSUMER_PROTOCOL_TYPE:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        return self._expiry.delete(group, request)

    def expire_offsets(self, group_ids: Iterable[str] | None = None) -> Result:
        """Tombstones of expired offsets, and of empty groups that have none left: of these groups, or of all."""
        records: list[CoordinatorRecord] = []
        now = self._clock.time_ms()
        groups = self.state.groups
        wanted = groups if group_ids is None else group_ids
        for group in [groups[name] for name in wanted if name in groups]:
            expired, none_left = self._expiry.expired(group, now)
            records += expired
            if none_left and group.is_empty:
                records += self.admin.tombstones(group)
        return Result(records, divisible=True)

    def forget_topics(self, topics: Collection[str], group_ids: Iterable[str], until_ms: int) -> Result:
        """Topics were deleted at that time: the offsets that these groups had of them go too."""
        records = self.state.offsets.tombstones_of_topics(group_ids, frozenset(topics).__contains__, until_ms)
        return Result(list(records), divisible=True)

    # -- administration --------------------------------------------------------------------------------------------

    def list(self, states: Collection[str], types: Collection[str]) -> list[ListGroupsResponse.ListedGroup]:
        return self.admin.list(states, types)

    def describe(self, group_id: str, version: int) -> DescribeGroupsResponse.DescribedGroup:
        return self.admin.describe_classic(group_id, version)

    def describe_consumer(self, group_id: str) -> ConsumerGroupDescribeResponse.DescribedGroup:
        return self.admin.describe_consumer(group_id)

    def delete_group(self, group_id: str) -> Result:
        """DeleteGroups: the group must be empty. Its offsets go first; if the write is divided and a crash comes in
        between, a group with fewer offsets is left, and the administrator asks again.
        """
        group = self.admin.check_deletable(group_id)
        if isinstance(group, ClassicGroup):
            self._rebalance.drop(group)
        records = [*self.state.offsets.tombstones(group_id), *self.admin.tombstones(group)]
        return Result(records, response=None, divisible=True)
