"""What the consumer protocol needs to know of the other kind of group: a port, which `bridge` fills.

A ConsumerGroupHeartbeat may find a classic group under its group id, and a leave may leave only classic members behind.
Both change the kind of the group while it lives (KIP-848's online migration). What that means to a classic group is not
this room's affair.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from tidelog.broker.coordinator.group.consumer.group import ConsumerGroup
from tidelog.broker.coordinator.group.consumer.member import ConsumerMember
from tidelog.broker.coordinator.group.emitter import Emitter


class Kinds(Protocol):
    def consumer_group(self, group_id: str, emitter: Emitter, *, create: bool) -> ConsumerGroup:
        """The consumer group of this id; with `create`, made from nothing, from an empty group or by an upgrade."""
        ...

    def can_downgrade(self, group: ConsumerGroup, leaving: Collection[ConsumerMember] = ()) -> bool:
        """Whether, without those who leave, somebody is left and all of them speak the classic protocol."""
        ...

    def to_classic(
        self, group: ConsumerGroup, leaving: Collection[ConsumerMember], emitter: Emitter, reason: str
    ) -> None:
        """Turn the group into a classic one, which rebalances at once."""
        ...
