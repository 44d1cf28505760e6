"""What the two ways into a consumer group, the new protocol and the classic one, work on."""

from __future__ import annotations

from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.consumer.kinds import Kinds
from tidelog.broker.coordinator.group.consumer.session import ConsumerSessions
from tidelog.broker.coordinator.group.consumer.update import ConsumerUpdate
from tidelog.broker.coordinator.group.state import GroupShardState
from tidelog.common.rng import Rng
from tidelog.common.uuids import random_uuid, uuid_to_text


class ConsumerHandler:
    """`update` makes the changes, `sessions` watches the members, `kinds` knows what to do with a group of the other
    kind.
    """

    def __init__(
        self,
        state: GroupShardState,
        update: ConsumerUpdate,
        sessions: ConsumerSessions,
        kinds: Kinds,
        config: GroupConfig,
        rng: Rng,
    ) -> None:
        self._state = state
        self._update = update
        self._sessions = sessions
        self._kinds = kinds
        self._config = config
        self._rng = rng

    def new_member_id(self) -> str:
        """For a member that comes without one: from version 1 of the heartbeat on clients make their own (KIP-1082)."""
        return uuid_to_text(random_uuid(self._rng))
