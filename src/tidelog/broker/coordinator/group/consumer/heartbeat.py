"""ConsumerGroupHeartbeat (KIP-848): one request that joins, stays, changes, acknowledges and leaves.

Its member epoch says which: 0 joins, a positive one stays, -1 leaves, -2 leaves for a while (static members). Fields
that have not changed are left out, by clients and in answers; a full request is answered in full.

A heartbeat runs through the same steps whatever it brings; each writes records only for what changed:

    1. the member and its subscription      (bumps the group's epoch when the subscription changed)
    2. the target assignment                (when its epoch is behind the group's)
    3. the member's own assignment          (one step of `reconcile` towards the target)

In a group at rest nothing is written: such a heartbeat only sets a timer.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup, is_subset
from tidelog.broker.coordinator.group.consumer.handler import ConsumerHandler
from tidelog.broker.coordinator.group.consumer.member import (
    LEAVE_EPOCH,
    STATIC_LEAVE_EPOCH,
    Assignment,
    ConsumerMember,
    assignment_of,
)
from tidelog.broker.coordinator.group.consumer.regex import compile_regex
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.result import Caller, Result
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

logger = logging.getLogger(__name__)


class ConsumerHeartbeat(ConsumerHandler):
    def handle(self, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> Result:
        """Raises KafkaError, or returns one as the answer if the steps before it have written something."""
        self._check(request, caller.api_version)
        if request.member_epoch in (LEAVE_EPOCH, STATIC_LEAVE_EPOCH):
            return self._leave(request)
        emitter = Emitter(self._state, request.group_id)
        return emitter.guard(lambda: self._stay(request, caller, emitter))

    def _stay(self, request: ConsumerGroupHeartbeatRequest, caller: Caller, emitter: Emitter) -> Result:
        """Join, or go on.

        The assignment is part of the answer only when it is new to the client: it joins, it asked in full, or it has
        just changed. A client takes an assignment that is left out for "as before".
        """
        joining = request.member_epoch == 0
        group = self._kinds.consumer_group(request.group_id, emitter, create=joining)
        self._check_size(group, request)
        owned = None if request.topic_partitions is None else assignment_of(request.topic_partitions)
        member_id = request.member_id or self.new_member_id()
        before = self._find(group, member_id, request, owned, emitter)
        after = _changed(before, request, caller)
        subscription_changed = self._update.subscribe(group, before, after, emitter)
        self._update.target(group, emitter)
        member = self._update.reconcile(group, member_id, owned, subscription_changed, emitter)
        self._sessions.keep_alive(group, member)
        full = (
            request.rebalance_timeout_ms != -1
            and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
            and request.topic_partitions is not None
        )
        response = ConsumerGroupHeartbeatResponse(
            member_id=member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=self._config.heartbeat_interval_of(group.group_id),
        )
        if joining or full or before.assigned != member.assigned:
            response.assignment = _assignment(member.assigned)
        return emitter.result(response)

    # -- checks ----------------------------------------------------------------------------------------------------

    def _check(self, request: ConsumerGroupHeartbeatRequest, version: int) -> None:
        """What can be said of a request without looking at its group; the words are Kafka's, clients show them."""

        def invalid(text: str) -> KafkaError:
            return KafkaError(ErrorCode.INVALID_REQUEST, text)

        if not request.group_id.strip():
            raise invalid("GroupId can't be empty.")
        if (version >= 1 or request.member_epoch != 0) and not request.member_id.strip():
            raise invalid("MemberId can't be empty.")
        if request.instance_id is not None and not request.instance_id.strip():
            raise invalid("InstanceId can't be empty.")
        if request.rack_id is not None and not request.rack_id.strip():
            raise invalid("RackId can't be empty.")
        if request.member_epoch < STATIC_LEAVE_EPOCH:
            raise invalid("MemberEpoch is invalid.")
        if request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is None:
            raise invalid("InstanceId can't be null.")
        if request.member_epoch == 0:
            if request.rebalance_timeout_ms == -1:
                raise invalid("RebalanceTimeoutMs must be provided in first request.")
            if request.topic_partitions is None or len(request.topic_partitions):
                raise invalid("TopicPartitions must be empty when (re-)joining.")
            if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
                raise invalid(
                    "Either SubscribedTopicNames or SubscribedTopicRegex must be non-empty when (re-)joining."
                )
        if request.subscribed_topic_regex:
            compile_regex(request.subscribed_topic_regex)
        if request.server_assignor is not None and request.server_assignor not in self._config.consumer_assignors:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_ASSIGNOR,
                f"ServerAssignor {request.server_assignor} is not supported. "
                f"Supported assignors: {', '.join(self._config.consumer_assignors)}.",
            )

    def _check_size(self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> None:
        """`group.consumer.max.size` counts for those who are new; nobody is put out when it is lowered."""
        if group.static_member(request.instance_id) is not None or request.member_id in group.members:
            return
        if len(group.members) >= self._config.consumer_max_size:
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)

    def _find(
        self,
        group: ConsumerGroup,
        member_id: str,
        request: ConsumerGroupHeartbeatRequest,
        owned: Assignment | None,
        emitter: Emitter,
    ) -> ConsumerMember:
        """The member as it was before this heartbeat: known, new, or taking a static member's place."""
        joining = request.member_epoch == 0
        if request.instance_id is None:
            member = group.members.get(member_id) if joining else group.member(member_id)
            if member is None:
                return ConsumerMember(member_id)
        else:
            member = group.static_member(request.instance_id)
            if member is None:
                if joining:
                    return ConsumerMember(member_id)
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {request.instance_id} is unknown.")
            if member.member_id != member_id or (joining and member.epoch == STATIC_LEAVE_EPOCH):
                return self._replace_static(group, member, member_id, joining, emitter)
        _check_epoch(member, request.member_epoch, owned)
        return member

    def _replace_static(
        self, group: ConsumerGroup, old: ConsumerMember, member_id: str, joining: bool, emitter: Emitter
    ) -> ConsumerMember:
        """A static member comes back under another member id. It gets the place only if the last one has left it (epoch
        -2): two processes with one instance id are a mistake, and the second is told so (UNRELEASED_INSTANCE_ID). A
        classic member cannot say that it leaves for a while, and is replaced at once.
        """
        if not joining:
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if not old.uses_classic and old.epoch != STATIC_LEAVE_EPOCH:
            raise KafkaError(ErrorCode.UNRELEASED_INSTANCE_ID)
        return self._update.replace_member(group, old, member_id, emitter)

    # -- leaving ---------------------------------------------------------------------------------------------------

    def _leave(self, request: ConsumerGroupHeartbeatRequest) -> Result:
        """With -1 the member is out, and its partitions go to others. With -2 a static member keeps its place and its
        partitions for as long as its session lasts (KIP-345, carried over): a restart moves nothing.
        """
        group = self._state.group(request.group_id)
        if not isinstance(group, ConsumerGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {request.group_id} is not a consumer group.")
        member = group.static_member(request.instance_id) if request.instance_id else group.member(request.member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {request.instance_id} is unknown.")
        if member.member_id != request.member_id:
            raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        emitter = Emitter(self._state, request.group_id)
        response = ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            # It will be back: its partitions wait for it as long as its session lasts.
            gone = replace(member, epoch=STATIC_LEAVE_EPOCH, revoking={})
            emitter.emit(gone.assignment_record(group.group_id))
            emitter.settle()
            return emitter.result(response)
        logger.info("group %s: member %s leaves", group.group_id, member.member_id)

        def fence() -> Result:
            self._sessions.fence(group, [member], emitter)
            return emitter.result(response)

        return emitter.guard(fence)


def _check_epoch(member: ConsumerMember, received: int, owned: Assignment | None) -> None:
    """Is the member what the coordinator takes it for?

    Epoch 0 (re)joins; the previous epoch is fine when the answer with the new one may have been lost, which shows in
    that the member owns nothing beyond what it was given since. Anything else is FENCED_MEMBER_EPOCH: the member has to
    abandon its partitions, without committing, and join again.
    """
    if received in (0, member.epoch):
        return
    lost = received == member.previous_epoch and owned is not None and is_subset(owned.items(), member.assigned)
    if received > member.epoch or not lost:
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The member's epoch is {received}, the coordinator knows {member.epoch}: "
            "the member must abandon all its partitions and rejoin.",
        )


def _changed(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, caller: Caller) -> ConsumerMember:
    """The member with what the request says; fields that it leaves out stay. It speaks the new protocol from now on,
    also if it was a classic member before.
    """
    changes: dict[str, Any] = {"client_id": caller.client_id, "client_host": caller.client_host, "classic": None}
    if request.instance_id is not None:
        changes["instance_id"] = request.instance_id
    if request.rack_id is not None:
        changes["rack_id"] = request.rack_id
    if request.rebalance_timeout_ms != -1:
        changes["rebalance_timeout_ms"] = request.rebalance_timeout_ms
    if request.server_assignor is not None:
        changes["assignor"] = request.server_assignor
    if request.subscribed_topic_names is not None:
        changes["topics"] = tuple(sorted(set(request.subscribed_topic_names)))
    if request.subscribed_topic_regex is not None:
        changes["regex"] = request.subscribed_topic_regex
    return replace(member, **changes)


def _assignment(assigned: Assignment) -> ConsumerGroupHeartbeatResponse.Assignment:
    """All partitions that the member may read now; not the difference."""
    return ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[
            ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(assigned.items())
        ]
    )
