"""The steps that every change of a consumer group takes, whoever brings it (new protocol, classic member, time-out).

    subscribe   the member's record; its regular expressions; the group's epoch, if who gets what may change by that
    target      a new target assignment, if the group's epoch is ahead of the last one
    reconcile   one step of the member at hand towards its part of the target
    remove      tombstones of members, and the group's epoch

Only the member whose request it is takes a step: the others find the new target by their own heartbeats. So the work of
a rebalance is spread over the heartbeats of the group, and no request takes longer than computing one target.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import replace

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup, ResolvedRegex
from tidelog.broker.coordinator.group.consumer.member import Assignment, ConsumerMember
from tidelog.broker.coordinator.group.consumer.reconcile import reconcile
from tidelog.broker.coordinator.group.consumer.regex import matching_topics
from tidelog.broker.coordinator.group.consumer.target import subscribed_ids, target_records
from tidelog.broker.coordinator.group.emitter import Emitter
from tidelog.broker.coordinator.metadata import MetadataView
from tidelog.common.clock import Clock

logger = logging.getLogger(__name__)


class ConsumerUpdate:
    """Every method takes one step, through the emitter, and leaves the group in a state that its table allows."""

    def __init__(self, view: MetadataView, clock: Clock, config: GroupConfig) -> None:
        self._view = view
        self._clock = clock
        self._config = config

    def subscribe(
        self,
        group: ConsumerGroup,
        before: ConsumerMember,
        after: ConsumerMember,
        emitter: Emitter,
    ) -> bool:
        """Record the member and bump the group's epoch if who gets what may change; True: other topics are wanted.

        Another assignor takes effect with the next assignment, and does not ask for one. Nor does a pattern that finds
        nothing, of a new member or of an old one, unless topics are given up by it that nobody else wants.
        """
        if before != after or after.member_id not in group.members:
            emitter.emit(after.subscription_record(group.group_id))
        names_changed, regex_changed = before.topics != after.topics, before.regex != after.regex
        if regex_changed and before.regex and not group.subscribed_regexes()[before.regex]:
            emitter.emit(group.regex_record(before.regex, None))
        known = not after.regex or after.regex in group.regexes  # if not, it counts by the topics that it finds
        resolved = self._resolve(group, emitter)
        self.refresh(group, emitter, bump=names_changed or resolved or (regex_changed and known))
        return names_changed or regex_changed

    def _resolve(self, group: ConsumerGroup, emitter: Emitter) -> bool:
        """Resolve what is new, or all when the topics changed or the last time is long ago; True: topics differ.

        A pattern runs over all topics of the cluster. RE2 makes that quick, and
        `group.consumer.regex.refresh.interval.ms` and the version of the metadata keep it rare.
        """
        wanted = group.subscribed_regexes()
        if not wanted:
            return False
        now = self._clock.time_ms()
        overdue = now - group.resolved_ms > self._config.regex_refresh_ms
        stale = overdue or group.resolved_version != self._view.version
        if stale:
            group.resolved_version, group.resolved_ms = self._view.version, now
        changed = False
        for regex in sorted(wanted):
            present = group.regexes.get(regex)
            if present is not None and not stale:
                continue
            topics = matching_topics(regex, self._view.topic_names())
            if present is None or present.topics != topics:
                changed = changed or topics != (frozenset() if present is None else present.topics)
                emitter.emit(group.regex_record(regex, ResolvedRegex(topics, self._view.version, now)))
                group.checked_version = -1  # it may stand in the place of one that found more: compare the fingerprint
        return changed

    def refresh(self, group: ConsumerGroup, emitter: Emitter, *, bump: bool) -> None:
        """Bump the group's epoch when asked to, or when the subscribed topics are not what they were.

        Topics are compared by fingerprint, and only when the metadata has changed at all since the last look: a group
        learns of new partitions by the first heartbeat that comes after them, whoever sends it.
        """
        if not bump and group.checked_version == self._view.version:
            return
        group.checked_version = self._view.version
        current = group.current_hash(self._view)
        if bump or current != group.metadata_hash:
            emitter.emit(group.epoch_record(group.epoch + 1, current))
            logger.info("group %s: epoch %d", group.group_id, group.epoch)
        emitter.settle()

    def target(self, group: ConsumerGroup, emitter: Emitter) -> None:
        """Compute the target assignment if it is behind the group's epoch and the last one is long enough ago.

        Until then the members stay on (or join at) the last one: changes that come together share one assignment.
        """
        if group.epoch > group.target_epoch and self._may_assign(group):
            assignor = group.preferred_assignor(self._config.consumer_assignors[0])
            emitter.emit_all(target_records(group, self._view, assignor, self._clock))
            emitter.settle()

    def _may_assign(self, group: ConsumerGroup) -> bool:
        """`consumer.assignment.interval.ms` (KIP-1263) has passed since the last target, or nobody asks for one."""
        interval = self._config.assignment_interval_of(group.group_id)
        return not (interval and group.target_computed_ms) or (
            self._clock.time_ms() >= group.target_computed_ms + interval
        )

    def reconcile(
        self,
        group: ConsumerGroup,
        member_id: str,
        owned: Assignment | None,
        subscription_changed: bool,
        emitter: Emitter,
    ) -> ConsumerMember:
        """Take one step towards the target. A member that has arrived, and whose subscription stays, is not even looked
        at: most heartbeats end here.
        """
        member = group.members[member_id]
        if member.is_reconciled_to(group.target_epoch) and not subscription_changed:
            return member
        after = reconcile(
            member,
            target_epoch=group.target_epoch,
            target=group.target_of(member_id),
            subscribed=subscribed_ids(group, member_id, self._view),
            owner=group.owner,
            owned=owned,
            subscription_changed=subscription_changed,
        )
        if after != member:
            emitter.emit(after.assignment_record(group.group_id))
            emitter.settle()
        return after

    def replace_member(
        self, group: ConsumerGroup, old: ConsumerMember, member_id: str, emitter: Emitter
    ) -> ConsumerMember:
        """Give a static member's place, target and partitions to its new incarnation. It starts at epoch 0 and reaches
        the group's in the same heartbeat; nobody else's assignment changes, so the group's epoch stays.
        """
        new = replace(old, member_id=member_id, epoch=0, previous_epoch=0)
        target = group.target_of(old.member_id)
        emitter.emit_all(group.member_tombstones(old.member_id))
        emitter.emit(new.subscription_record(group.group_id))
        emitter.emit(group.target_record(member_id, target))
        emitter.emit(new.assignment_record(group.group_id))
        emitter.settle()
        return group.members[member_id]

    def remove(self, group: ConsumerGroup, members: Iterable[ConsumerMember], emitter: Emitter) -> None:
        """Take members out, with the regular expressions that nobody else uses, and bump the group's epoch."""
        for member in members:
            emitter.emit_all(group.member_tombstones(member.member_id))
        used = group.subscribed_regexes()
        for regex in [regex for regex in sorted(group.regexes) if not used[regex]]:
            emitter.emit(group.regex_record(regex, None))
        self.refresh(group, emitter, bump=True)
