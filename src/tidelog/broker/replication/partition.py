"""One partition on this broker: its log, its role, and what clients may do with it.

A `Partition` is a leader (it appends and serves reads) or a follower (it copies). It turns the rules of `isr.py`, the
topic's config and the log's own state into answers and error codes; who waits for a change is told by the replica
manager (`on_change`), after the call that caused it has finished.

Append has two stages: `prepare` checks and converts and may run on a thread; `commit` writes, on the loop's thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.isr import FollowerState, high_watermark
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, InvalidRecordError, KafkaError, StorageError
from tidelog.common.types import NO_EPOCH, TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin
from tidelog.log.config import LogConfig
from tidelog.records.format.attributes import MAGIC_V2, Codec, TimestampType
from tidelog.records.format.layout import LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET
from tidelog.records.format.validate import ProduceRules, ValidatedRecords, validate_produce
from tidelog.records.kernel._batches import BatchRun

if TYPE_CHECKING:
    from collections.abc import Callable

    from tidelog.log.partition.partition_log import PartitionLog
    from tidelog.log.producers.verification import VerificationGuard

#: Errors whose answer does not carry the log start offset.
_TELL_NO_START = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
    }
)

Records = BatchRun | bytes | bytearray | memoryview


def produce_rules(config: LogConfig) -> ProduceRules:
    """What a topic's config asks of the records that clients send."""
    name = config.compression_type
    codec = None if name == "producer" else Codec.NONE if name == "uncompressed" else Codec.from_name(name)
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return ProduceRules(
        codec=codec,
        level=None if codec is None else levels.get(codec),
        timestamp_type=TimestampType.LOG_APPEND_TIME if config.log_append_time else TimestampType.CREATE_TIME,
        before_max_ms=config.message_timestamp_before_max_ms,
        after_max_ms=config.message_timestamp_after_max_ms,
        compacted=config.compact,
        magic=config.record_magic,
    )


def refuse_base_offset(records: Records) -> None:
    """A producer counts its records from 0; the offsets are the log's to give. (Old formats may carry any.)"""
    if isinstance(records, BatchRun):
        base = max((header.base_offset for header in records.headers() if header.magic == MAGIC_V2), default=0)
    else:
        is_batch = len(records) > MAGIC_OFFSET and records[MAGIC_OFFSET] == MAGIC_V2
        base = int.from_bytes(records[:LENGTH_OFFSET], "big", signed=True) if is_batch else 0
    if base != 0:
        raise InvalidRecordError(f"The baseOffset of the record batch should be 0, but it is {base}")


class Partition:
    __slots__ = (
        "_alone",
        "_clock",
        "followers",
        "is_leader",
        "isr",
        "leader",
        "leader_epoch",
        "leader_epoch_start",
        "log",
        "node_id",
        "offline",
        "on_disk_failure",
        "partition_epoch",
        "pending_isr",
        "replicas",
        "rules",
        "topic_id",
        "tp",
        "watchers",
    )

    def __init__(
        self,
        tp: TopicPartition,
        topic_id: bytes,
        log: PartitionLog,
        node_id: int,
        clock: Clock,
        on_disk_failure: Callable[[Partition, StorageError], None],
    ) -> None:
        self.tp = tp
        self.topic_id = topic_id
        self.log = log
        self.node_id = node_id
        self._clock = clock
        self.on_disk_failure = on_disk_failure
        self.leader = -1
        self.leader_epoch = NO_EPOCH
        self.leader_epoch_start = 0
        self.partition_epoch = 0
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.pending_isr: tuple[int, ...] | None = None
        """An ISR that was proposed to the controller: it counts for the high watermark until it is refused."""
        self.followers: dict[int, FollowerState] = {}
        self.is_leader = False
        self.offline = False
        self._alone = False
        self.rules = produce_rules(log.config)
        self.watchers: list[Callable[[int], None]] = []
        """Called with the high watermark when it has moved (coordinators)."""

    def __repr__(self) -> str:
        return f"Partition({self.tp}, leader={self.leader}, epoch={self.leader_epoch}, isr={self.isr})"

    # -- roles -------------------------------------------------------------------------------------------------------

    def become(self, state: PartitionState) -> bool:
        """Take on the role that the controller decided; whether leadership or its epoch changed."""
        was = (self.is_leader, self.leader_epoch)
        now = self._clock.monotonic()
        new_epoch = state.leader_epoch != self.leader_epoch
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.partition_epoch
        self.replicas = state.replicas
        self.isr = state.isr
        self.pending_isr = None
        self.is_leader = state.leader == self.node_id
        if self.is_leader:
            others = [node for node in state.replicas if node != self.node_id]
            self.followers = {node: self.followers.get(node) or FollowerState(caught_up_at=now) for node in others}
            if new_epoch:
                self.leader_epoch_start = self.log.log_end_offset
                self.log.assign_epoch(state.leader_epoch, self.leader_epoch_start)
                for follower in self.followers.values():
                    follower.log_end_offset = follower.log_start_offset = -1
                    follower.caught_up_at = now
        else:
            self.followers = {}
        self._alone = self.is_leader and all(node == self.node_id for node in self.isr)
        if self.is_leader:
            self.advance_high_watermark()
        return was != (self.is_leader, self.leader_epoch)

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
        return ErrorCode.NONE if self.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    # -- append ------------------------------------------------------------------------------------------------------

    @property
    def alone(self) -> bool:
        """Whether this broker is the whole ISR: what it has written is committed."""
        return self._alone and self.pending_isr is None

    @property
    def min_isr(self) -> int:
        return min(self.log.config.min_insync_replicas, max(len(self.replicas), 1))

    def require_min_isr(self) -> None:
        """acks=all is refused while too few replicas are in sync."""
        if len(self.isr) < self.min_isr:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {len(self.isr)} is insufficient to satisfy the min.isr requirement of "
                f"{self.min_isr} for partition {self.tp}",
            )

    def prepare(
        self,
        records: Records,
        *,
        request_version: int = 13,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        max_unpacked: int | None = None,
    ) -> ValidatedRecords:
        """Check and, where needed, convert what a client sent. May run on a thread: it reads only what never changes,
        but for the log's end, which is a guess (`still_fits`).

        What is sent may not be larger than `max.message.bytes`, however small it would be in the log; so nothing larger
        is ever unpacked. What is made of it is measured when it is appended. `max_unpacked`: give up at so many bytes.
        """
        if origin is AppendOrigin.CLIENT:
            refuse_base_offset(records)
            self._refuse_large(records)
        return validate_produce(
            records,
            self.rules if max_unpacked is None else self.rules._replace(max_unpacked_bytes=max_unpacked),
            now_ms=self._clock.time_ms(),
            origin=origin,
            request_version=request_version,
            next_offset=self.log.log_end_offset,
        )

    def still_fits(self, prepared: ValidatedRecords) -> bool:
        """Whether the records may be appended now, or were packed for offsets that others have taken meanwhile."""
        return prepared.packed_for in (None, self.log.log_end_offset)

    def _refuse_large(self, records: Records) -> None:
        limit = self.log.config.max_message_bytes
        if isinstance(records, BatchRun) or len(records) <= limit:
            return
        position = 0
        while len(records) - position >= LOG_OVERHEAD:
            size = LOG_OVERHEAD + int.from_bytes(records[position + LENGTH_OFFSET : position + LOG_OVERHEAD], "big")
            if size > limit:
                raise self.log.too_large(size)
            position += size

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
        if not self.is_leader or self.offline:
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
        if self._alone and self.pending_isr is None:
            self.log.advance_high_watermark(self.log.log_end_offset)
        else:
            self.advance_high_watermark()
        return info

    def log_start_for_error(self, code: ErrorCode) -> int:
        """The log start offset that an error's answer carries; some errors tell none."""
        return -1 if code in _TELL_NO_START else self.log.log_start_offset

    # -- the high watermark ------------------------------------------------------------------------------------------

    def advance_high_watermark(self) -> bool:
        """Move the high watermark to where the in-sync replicas agree; whether it moved."""
        isr = self.isr if self.pending_isr is None else tuple({*self.isr, *self.pending_isr})
        target = high_watermark(self.log.written_end_offset, isr, self.followers)
        return target > self.log.high_watermark and self.log.advance_high_watermark(target)

    def on_follower_fetch(self, node: int, offset: int, log_start_offset: int, now: float) -> bool:
        """A follower asks for `offset`; whether the high watermark moved by that."""
        follower = self.followers.get(node)
        if follower is None:
            return False
        follower.on_fetch(offset, log_start_offset, self.log.log_end_offset, now)
        return self.advance_high_watermark()

    def low_watermark(self) -> int:
        """The least log start offset of all replicas: where DeleteRecords has come to."""
        starts = [follower.log_start_offset for follower in self.followers.values()]
        return min([self.log.log_start_offset, *starts])

    def committed(self, required_offset: int) -> ErrorCode | None:
        """What acks=all has to say of everything before `required_offset`: None while it must wait."""
        if not self.is_leader:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if self.log.high_watermark < required_offset:
            return None
        return ErrorCode.NONE if len(self.isr) >= self.min_isr else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND

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
