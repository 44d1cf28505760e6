"""One partition on this broker: its log, its role, and what clients may do with it.

A `Partition` leads (it appends and serves reads) or follows (it copies); the controller says which, and `become` makes
it so. What it knows in either role is an object of its own: `leading` (leader.py) or `following` (follower.py); there
is at most one of both. It turns the rules of `isr.py`, the topic's config and the log's own state into answers and
error codes. Whoever waits for a change is told by the replica manager (`waking.py`), after the call that caused it has
finished.

An append has two stages: `prepare` checks and converts what came, and may run on a thread; `append_checked` writes, on
the loop's thread. What is written is not committed by that: it is when every in-sync replica has it, which
`advance_high_watermark` finds out, at once where this broker is the whole ISR, else when the followers fetch.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.follower import FollowerState, follow
from tidelog.broker.replication.leader import LeaderState
from tidelog.broker.replication.produce_rules import (
    TELL_NO_START,
    Records,
    largest_batch,
    on_the_loop,
    produce_rules,
    refuse_base_offset,
)
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.types import NO_EPOCH, NO_NODE, TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin
from tidelog.log.config import LogConfig
from tidelog.records.format.validate import ValidatedRecords, validate_produce
from tidelog.records.kernel._batches import BatchRun

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tidelog.broker.replication.fetcher import Fetchers
    from tidelog.broker.replication.isr import RemoteReplica
    from tidelog.log.partition.partition_log import PartitionLog
    from tidelog.log.producers.verification import VerificationGuard

NO_FOLLOWERS: Mapping[int, RemoteReplica] = MappingProxyType({})


class Partition:
    """Owned by the event loop; `prepare` alone may run elsewhere."""

    __slots__ = (
        "_clock",
        "_fetchers",
        "following",
        "leader",
        "leader_epoch",
        "leading",
        "log",
        "node_id",
        "offline",
        "on_disk_failure",
        "partition_epoch",
        "replicas",
        "rules",
        "topic_id",
        "tp",
    )

    def __init__(
        self,
        tp: TopicPartition,
        topic_id: bytes,
        log: PartitionLog,
        node_id: int,
        clock: Clock,
        fetchers: Fetchers,
        on_disk_failure: Callable[[Partition, StorageError], None],
    ) -> None:
        self.tp = tp
        self.topic_id = topic_id
        self.log = log
        self.node_id = node_id
        self._clock = clock
        self._fetchers = fetchers
        self.on_disk_failure = on_disk_failure
        self.leader = NO_NODE
        self.leader_epoch = NO_EPOCH
        self.partition_epoch = 0
        self.replicas: tuple[int, ...] = ()
        self.leading: LeaderState | None = None
        self.following: FollowerState | None = None
        self.offline = False
        self.rules = produce_rules(log.config)

    def __repr__(self) -> str:
        return f"Partition({self.tp}, leader={self.leader}, epoch={self.leader_epoch}, isr={self.isr})"

    # -- roles -------------------------------------------------------------------------------------------------------

    @property
    def is_leader(self) -> bool:
        return self.leading is not None

    @property
    def isr(self) -> tuple[int, ...]:
        """Who is in sync, as the controller has it. A follower does not know."""
        return () if self.leading is None else self.leading.isr

    @property
    def followers(self) -> Mapping[int, RemoteReplica]:
        """What the leader knows of the other replicas."""
        return NO_FOLLOWERS if self.leading is None else self.leading.followers

    @property
    def leader_epoch_start(self) -> int:
        """Where the records of this leader begin; 0 for a follower, who has none."""
        return 0 if self.leading is None else self.leading.epoch_start

    def become(self, state: PartitionState) -> bool:
        """Take on the role that the controller decided; whether leadership or its epoch changed.

        The leader epoch says whether anything begins anew. With the same epoch a leader goes on leading, with another
        ISR or other replicas perhaps, and a follower goes on fetching.
        """
        was = (self.is_leader, self.leader_epoch)
        new_epoch = state.leader_epoch != self.leader_epoch
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = state.replicas
        if state.leader == self.node_id:
            self._make_leader(state, new_epoch)
        else:
            self._make_follower(state, new_epoch)
        return was != (self.is_leader, self.leader_epoch)

    def _make_leader(self, state: PartitionState, new_epoch: bool) -> None:
        """Kafka: makeLeader. Whatever is in the log now is the truth; what this leader writes begins here, and the log
        says so in its list of epochs, for those who ask later where the epoch before has ended."""
        self._unfollow()
        leading = self.leading
        if leading is None or new_epoch:
            leading = self.leading = LeaderState(self.node_id, self.log.log_end_offset)
            self.log.assign_epoch(state.leader_epoch, leading.epoch_start)
        leading.assign(state.replicas, state.isr, self._clock.monotonic())
        self.advance_high_watermark()

    def _make_follower(self, state: PartitionState, new_epoch: bool) -> None:
        """Kafka: makeFollower. From here on clients cannot append; then somebody is asked to fetch. The order matters:
        a record that slipped in between would be at an offset that the new leader gives to another."""
        self.leading = None
        if state.leader == NO_NODE:  # nobody may lead now: nobody to follow
            self._unfollow()
        elif self.following is None or new_epoch:
            self.following = follow(self.log, state.leader, state.leader_epoch)
            self._fetchers.begin(self.tp, self.following)

    def _unfollow(self) -> None:
        if self.following is not None:
            self.following = None
            self._fetchers.end(self.tp)

    def resign(self) -> None:
        """Neither lead nor follow: it is hosted here no longer."""
        self.leading = None
        self._unfollow()

    def update_config(self, config: LogConfig) -> None:
        self.log.update_config(config)
        self.rules = produce_rules(config)

    def check_leader(self, current_leader_epoch: int = NO_EPOCH) -> ErrorCode:
        """Whether a request that knows this leader epoch may be served here."""
        if self.offline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if current_leader_epoch != NO_EPOCH and current_leader_epoch != self.leader_epoch:
            stale = current_leader_epoch < self.leader_epoch
            return ErrorCode.FENCED_LEADER_EPOCH if stale else ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.leading is not None else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # -- append ------------------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """Whether this broker is the whole ISR: what it has written is committed."""
        return self.leading is not None and self.leading.alone

    @property
    def min_isr(self) -> int:
        return min(self.log.config.min_insync_replicas, max(len(self.replicas), 1))

    def require_min_isr(self) -> None:
        """acks=all is refused while too few replicas are in sync."""
        in_sync = 0 if self.leading is None else len(self.leading.isr)
        if in_sync < self.min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {in_sync} is insufficient to satisfy the min.isr requirement of "
                f"{self.min_isr} for partition {self.tp}",
            )

    def prepare(
        self,
        records: Records,
        *,
        request_version: int = 13,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        on_loop: bool = False,
    ) -> ValidatedRecords:
        """Check and, where needed, convert what a client sent. May run on a thread: it reads only what never changes,
        but for the log's end, which is a guess (`still_fits`).

        What is sent may not be larger than `max.message.bytes`, however small it would be in the log; so nothing larger
        is ever unpacked. What is made of it is measured when it is appended. `on_loop`: give up if it unpacks to much.
        """
        if origin is AppendOrigin.CLIENT:
            refuse_base_offset(records)
            size = largest_batch(records, self.log.config.max_message_bytes)
            if size:
                raise self.log.too_large(size)
        return validate_produce(
            records,
            on_the_loop(self.rules) if on_loop else self.rules,
            now_ms=self._clock.time_ms(),
            origin=origin,
            request_version=request_version,
            next_offset=self.log.log_end_offset,
        )

    def still_fits(self, prepared: ValidatedRecords) -> bool:
        """Whether the records may be appended now, or were packed for offsets that others have taken meanwhile."""
        return prepared.packed_for in (None, self.log.log_end_offset)

    def append_client(self, records: Records, *, request_version: int = 13) -> AppendInfo:
        """Both stages at once, for what is known to be quick."""
        return self.append_checked(self.prepare(records, request_version=request_version).run)

    def append_checked(
        self,
        run: BatchRun,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Write batches that passed `prepare` (or the same checks); advances the high watermark where it can."""
        leading = self.leading
        if leading is None or self.offline:
            raise KafkaError(self.check_leader())
        try:
            info = self.log.append_as_leader(
                run,
                self.leader_epoch,
                origin=origin,
                verification=verification,
                transaction_version=transaction_version,
            )
        except StorageError as error:
            self.on_disk_failure(self, error)
            raise
        if info.flush_required:
            return info  # it does not count as written, and is shown to nobody, before it is synced
        if leading.alone:
            self.log.advance_high_watermark(self.log.log_end_offset)
        else:
            self.advance_high_watermark()
        return info

    def log_start_for_error(self, code: ErrorCode) -> int:
        """The log start offset that an error's answer carries; some errors tell none."""
        return -1 if code in TELL_NO_START else self.log.log_start_offset

    # -- the high watermark ------------------------------------------------------------------------------------------

    def advance_high_watermark(self) -> bool:
        """Move the high watermark to where the in-sync replicas agree; whether it moved."""
        if self.leading is None:
            return False
        target = self.leading.committed_end(self.log.written_end_offset)
        return target > self.log.high_watermark and self.log.advance_high_watermark(target)

    def on_follower_fetch(self, node: int, offset: int, log_start_offset: int, now: float) -> bool:
        """A follower asks for `offset`; whether the high watermark moved by that."""
        follower = self.followers.get(node)
        if follower is None:  # no replica, or one that does not know yet who leads
            return False
        follower.on_fetch(offset, log_start_offset, self.log.log_end_offset, now)
        return self.advance_high_watermark()

    def low_watermark(self) -> int:
        """The least log start offset of all replicas: where DeleteRecords has come to."""
        start = self.log.log_start_offset
        return start if self.leading is None else self.leading.low_watermark(start)

    def committed(self, required_offset: int) -> ErrorCode | None:
        """What acks=all has to say of everything before `required_offset`: None while it must wait."""
        leading = self.leading
        if leading is None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        return ErrorCode.NONE if len(leading.isr) >= self.min_isr else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

    # -- offsets -----------------------------------------------------------------------------------------------------

    def delete_records(self, offset: int) -> int:
        """Move the log start offset up (-1: to the high watermark); returns the low watermark."""
        if not self.log.config.delete:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION,
                f"Records of partition {self.tp} can not be deleted due to the configured policy",
            )
        hw = self.log.high_watermark
        target = hw if offset == -1 else offset
        if not 0 <= target <= hw:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"cannot delete up to offset {target} of partition {self.tp}: its high watermark is {hw}",
            )
        self.log.advance_log_start(target)
        return self.low_watermark()
