"""The frozen views of the broker's configuration that the machines read.

The keys are declared in `broker.config.groups` and `broker.config.transactions`; here each has the name and the default
that the machines (and their tests, which have no broker) know. Values are read once, when the coordinators begin; the
few that may change while the broker runs are read through `live`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from tidelog.broker.config import groups, transactions
from tidelog.common.config import Key

T = TypeVar("T")

MINUTE_MS = 60_000


class Values(Protocol):
    """A `Config` or a `BrokerConfig`."""

    def __getitem__(self, key: Key[T], /) -> T: ...


@dataclass(frozen=True)
class GroupConfig:
    """What the group machine reads. For a classic group the client names its time-outs, within `min_session_timeout_ms`
    and `max_session_timeout_ms`; a consumer group is told them by the broker (KIP-848), for all members alike, or for
    single groups by configs of the resource type GROUP.
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    initial_rebalance_delay_ms: int = 3_000
    max_size: int = 2**31 - 1
    new_member_join_timeout_ms: int = 300_000
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = 2**31 - 1
    consumer_assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: str = "bidirectional"
    regex_refresh_ms: int = 600_000
    #: The least time between two target assignments of a consumer group (KIP-1263).
    assignment_interval_ms: int = 0
    consumer_enabled: bool = True
    offset_metadata_max_bytes: int = 4096
    offsets_retention_ms: int = 10_080 * MINUTE_MS
    #: Configs of single groups (resource type GROUP), by group id; the broker keeps this mapping up to date.
    overrides: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False)
    #: Where values are read that may change while the broker runs; without it they are those above.
    live: Values | None = field(default=None, compare=False)

    @classmethod
    def of(cls, config: Values, overrides: Mapping[str, Mapping[str, str]] | None = None) -> GroupConfig:
        assignors: list[str] = config[groups.GROUP_CONSUMER_ASSIGNORS]
        return cls(
            min_session_timeout_ms=config[groups.GROUP_MIN_SESSION_TIMEOUT_MS],
            max_session_timeout_ms=config[groups.GROUP_MAX_SESSION_TIMEOUT_MS],
            initial_rebalance_delay_ms=config[groups.GROUP_INITIAL_REBALANCE_DELAY_MS],
            max_size=config[groups.GROUP_MAX_SIZE],
            consumer_session_timeout_ms=config[groups.GROUP_CONSUMER_SESSION_TIMEOUT_MS],
            consumer_heartbeat_interval_ms=config[groups.GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS],
            consumer_max_size=config[groups.GROUP_CONSUMER_MAX_SIZE],
            consumer_assignors=tuple(assignors),
            migration_policy=config[groups.GROUP_CONSUMER_MIGRATION_POLICY].lower(),
            regex_refresh_ms=config[groups.GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS],
            assignment_interval_ms=config[groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS],
            consumer_enabled="consumer" in config[groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS],
            offset_metadata_max_bytes=config[groups.OFFSET_METADATA_MAX_BYTES],
            offsets_retention_ms=config[groups.OFFSETS_RETENTION_MINUTES] * MINUTE_MS,
            overrides={} if overrides is None else overrides,
            live=config,
        )

    def session_timeout_of(self, group_id: str) -> int:
        """The session time-out of a consumer group's members."""
        return self._of(group_id, "consumer.session.timeout.ms", self.consumer_session_timeout_ms)

    def heartbeat_interval_of(self, group_id: str) -> int:
        """How often the members of a consumer group are asked to send heartbeats; each answer says it."""
        return self._of(group_id, "consumer.heartbeat.interval.ms", self.consumer_heartbeat_interval_ms)

    def assignment_interval_of(self, group_id: str) -> int:
        """How long a new target assignment waits for further changes; kept within the broker's limits."""
        if self.live is None:
            return self._of(group_id, "consumer.assignment.interval.ms", self.assignment_interval_ms)
        default = self.live[groups.GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS]
        lowest = self.live[groups.GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS]
        highest = self.live[groups.GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS]
        return max(lowest, min(highest, self._of(group_id, "consumer.assignment.interval.ms", default)))

    def _of(self, group_id: str, name: str, default: int) -> int:
        own = self.overrides.get(group_id)
        return default if own is None or name not in own else int(own[name])

    @property
    def upgrade_allowed(self) -> bool:
        """`group.consumer.migration.policy`: may a classic group become a consumer group while it has members?"""
        return self.migration_policy in ("upgrade", "bidirectional")

    @property
    def downgrade_allowed(self) -> bool:
        """The same, the other way round, when the last member of the new protocol leaves."""
        return self.migration_policy in ("downgrade", "bidirectional")


@dataclass(frozen=True)
class TransactionConfig:
    """What the transaction machine reads.

    `server_version`: the transaction protocol of what the coordinator does by itself (time-outs, fencing).
    """

    max_timeout_ms: int = 900_000
    id_expiration_ms: int = 604_800_000
    abort_interval_ms: int = 10_000
    expire_interval_ms: int = 3_600_000
    two_phase_enabled: bool = False
    server_version: int = 2

    @classmethod
    def of(cls, config: Values) -> TransactionConfig:
        return cls(
            max_timeout_ms=config[transactions.TRANSACTION_MAX_TIMEOUT_MS],
            id_expiration_ms=config[transactions.TRANSACTIONAL_ID_EXPIRATION_MS],
            abort_interval_ms=config[transactions.TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS],
            expire_interval_ms=config[transactions.TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS],
            two_phase_enabled=config[transactions.TRANSACTION_TWO_PHASE_COMMIT_ENABLE],
        )
