"""A member of a consumer group (KIP-848): one request, ConsumerGroupHeartbeat, and no barrier.

The broker shares out. Each member hears of its own part by a heartbeat's answer, gives back what is no longer in it,
takes what is new, and says what it owns by the next heartbeat; then the broker hands what was given back to others. A
member that needs nothing never stops reading while others rebalance.

Two tasks: `_beat` sends and takes in answers; `_walk` is the only one that calls the host. Between them lies `_target`,
the newest assignment, by topic id. Names are looked up in metadata, which may not know a topic yet that was made a
moment ago: what can be resolved is taken, the rest when metadata has it.

There is no leader and no generation that all enter at once. The coordinator computes a target for the whole group and
leads each member there by its own steps: a member is told to give something back; it does and says so; then the member
that is to have it is told that it may. `states.CONSUMER_MEMBER` has the steps of one member.

The epoch that answers carry is this protocol's generation: commits are sent with it. A fenced member (FENCED_MEMBER_
EPOCH, UNKNOWN_MEMBER_ID) gives up what it has as lost, and joins anew with epoch 0 under the same id.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer as keys
from tidelog.client.consumer.host import GroupHost
from tidelog.client.consumer.membership import reactions
from tidelog.client.consumer.membership.base import MembershipBase, logger
from tidelog.client.consumer.membership.consumer_requests import (
    JOIN_EPOCH,
    Heartbeats,
    MemberIdentity,
    Report,
    assigned_by_id,
)
from tidelog.client.consumer.membership.reactions import Reaction, reaction_to
from tidelog.client.consumer.membership.states import CONSUMER_MEMBER, ConsumerMemberState
from tidelog.client.values import UNKNOWN_GENERATION, ConsumerGroupMetadata
from tidelog.common.config import Config
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import random_uuid, uuid_to_text
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ConsumerGroupHeartbeatResponse

_FIRST_WITH_PATTERN = 1
_RESTING = (ConsumerMemberState.IDLE, ConsumerMemberState.FAILED, ConsumerMemberState.LEFT)
_AT_WORK = (ConsumerMemberState.JOINING, ConsumerMemberState.STABLE, ConsumerMemberState.ACKNOWLEDGING)


class ConsumerMembership(MembershipBase[ConsumerMemberState]):
    """One consumer's place in a consumer group.

    `_epoch` is what the coordinator has us at: 0 while we join, -1 while we are out. An answer to a heartbeat that was
    sent with another epoch is dropped: we were fenced, put out or have left since.
    """

    def __init__(self, cluster: ClusterClient, host: GroupHost, config: Config) -> None:
        super().__init__(cluster, host, config, CONSUMER_MEMBER)
        self._heartbeats = Heartbeats(
            MemberIdentity(
                self._group_id,
                uuid_to_text(random_uuid(cluster.rng)),
                self._instance_id,
                config[keys.CLIENT_RACK] or None,
                config[keys.MAX_POLL_INTERVAL_MS],
                config[keys.GROUP_REMOTE_ASSIGNOR],
            )
        )
        self._epoch = UNKNOWN_GENERATION
        self._interval = 5.0  # until the broker says otherwise
        self._target: dict[bytes, list[int]] = {}
        self._again = False  # whether a failure is worth another try when the user polls
        self._soon = asyncio.Event()

    # --- what the consumer calls --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to join; the rest happens on the loop."""
        self._soon.set()
        self._spawn(self._walk(), self._beat(), self._watch_polls())

    def subscription_changed(self) -> None:
        """Nothing has to be given up first: the coordinator decides what follows from it."""
        self._soon.set()

    def metadata_changed(self) -> None:
        """It may name a topic now that our assignment has by id only."""
        if self._at in (ConsumerMemberState.STABLE, ConsumerMemberState.ACKNOWLEDGING):
            self._compare()

    def group_metadata(self) -> ConsumerGroupMetadata:
        """For a transaction's offsets; the member epoch stands where the classic protocol has the generation."""
        epoch = self._epoch if self._epoch > JOIN_EPOCH else UNKNOWN_GENERATION
        return ConsumerGroupMetadata(self._group_id, epoch, self._heartbeats.me.member_id, self._instance_id)

    def polled(self) -> None:
        super().polled()
        if self._at is ConsumerMemberState.IDLE or (self._at is ConsumerMemberState.FAILED and self._again):
            self._wake.set()

    async def leave(self, *, reason: str = "consumer closed") -> None:
        """Give back what we own, then say so: a static member that it will be back, others that they go. The protocol
        has no field for a reason.
        """
        if self._at is ConsumerMemberState.LEFT:
            return
        joined = self._epoch > JOIN_EPOCH
        await self._stop_tasks()
        if owned := self._host.owned():
            await (self._host.revoke(owned) if joined else self._host.lose(owned))
        self._epoch = UNKNOWN_GENERATION
        perhaps = joined or self._at is ConsumerMemberState.JOINING
        self._enter(ConsumerMemberState.LEFT)
        if perhaps:
            await self._tell_leave()

    def commit_refused(self, code: ErrorCode, sent: ConsumerGroupMetadata) -> None:
        """Whether we are still a member, the next heartbeat tells."""
        self._soon.set()

    # --- heartbeats ---------------------------------------------------------------------------------------------------

    @property
    def has_epoch(self) -> bool:
        return True

    @property
    def _is_moving(self) -> bool:
        return self._at is ConsumerMemberState.JOINING

    @property
    def _in_group(self) -> bool:
        return self._at not in _RESTING

    async def _beat(self) -> None:
        """Once per interval, and at once when there is something to say: we join, own something else than before, or
        subscribe to something else. After a failure everything is said again, as nobody knows what arrived.
        """
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._interval):  # not wait_for: it may lose a cancellation
                    await self._soon.wait()
            self._soon.clear()
            if self._at in _RESTING or self._at is ConsumerMemberState.FENCED or not self._subscribed:
                continue
            if self._at is ConsumerMemberState.UNJOINED:
                self._heartbeats.forget()
                self._epoch = JOIN_EPOCH
                self._target = {}
                self._enter(ConsumerMemberState.JOINING)
            sent, epoch = self._report(), self._epoch
            try:
                response = await self._send(sent)
            except KafkaError as error:
                self._heartbeats.forget()
                if epoch == self._epoch and self._react(error) is Reaction.RETRY:
                    await self._back_off()
                    self._soon.set()
            else:
                self._failures = 0
                if epoch == self._epoch:
                    self._take_in(sent, response)

    @property
    def _subscribed(self) -> bool:
        return bool(self._host.topics()) or self._host.server_pattern() is not None

    def _report(self) -> Report:
        """What we own is told as soon as it changes: what we gave back can go to others while we take what is new."""
        return Report(self._host.topics(), self._host.server_pattern(), self._host.owned())

    async def _send(self, report: Report) -> ConsumerGroupHeartbeatResponse:
        """One heartbeat; its error is raised with the broker's words."""
        if report.pattern is not None:
            await self._check_patterns()
        topics = self._cluster.metadata.topics
        ids = {tp.topic: topics[tp.topic].id for tp in report.owned if tp.topic in topics}
        request = self._heartbeats.request(self._epoch, report, ids)
        response: ConsumerGroupHeartbeatResponse = await self._coordinator.ask(request)
        if response.error_code:
            self._coordinator.note(response.error_code)
            raise KafkaError(response.error_code, response.error_message)
        return response

    async def _check_patterns(self) -> None:
        if await self._coordinator.version_of(ApiKey.CONSUMER_GROUP_HEARTBEAT) < _FIRST_WITH_PATTERN:
            text = "the broker does not resolve patterns (Kafka 4.0 does): subscribe with a pattern of Python's"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, text)

    def _take_in(self, sent: Report, response: ConsumerGroupHeartbeatResponse) -> None:
        """An answer without an assignment means "as before". While a step towards the last one is under way, a newer
        one waits: it is compared with what we own when the step is done.
        """
        self._heartbeats.told(sent)
        self._epoch = response.member_epoch
        self._interval = response.heartbeat_interval_ms / 1000
        if response.assignment is not None:
            self._target = assigned_by_id(response.assignment)
            self._heartbeats.assigned()
            self._soon.set()
        if self._at in _AT_WORK:
            self._compare()

    def _compare(self) -> None:
        """Is what we own what we should own? A topic without a name counts as a difference: it has to be looked up."""
        names, unknown = self._resolved()
        if unknown or names != self._host.owned():
            self._enter(ConsumerMemberState.RECONCILING)
            self._wake.set()
        else:
            self._enter(ConsumerMemberState.STABLE)

    # --- the walking task ---------------------------------------------------------------------------------------------

    async def _walk(self) -> None:
        """The only task that calls the host; a heartbeat's answer may end a step early (`_break_off`)."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._run_step(self._act())

    async def _act(self) -> None:
        """What the state asks for."""
        try:
            if self._at is ConsumerMemberState.RECONCILING:
                await self._reconcile()
            elif self._at in (ConsumerMemberState.FENCED, ConsumerMemberState.IDLE, ConsumerMemberState.FAILED):
                await self._give_up()
                self._enter(ConsumerMemberState.UNJOINED)
                self._soon.set()
        except KafkaError as error:
            if not error.retriable:
                raise
            await self._back_off()
            self._wake.set()

    async def _give_up(self) -> None:
        """What we own is not ours any more: no commit for it would count."""
        if owned := self._host.owned():
            await self._host.lose(owned)

    async def _reconcile(self) -> None:
        """One step towards the target; whether it was the last one is seen after the answer to the next heartbeat."""
        await self._look_up()
        target, unknown = self._resolved()
        owned, epoch = self._host.owned(), self._epoch
        if going := owned - target:
            await self._host.revoke(going)
        if new := target - owned:
            await self._host.assign(new)
        if unknown and target == owned:
            await self._back_off()
            self._wake.set()
            return
        self._failures = 0
        self._enter(ConsumerMemberState.ACKNOWLEDGING)
        self._soon.set()
        logger.info("%s is in epoch %d with %d partitions", self._name, epoch, len(target))

    def _resolved(self) -> tuple[frozenset[TopicPartition], bool]:
        """The target by names, and whether there are topics that metadata does not name."""
        names = {info.id: name for name, info in self._cluster.metadata.topics.items()}
        known = frozenset(
            TopicPartition(names[topic_id], index)
            for topic_id, indexes in self._target.items()
            if topic_id in names
            for index in indexes
        )
        return known, not self._target.keys() <= names.keys()

    async def _look_up(self) -> None:
        """Ask for the subscribed topics; with a pattern of the broker's only all topics are sure to hold them."""
        if self._resolved()[1]:
            await self._cluster.refresh(self._host.topics())
            if self._resolved()[1] and self._host.server_pattern() is not None:
                await self._cluster.refresh(None)

    # --- what errors lead to ------------------------------------------------------------------------------------------

    def _react(self, error: KafkaError) -> Reaction:
        """Do what the table says, but for waiting, which is the caller's."""
        reaction = reaction_to(reactions.CONSUMER_HEARTBEAT, error.code)
        if reaction is Reaction.NEW_MEMBER:
            logger.info("%s joins anew: %s", self._name, error)
            self._epoch = JOIN_EPOCH
            if self._at is ConsumerMemberState.JOINING:
                return Reaction.RETRY
            self._break_off()
            self._enter(ConsumerMemberState.FENCED)
            self._wake.set()
        elif reaction is Reaction.TELL:
            self._host.failed(error)
        elif reaction in (Reaction.FAIL, Reaction.ASK_USER):
            self._again = reaction is Reaction.ASK_USER
            self._epoch = UNKNOWN_GENERATION
            self._break_off()
            self._enter(ConsumerMemberState.FAILED)
            self._host.hold_back()
            self._host.failed(_explained(error), final=not self._again)
        return reaction

    async def _put_out(self) -> None:
        """The partitions stay with the host until the user's next poll, when they are given up as lost: listeners run
        in the user's turn only. Nothing of them is handed out from now on.
        """
        self._host.hold_back()
        joined = self._epoch >= JOIN_EPOCH
        self._epoch = UNKNOWN_GENERATION
        self._break_off()
        self._enter(ConsumerMemberState.IDLE)
        if joined:
            await self._tell_leave()

    async def _tell_leave(self) -> None:
        await self._farewell(self._coordinator.ask(self._heartbeats.leave()))


def _explained(error: KafkaError) -> KafkaError:
    """A broker without the protocol says only which request it does not know."""
    if error.code is not ErrorCode.UNSUPPORTED_VERSION:
        return error
    text = (
        f"group.protocol=consumer needs Kafka 4.0 or Tidelog: {error.message}; group.protocol=classic works everywhere"
    )
    return KafkaError(error.code, text)
