"""A classic group: members, leader, generation, and the rules that need nothing but these.

Only the outcome of a completed rebalance is durable: `record()` makes one GroupMetadataValue of it, `from_record` is
its inverse. Everything else (who has joined the next generation, who waits for what) is soft and dies with the shard:
after a load the members of the last generation are found as they were, and a rebalance that was under way begins anew
when they come back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from tidelog.broker.coordinator.group.classic.member import ClassicMember
from tidelog.broker.coordinator.group.classic.states import CLASSIC_GROUP, ClassicState
from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.broker.coordinator.result import Reply
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.consumer_protocol import CONSUMER_PROTOCOL_TYPE, Protocol, subscribed_topics
from tidelog.protocol.messages import GroupMetadataKey, GroupMetadataValue, JoinGroupResponse, SyncGroupResponse

NO_GENERATION = -1


class ClassicGroup:
    """Not thread-safe; owned by its shard.

    `static` maps group.instance.id to the member id of the present incarnation (KIP-345). `pending_join` are ids that
    were given out and not joined with yet (KIP-394); they hold a place. `pending_sync` are members of this generation
    that have not fetched their assignment. `new_member_added` extends the first join phase of an empty group.
    `awaiting_join` counts those who wait for the join phase to end.
    """

    type = "classic"
    __slots__ = (
        "_protocol_support",
        "_subscribed",
        "awaiting_join",
        "generation",
        "group_id",
        "leader",
        "members",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_since_ms",
        "static",
    )

    def __init__(self, group_id: str, now_ms: int, generation: int = 0) -> None:
        self.group_id = group_id
        self.state = ClassicState.EMPTY
        self.previous_state = ClassicState.DEAD
        self.state_since_ms: int | None = now_ms
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.generation = generation
        self.members: dict[str, ClassicMember] = {}
        self.static: dict[str, str] = {}  # group instance id -> member id
        self.pending_join: set[str] = set()  # ids handed out with MEMBER_ID_REQUIRED and not used yet
        self.pending_sync: set[str] = set()
        self.new_member_added = False
        self._protocol_support: Counter[str] = Counter()
        self._subscribed: frozenset[str] | None = None
        self.awaiting_join = 0

    # -- state -----------------------------------------------------------------------------------------------------

    def transition(self, target: ClassicState, now_ms: int) -> None:
        """Change the state, if the table has the way; `state_since_ms` is what the expiry of an empty group counts
        from.
        """
        CLASSIC_GROUP.check(self.state, target)
        self.previous_state, self.state, self.state_since_ms = self.state, target, now_ms

    def is_in(self, *states: ClassicState) -> bool:
        return self.state in states

    @property
    def can_rebalance(self) -> bool:
        """Whether a rebalance may be started now; in PreparingRebalance one is under way already."""
        return CLASSIC_GROUP.allows(self.state, ClassicState.PREPARING_REBALANCE)

    @property
    def is_empty(self) -> bool:
        return self.state in (ClassicState.EMPTY, ClassicState.DEAD)

    @property
    def all_joined(self) -> bool:
        """Nobody is missing, and nobody is about to come: the join phase may end before its time."""
        return self.awaiting_join == len(self.members) and not self.pending_join

    @property
    def is_simple(self) -> bool:
        """A group that only keeps offsets: nobody ever joined it."""
        return self.is_empty and not self.protocol_type

    @property
    def size(self) -> int:
        """Members, and places held for those who were given an id."""
        return len(self.members) + len(self.pending_join)

    # -- members ---------------------------------------------------------------------------------------------------

    def add(self, member: ClassicMember, reply: Reply | None = None) -> None:
        """The first member decides the group's protocol type and is its leader, until a rebalance in which it does not
        come back.
        """
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        if member.group_instance_id is not None:
            self.static[member.group_instance_id] = member.member_id
        self.pending_join.discard(member.member_id)
        if reply is not None:
            self.await_join(member, reply)

    def remove(self, member_id: str) -> ClassicMember | None:
        """Take a member out, or an id that was only handed out. If it was the leader, whoever has been here longest
        succeeds; before an assignment is asked for, `elect_joined_leader` looks again.
        """
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.awaiting_join is not None:
                self.awaiting_join -= 1
            if self.static.get(member.group_instance_id or "") == member_id:
                del self.static[member.group_instance_id or ""]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        return member

    def update(self, member: ClassicMember, protocols: Sequence[Protocol]) -> None:
        """The member supports other protocols now; which ones all have in common is counted anew."""
        self._count_protocols(member, -1)
        member.protocols = tuple(protocols)
        self._count_protocols(member, 1)

    def _count_protocols(self, member: ClassicMember, change: int) -> None:
        for entry in member.protocols:
            self._protocol_support[entry.name] += change

    def await_join(self, member: ClassicMember, reply: Reply) -> None:
        """The member waits. If it did so already, its client has given up that request: it is answered at last."""
        if member.awaiting_join is not None:
            error = ErrorCode.REBALANCE_IN_PROGRESS
            given_up = JoinGroupResponse(member_id=member.member_id, error_code=error, generation_id=NO_GENERATION)
            self.answer_join(member, given_up)
        self.awaiting_join += 1
        member.awaiting_join = reply

    def await_sync(self, member: ClassicMember, reply: Reply) -> None:
        if member.awaiting_sync is not None:
            self.answer_sync(member, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
        member.awaiting_sync = reply

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> bool:
        """Give a waiting member its answer; False if it does not wait. Answered members have no place in the count."""
        if member.awaiting_join is None:
            return False
        reply, member.awaiting_join = member.awaiting_join, None
        self.awaiting_join -= 1
        reply(response)
        return True

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        """The same for the second phase."""
        if member.awaiting_sync is None:
            return False
        reply, member.awaiting_sync = member.awaiting_sync, None
        reply(response)
        return True

    def replace_static(self, instance_id: str, new_id: str) -> ClassicMember:
        """Give a static member the id of its new incarnation (KIP-345); the old one, if it waits, is told that it is
        fenced.

        The member keeps its place, its assignment, and the leadership: a consumer that restarts within its session does
        not cost the group a rebalance. From now on the old id is answered FENCED_INSTANCE_ID, so that two processes
        with one instance id do not take turns.
        """
        old_id = self.static[instance_id]
        member = self.members.pop(old_id)
        fenced = ErrorCode.FENCED_INSTANCE_ID
        self.answer_join(member, JoinGroupResponse(member_id=old_id, error_code=fenced, generation_id=NO_GENERATION))
        self.answer_sync(member, SyncGroupResponse(error_code=fenced))
        member.member_id = new_id
        self.members[new_id] = member
        self.static[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_sync:
            self.pending_sync.remove(old_id)
            self.pending_sync.add(new_id)
        return member

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Raise unless the member is in the group under this id (and, if static, is the current incarnation)."""
        if instance_id is not None:
            known = self.static.get(instance_id)
            if known is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if known != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    def joined_members(self) -> Iterator[ClassicMember]:
        return (member for member in self.members.values() if member.awaiting_join is not None)

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined again, else take the first that has; False when nobody has."""
        leader = self.members.get(self.leader or "")
        if leader is not None and leader.awaiting_join is not None:
            return True
        candidate = next(self.joined_members(), None)
        if candidate is None:
            return False
        self.leader = candidate.member_id
        return True

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of all members': everybody is given the time that the slowest has asked for."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- protocol --------------------------------------------------------------------------------------------------

    def supports(self, protocol_type: str, names: Collection[str]) -> bool:
        """Whether a member with these protocols could be in the group."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and bool(names)
        count = len(self.members)
        return self.protocol_type == protocol_type and any(self._protocol_support[name] == count for name in names)

    def candidate_protocols(self) -> frozenset[str]:
        """The protocols that every member supports."""
        count = len(self.members)
        return frozenset(name for name, support in self._protocol_support.items() if support == count)

    def select_protocol(self) -> str:
        """The candidate with most votes; among equals the one voted for first."""
        candidates = self.candidate_protocols()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def next_generation(self, now_ms: int) -> None:
        """Close the join phase: a new generation with whoever is in the group, or an empty group. Generations begin at
        1, and with 1 again after 2^31 - 1.
        """
        self.generation = 1 if self.generation == 2**31 - 1 else self.generation + 1
        if self.members:
            self.protocol_name = self.select_protocol()
            self._subscribed = self._subscription()
            self.transition(ClassicState.COMPLETING_REBALANCE, now_ms)
        else:
            self.protocol_name = None
            self._subscribed = self._subscription()
            self.transition(ClassicState.EMPTY, now_ms)
        self.pending_sync.clear()

    def _subscription(self) -> frozenset[str] | None:
        if self.protocol_type != CONSUMER_PROTOCOL_TYPE:
            return None
        if not self.members:
            return frozenset()
        return subscribed_topics(member.metadata(self.protocol_name) for member in self.members.values())

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the group's consumers use the topic; unknown protocols (None) are taken to use all."""
        if self.state is ClassicState.EMPTY or self.state is ClassicState.DEAD:
            return False
        return self._subscribed is None or topic in self._subscribed

    @property
    def subscribed(self) -> frozenset[str] | None:
        return self._subscribed

    # -- durable form ----------------------------------------------------------------------------------------------

    def record(self, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
        """The group's record with these assignments. It has the chosen protocol's metadata only: after a load a member
        supports nothing else until it joins again.
        """
        members = [
            GroupMetadataValue.MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata(self.protocol_name),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in self.members.values()
        ]
        value = GroupMetadataValue(
            protocol_type=self.protocol_type or "",
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader,
            current_state_timestamp=-1 if self.state_since_ms is None else self.state_since_ms,
            members=members,
        )
        return CoordinatorRecord(GroupMetadataKey(group=self.group_id), value)

    def current_assignments(self) -> dict[str, bytes]:
        return {member.member_id: member.assignment for member in self.members.values()}

    @classmethod
    def from_record(cls, group_id: str, value: GroupMetadataValue, now_ms: int) -> ClassicGroup:
        """The group that a record describes, Stable, or Empty if it has no members. Records of before KIP-62 have no
        rebalance time-out of their own: it is the session time-out.
        """
        group = cls(group_id, now_ms, value.generation)
        group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
        group.state_since_ms = None if value.current_state_timestamp == -1 else value.current_state_timestamp
        group.protocol_type = value.protocol_type or None
        for stored in value.members:
            rebalance = stored.rebalance_timeout
            group.add(
                ClassicMember(
                    stored.member_id,
                    stored.group_instance_id,
                    stored.client_id,
                    stored.client_host,
                    stored.session_timeout if rebalance == -1 else rebalance,
                    stored.session_timeout,
                    value.protocol_type,
                    (Protocol(value.protocol or "", bytes(stored.subscription)),),
                    bytes(stored.assignment),
                )
            )
        group.protocol_type = value.protocol_type or None
        group.protocol_name = value.protocol
        group.leader = value.leader
        group._subscribed = group._subscription()
        return group

    def durable_view(self) -> object:
        """What a reload must bring back while no rebalance is under way."""
        return (
            self.group_id,
            self.protocol_type,
            self.protocol_name,
            self.leader,
            self.generation,
            sorted((m.member_id, m.group_instance_id, m.assignment) for m in self.members.values()),
        )


def tombstone(group_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(GroupMetadataKey(group=group_id))


def member_protocols(protocols: Iterable[object]) -> tuple[Protocol, ...]:
    """The protocols of a JoinGroup request."""
    return tuple(Protocol(entry.name, bytes(entry.metadata)) for entry in protocols)  # type: ignore[attr-defined]  # JoinGroupRequestProtocol
