"""PartitionLog: the commit log of one partition. One thread owns it.

    log start offset ≤ last stable offset ≤ high watermark ≤ log end offset
                                              recovery point ≤ log end offset

Offsets below the log start are deleted (even where their segment still lies on disk). Below the high watermark all
in-sync replicas have the record; below the last stable offset no transaction is open either. Below the recovery point
everything is synced to this disk. The log end offset is the next record's.

An append has two stages. Validation and conversion (in `records`, perhaps on a thread) come before; here is the
second: dedupe, fencing, offsets and epoch stamped in place, a new segment if the present one is full, one write, index
entries. It raises a `KafkaError` when the batch is refused and a `StorageError` when the disk failed; after the latter
the owner takes the log directory offline, and this object is only good for being thrown away.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, InvalidRecordError, KafkaError
from tidelog.common.fs import Buffer, FileSystem
from tidelog.common.rng import Rng
from tidelog.common.scheduler import Scheduler, TimerQueue
from tidelog.common.types import MAX_INT32, NO_TIMESTAMP, TopicPartition
from tidelog.log import partition_metadata
from tidelog.log.append import AppendInfo, AppendOrigin, ReadResult, TimestampOffset
from tidelog.log.config import LogConfig
from tidelog.log.leader_epochs import LeaderEpochs
from tidelog.log.names import DELETED, parse_dir
from tidelog.log.partition import retention
from tidelog.log.partition.flush import FlushJob
from tidelog.log.partition.local_log import LocalLog
from tidelog.log.partition.timestamps import find_by_timestamp, find_max_timestamp
from tidelog.log.producers._producers import Pending, ProducerEntry
from tidelog.log.producers.state import DEFAULT_EXPIRATION_MS, ProducerState
from tidelog.log.producers.verification import VerificationGuard, Verifications
from tidelog.log.recovery._runs import Survey, epoch_starts, fit, size_of, survey
from tidelog.log.recovery.loader import LoadedLog, LogLoader
from tidelog.log.recovery.recovery import rebuild_producers
from tidelog.log.segment._handles import FileBudget
from tidelog.log.segment.home import Home
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.attributes import MAGIC_V2
from tidelog.records.kernel._batches import BatchRun


class PartitionLog(LocalLog):
    """See the module's text. Make one by `open`."""

    def __init__(
        self,
        home: Home,
        config: LogConfig,
        topic_partition: TopicPartition,
        *,
        topic_id: bytes | None,
        rng: Rng,
        scheduler: Scheduler,
        epochs: LeaderEpochs,
        producers: ProducerState,
        loaded: LoadedLog,
        high_watermark: int | None,
        verify_transactions: bool,
    ) -> None:
        super().__init__(
            home,
            config,
            topic_partition,
            rng=rng,
            scheduler=scheduler,
            segments=loaded.segments,
            log_start_offset=loaded.log_start_offset,
            log_end_offset=loaded.next_offset,
            recovery_point=loaded.recovery_point,
        )
        self.topic_id = topic_id
        self.leader_epochs = epochs
        self.producers = producers
        self.verify_transactions = verify_transactions
        self.verifications = Verifications()
        self.high_watermark = loaded.log_start_offset
        self._first_unstable = producers.first_unstable_offset
        #: Where the log ended when it was opened, or was cut since: what a start finds has counted as written before.
        self._found_end = loaded.next_offset
        #: Since when there are records that are not synced; None: there are none.
        self.unflushed_since_ms: int | None = None
        self._unlink_later(loaded.dropped)
        self.advance_high_watermark(loaded.log_start_offset if high_watermark is None else high_watermark)

    @classmethod
    def open(
        cls,
        dir: Path,
        config: LogConfig,
        *,
        fs: FileSystem,
        clock: Clock,
        rng: Rng,
        files: FileBudget,
        scheduler: Scheduler | None = None,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        clean: bool = True,
        topic_id: bytes | None = None,
        high_watermark: int | None = None,
        producer_expiration_ms: int = DEFAULT_EXPIRATION_MS,
        verify_transactions: bool = False,
    ) -> PartitionLog:
        """Open (or make) the log in a directory named `topic-partition`.

        `clean`: the log directory was closed properly; otherwise everything from the recovery point on is checked.
        """
        name = parse_dir(dir.name)
        if name is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{dir}: not the name of a partition's directory")
        home = Home(dir, fs, clock, files)
        with home:
            fresh = fs.mkdir(dir)
            known = None if fresh else partition_metadata.read(fs, dir)
            if topic_id is not None and known is None:
                partition_metadata.write(fs, dir, topic_id)
                home.unsynced.add_name()
            elif topic_id is not None and known != topic_id:
                raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{dir} belongs to another topic of that name")
            epochs = LeaderEpochs(home) if fresh else LeaderEpochs.load(home)
            if config.record_magic < MAGIC_V2:
                epochs.clear()
            loader = LogLoader(
                home,
                config,
                rng=rng,
                epochs=epochs,
                log_start_offset=log_start_offset,
                recovery_point=recovery_point,
                clean=clean,
                expiration_ms=producer_expiration_ms,
            )
            loaded, producers = loader.begin() if fresh else loader.load()
        return cls(
            home,
            config,
            name.topic_partition,
            topic_id=known if topic_id is None else topic_id,
            rng=rng,
            scheduler=TimerQueue(clock) if scheduler is None else scheduler,
            epochs=epochs,
            producers=producers,
            loaded=loaded,
            high_watermark=high_watermark,
            verify_transactions=verify_transactions,
        )

    # ---- appending

    def append_as_leader(
        self,
        run: BatchRun,
        leader_epoch: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        now_ms: int | None = None,
        verification: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendInfo:
        """Give checked batches their offsets and write them. Without producer ids, each batch may be a request of
        its own; otherwise the run is one request's. `transaction_version` goes with markers (`WriteTxnMarkers`).
        Raises KafkaError: nothing was written."""
        count = len(run)
        if count == 0:
            raise InvalidRecordError("an append without a batch")
        now = self.home.clock.time_ms() if now_ms is None else now_ms
        append_time = now if self.config.log_append_time else None
        first_offset = self.log_end_offset
        run.stamp(first_offset, leader_epoch, log_append_time=append_time)
        facts = survey(run, 0, count)
        if facts.largest_batch > self.config.max_message_bytes or facts.largest_batch > self.config.segment_size:
            raise self.too_large(facts.largest_batch)
        if facts.legacy:
            self._check_set(run)
        elif leader_epoch != self.leader_epochs.latest_epoch:
            self.leader_epochs.assign(leader_epoch, first_offset)
        try:
            if facts.has_producers:
                # As Kafka does: the segment is rolled for a batch even if that is then refused or known.
                self._make_room(run.size, facts, now)
                pending = self.producers.prepare(run, origin, transaction_version=transaction_version)
                if pending.duplicate is not None:
                    first, last, timestamp = pending.duplicate
                    return AppendInfo(
                        first, last, timestamp, timestamp, self.log_start_offset,
                        duplicate=True, flush_required=last >= self.recovery_point and self._flush_required,
                    )  # fmt: skip
                if self.verify_transactions:
                    self._check_verified(run, verification)
                self._write(run, run.buffers(), 0, count, run.size, facts, now)
                self._commit_producers(pending)
            elif count == 1 or facts.legacy or run.size <= self.config.segment_size - self._active.data.size:
                self._make_room(run.size, facts, now)
                self._write(run, run.buffers(), 0, count, run.size, facts, now)
            else:
                self._write_requests(run, now)
        except OSError as error:
            raise self.home.failure(error) from error
        return AppendInfo(
            first_offset,
            facts.last_offset,
            facts.max_timestamp,
            NO_TIMESTAMP if append_time is None else append_time,
            self.log_start_offset,
            flush_required=self._flush_required,
        )

    @property
    def _flush_required(self) -> bool:
        """Whether so much is unsynced that `flush.messages` lets no more count as written before it is."""
        return self.log_end_offset - self.recovery_point >= self.config.flush_messages

    @property
    def written_end_offset(self) -> int:
        """Everything before it counts as written: the log's end; with `flush.messages` what is synced, or was found."""
        if not self._flush_required:
            return self.log_end_offset
        return max(self.recovery_point, min(self._found_end, self.log_end_offset))

    def append_as_follower(self, records: BatchRun | Buffer) -> AppendInfo:
        """Write batches that carry their offsets and epochs, as the leader sent them (checksums checked)."""
        if isinstance(records, BatchRun):
            run = records
        else:
            run = BatchRun(records)
            run.scan()
        count = len(run)
        if count == 0:
            end = self.log_end_offset
            return AppendInfo(end, end - 1, NO_TIMESTAMP, NO_TIMESTAMP, self.log_start_offset)
        facts = survey(run, 0, count)
        if not facts.in_order:
            raise InvalidRecordError(f"the offsets of an append to {self.topic_partition} do not rise")
        if facts.first_offset < self.log_end_offset:
            raise InvalidRecordError(
                f"an append to {self.topic_partition} begins at {facts.first_offset}, before the log's end "
                f"{self.log_end_offset}"
            )
        for epoch, offset in epoch_starts(run, 0, count, self.leader_epochs.latest_epoch):
            self.leader_epochs.assign(epoch, offset)
        if facts.legacy:  # no epochs in these formats: truncation goes by the high watermark again
            self.leader_epochs.clear()
        with self.home:
            now = self.home.clock.time_ms()
            self._make_room(run.size, facts, now)
            pending = self.producers.prepare(run, AppendOrigin.REPLICATION) if facts.has_producers else None
            self._write(run, run.buffers(), 0, count, run.size, facts, now)
            if pending is not None:
                self._commit_producers(pending)
        return AppendInfo(
            facts.first_offset, facts.last_offset, facts.max_timestamp, NO_TIMESTAMP, self.log_start_offset,
            flush_required=self._flush_required,
        )  # fmt: skip

    def _check_set(self, run: BatchRun) -> None:
        """A message set of magic 0 or 1 is one request, all of it for one segment; it has no epoch to assign."""
        if run.size > self.config.segment_size:
            raise self.too_large(run.size)

    def too_large(self, size: int) -> KafkaError:
        """The error for a batch of this size."""
        if size > self.config.max_message_bytes:
            return KafkaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"The record batch size in the append to {self.topic_partition} is {size} bytes which exceeds the "
                f"maximum configured value of {self.config.max_message_bytes}.",
            )
        return KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {size} bytes in append to partition {self.topic_partition}, which exceeds the "
            f"maximum configured segment size of {self.config.segment_size}.",
        )

    def _check_verified(self, run: BatchRun, guard: VerificationGuard | None) -> None:
        """A transaction's first write must carry the guard of its verification."""
        header = run.header(0)
        if not header.is_transactional or header.is_control:
            return
        if self.in_transaction(header.producer_id, header.producer_epoch):
            return
        if not self.verifications.accepts(header.producer_id, guard):
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "Record was not part of an ongoing transaction")
        lowest = self.verifications.lowest_sequence(header.producer_id)
        if lowest is not None and header.base_sequence > lowest:
            raise KafkaError(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {header.producer_id}: {header.base_sequence} (incoming "
                f"seq. number), {lowest} (earliest seen sequence)",
            )

    def _write_requests(self, run: BatchRun, now: int) -> None:
        """Write several requests: as many as fit into the segment, then those that fit into a new one."""
        first, count = 0, len(run)
        while first < count:
            stop = fit(run, first, self.config.segment_size - self._active.data.size)
            if stop == first:
                stop = max(fit(run, first, self.config.segment_size), first + 1)
            facts = survey(run, first, stop)
            size = size_of(run, first, stop)
            self._make_room(size, facts, now)
            self._write(run, run.take(first, stop).buffers(), first, stop, size, facts, now)
            first = stop

    def _make_room(self, size: int, facts: Survey, now: int) -> None:
        """Begin a new segment if the present one must not take these batches."""
        if self._active.should_roll(size, facts.max_timestamp, facts.last_offset, now):
            self._begin_segment(max(facts.last_offset - MAX_INT32, 0) if facts.legacy else facts.first_offset)

    def _write(
        self, run: BatchRun, buffers: Sequence[Buffer], first: int, stop: int, size: int, facts: Survey, now: int
    ) -> None:
        """Write the batches [first, stop) into the active segment; the log ends behind them."""
        self._active.append(run, buffers, first, stop, size)
        self.log_end_offset = self.producers.map_end_offset = facts.last_offset + 1
        if self.unflushed_since_ms is None:
            self.unflushed_since_ms = now

    def _commit_producers(self, pending: Pending) -> None:
        producers = self.producers
        producers.commit(pending)
        for completed in pending.completed:
            stable = producers.last_stable_offset_after(completed)
            if completed.aborted:
                self._active.txn_index.append(
                    AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
                )
            producers.complete(completed)
            self.verifications.clear(completed.producer_id)
        for _, producer_id in pending.started:
            self.verifications.clear(producer_id)
        if pending.started or pending.completed:
            self._first_unstable = producers.first_unstable_offset

    # ---- looking up

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTxn]:
        """The aborted transactions that overlap [start, end)."""
        found: list[AbortedTxn] = []
        with self.home:
            for segment in self._segments.between(start):
                if not segment.txn_index.data.size:
                    continue
                more, complete = segment.txn_index.collect(start, end)
                found += more
                if complete:
                    break
        return found

    def aborted_within(self, start: int, found: ReadResult) -> list[AbortedTxn]:
        """The aborted transactions that a reader from `start` on must know to make sense of what `read` has found.

        Where that ends is known to the next index entry only: some behind it may be among them.
        """
        segment = self._segments.floor(found.first_offset)
        if found.slice is None or segment is None:
            return []
        with self.home:
            end = segment.offset_behind(found.slice.position + found.slice.size)
        if end is None:
            following = self._segments.higher(segment.base_offset)
            end = self.log_end_offset if following is None else following.base_offset
        return self.aborted_transactions(start, end)

    def know_times(self) -> int:
        """The largest timestamp of the active segment, read if need be: after that, any thread may look times up.

        (Those of the others never change; what is read twice by two threads is the same.)
        """
        with self.home:
            return self._active.max_timestamp

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is not below `timestamp`. Any thread, after `know_times`."""
        with self.home:
            for segment in self._segments.all:
                if segment.largest_timestamp >= timestamp:
                    return find_by_timestamp(segment, timestamp, self.log_start_offset)
        return None

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """The record with the largest timestamp. Any thread, after `know_times`."""
        with self.home:
            return find_max_timestamp(self._segments.all)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(the largest known epoch not above `epoch`, the offset after its last record); (-1, -1): not known."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader begins to write at `start_offset`. Formats before magic 2 have no epochs."""
        if self.config.record_magic == MAGIC_V2:
            self.leader_epochs.assign(epoch, start_offset)

    # ---- the watermarks

    @property
    def last_stable_offset(self) -> int:
        """Below it no transaction is open and every record is replicated."""
        first = self._first_unstable
        if first is None or first >= self.high_watermark:
            return self.high_watermark
        return max(first, self.log_start_offset)

    def advance_high_watermark(self, offset: int) -> bool:
        """Move the high watermark to `offset`, within the log; true when it changed. (It may also move back.)"""
        offset = max(self.log_start_offset, min(offset, self.log_end_offset))
        if offset == self.high_watermark:
            return False
        self.high_watermark = offset
        if self.producers.unreplicated or self.producers.ongoing or self._first_unstable is not None:
            self.producers.high_watermark_moved(offset)
            self._first_unstable = self.producers.first_unstable_offset
        return True

    def advance_log_start(self, offset: int) -> bool:
        """Records below `offset` are gone (DeleteRecords, the leader's log start); true when it changed."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Cannot increment the log start offset to {offset} of partition {self.topic_partition} since it is "
                f"larger than the high watermark {self.high_watermark}",
            )
        if offset <= self.log_start_offset:
            return False
        self._set_log_start(offset)
        self.leader_epochs.truncate_from_start(offset)
        self.producers.log_start_moved(offset)
        self._first_unstable = self.producers.first_unstable_offset
        return True

    def _set_log_start(self, offset: int) -> None:
        self.log_start_offset = offset
        self.high_watermark = max(self.high_watermark, offset)
        if offset > self.recovery_point:
            for segment in self._segments.between(self.recovery_point, offset):
                self.home.unsynced.add_segment(segment)  # it stays for a while, and a clean stop vouches for it
            self.recovery_point = offset

    # ---- segments

    def roll(self, offset: int | None = None) -> Segment:
        """Begin a new segment at the log's end (or at `offset` if that is higher)."""
        with self.home:
            self._begin_segment(self.log_end_offset if offset is None else offset)
        return self._active

    def _begin_segment(self, offset: int) -> None:
        base_offset = max(offset, self.log_end_offset)
        # The snapshot belongs to the new segment, whose base may lie behind the state's end.
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot()
        self._roll(base_offset)

    def _segment_gone(self, base_offset: int) -> None:
        self.producers.detach_snapshot(base_offset, DELETED)

    def delete_old_segments(self) -> int:
        """Apply retention; returns how many segments went."""
        with self.home:
            gone = self._delete(retention.before_log_start(self.log_start_offset))
            if self.config.delete:
                gone += self._delete(retention.beyond_size(self._segments, self.config))
                gone += self._delete(retention.beyond_age(self.config, self.home.clock.time_ms()))
        return gone

    def _delete(self, rule: retention.Rule | None) -> int:
        if rule is None:
            return 0
        gone = retention.deletable(self._segments, rule, self.high_watermark, self.log_end_offset)
        if gone:
            if len(gone) == len(self._segments):
                self._begin_segment(self.log_end_offset)  # there is always one segment
            self._keep_names()
            self._remove(gone)
            self.advance_log_start(self._segments.first.base_offset)
        return len(gone)

    def _keep_names(self) -> None:
        """Old segments are about to go. If a power loss kept that, and lost the name of a new one, nothing would tell
        where the log was: it would give out its offsets again."""
        if self.home.unsynced.names:
            self.home.fs.sync_dir(self.home.path)

    # ---- truncation

    def truncate_to(self, offset: int) -> bool:
        """Drop everything from `offset` on; false when the log ends there or before."""
        if offset < 0:
            raise ValueError(f"cannot truncate to {offset}")
        if offset >= self.log_end_offset:
            # An epoch that began here and wrote nothing may not be the leader's.
            self.leader_epochs.truncate_from_end(self.log_end_offset)
            return False
        with self.home:
            if self._segments.first.base_offset > offset:
                self._start_anew(offset)
            else:
                self._truncate(offset)
        return True

    def _truncate(self, offset: int) -> None:
        self._cut_files(offset)
        self.leader_epochs.truncate_from_end(offset)
        self.log_start_offset = min(offset, self.log_start_offset)
        self._found_end = min(self._found_end, offset)
        self._settle_truncation()

    def truncate_fully_and_start_at(self, offset: int, log_start: int | None = None) -> None:
        """Drop everything; the log begins again, empty, at `offset`."""
        with self.home:
            self._start_anew(offset, log_start)

    def _start_anew(self, offset: int, log_start: int | None = None) -> None:
        self._restart_files(offset)
        self.leader_epochs.clear()
        self.producers.restart_at(offset)
        self.log_start_offset = offset if log_start is None else log_start
        self.high_watermark = offset
        self._settle_truncation()

    def _settle_truncation(self) -> None:
        rebuild_producers(
            self.producers,
            self._segments,
            self.log_start_offset,
            self.log_end_offset,
            clean=False,
            now_ms=self.home.clock.time_ms(),
        )
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        self.producers.high_watermark_moved(self.high_watermark)
        self._first_unstable = self.producers.first_unstable_offset

    # ---- durability

    def flush_job(self, up_to: int | None = None) -> FlushJob | None:
        """What must be synced so that everything below `up_to` (the log's end) is durable; None: nothing."""
        offset = self.log_end_offset if up_to is None else min(up_to, self.log_end_offset)
        behind = offset > self.recovery_point
        if not behind and not self.home.unsynced:
            return None
        return FlushJob(
            self.home,
            offset,
            self._cuts,
            self._segments.between(self.recovery_point, offset) if behind else (),
            self.home.unsynced.take(),
            self.leader_epochs.encoded() if self.leader_epochs.dirty else None,
        )

    def flush_done(self, job: FlushJob) -> None:
        """The job ran without an error."""
        self.home.unsynced.done(job.taken)
        if job.cuts == self._cuts:
            self.recovery_point = max(self.recovery_point, job.offset)
        if self.recovery_point >= self.log_end_offset:
            self.unflushed_since_ms = None

    def flush(self, up_to: int | None = None) -> None:
        """Sync here and now."""
        job = self.flush_job(up_to)
        if job is not None:
            with self.home:
                job.run()
            self.flush_done(job)

    def take_snapshot(self) -> None:
        with self.home:
            self.producers.take_snapshot()

    # ---- producers

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers that were not heard of for `producer.id.expiration.ms`."""
        return self.producers.expire(now_ms)

    def active_producers(self) -> list[ProducerEntry]:
        return list(self.producers.entries.values())

    def has_late_transaction(self, now_ms: int, longest_ms: int) -> bool:
        """Whether a transaction is open longer than its coordinator allows (plus the caller's grace)."""
        return self.producers.has_late_transaction(now_ms, longest_ms)

    def in_transaction(self, producer_id: int, epoch: int) -> bool:
        """Whether a transaction of this producer has written here and is not ended yet."""
        entry = self.producers.entries.get(producer_id)
        return entry is not None and entry.txn_first_offset >= 0 and entry.epoch == epoch

    def start_verification(self, producer_id: int, sequence: int, epoch: int) -> VerificationGuard | None:
        """The guard that a transaction's first write must carry; None when the transaction is known here."""
        if self.in_transaction(producer_id, epoch):
            return None
        return self.verifications.start(producer_id, sequence, epoch)

    # ---- life

    def assign_topic_id(self, topic_id: bytes) -> None:
        """The directory did not say which topic it belongs to: from now on it does."""
        with self.home:
            partition_metadata.write(self.home.fs, self.dir, topic_id)
        self.topic_id = topic_id
        self.home.unsynced.add_name()

    def update_config(self, config: LogConfig) -> None:
        """Use another configuration from now on; index sizes apply from the next segment on."""
        if config.record_magic < MAGIC_V2 <= self.config.record_magic:
            self.leader_epochs.clear()
        self.config = config
        for segment in self._segments.all:
            segment.config = config
            segment.indexes.interval = config.index_interval_bytes

    def close(self) -> None:
        """Cut the indexes to size, remember the producers, sync, close the files."""
        self.finish()
        self.flush()
        self.release()

    def finish(self) -> None:
        """The last changes before a close: cut the files to size, remember the producers. Nothing is synced yet."""
        with self.home:
            for segment in self._segments.all:
                segment.finish(active=segment is self._active)
            self.producers.take_snapshot()
