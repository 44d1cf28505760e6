"""The end of a log, where it grows and where it is cut: appending, rolling, truncation.

These are the changes in which all parts of a log take part, in an order that a crash or a refusal may interrupt
anywhere. An append: epochs, perhaps a new segment (with a snapshot of the producers, so that a recovery can begin
there), the producers' check, the write, then the log ends behind it and the producers' state knows of it. What is
refused or fails half-way has not happened for a reader, a retry or a snapshot; bytes that were written behind the end
are overwritten by the next append.

A follower truncates when it learns that its leader has other records there (KIP-101: by epochs, not by the high
watermark, since that may lag behind on the two in different ways), or when its log lies wholly before or behind its
leader's: then it starts anew, empty.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.common.errors import InvalidRecordError, KafkaError
from tidelog.common.fs import Buffer
from tidelog.common.types import MAX_INT32, NO_TIMESTAMP, TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin
from tidelog.log.leader_epochs import LeaderEpochs
from tidelog.log.names import DELETED
from tidelog.log.partition import refusals
from tidelog.log.partition.local_log import LocalLog
from tidelog.log.partition.watermarks import Watermarks
from tidelog.log.producers._producers import Pending
from tidelog.log.producers.state_manager import ProducerStateManager
from tidelog.log.producers.verification import VerificationGuard, Verifications
from tidelog.log.recovery._runs import Survey, epoch_starts, fit, size_of, survey
from tidelog.log.recovery.recovery import rebuild_producers
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.kernel._batches import BatchRun


class LogWriter:
    """See the module's text. It has no state of its own: it changes the parts that it was given."""

    __slots__ = ("epochs", "files", "marks", "producers", "topic_partition", "verifications")

    def __init__(
        self,
        topic_partition: TopicPartition,
        files: LocalLog,
        marks: Watermarks,
        epochs: LeaderEpochs,
        producers: ProducerStateManager,
        verifications: Verifications,
    ) -> None:
        self.topic_partition = topic_partition
        self.files = files
        self.marks = marks
        self.epochs = epochs
        self.producers = producers
        self.verifications = verifications

    def append_as_leader(
        self,
        run: BatchRun,
        leader_epoch: int,
        origin: AppendOrigin,
        now_ms: int | None,
        verification: VerificationGuard | None,
        transaction_version: int,
    ) -> AppendInfo:
        """Give checked batches their offsets and write them; see `PartitionLog`."""
        count = len(run)
        if count == 0:
            raise InvalidRecordError("an append without a batch")
        files, marks = self.files, self.marks
        config = files.config
        now = files.home.clock.time_ms() if now_ms is None else now_ms
        append_time = now if config.log_append_time else None
        first_offset = marks.log_end_offset
        run.stamp(first_offset, leader_epoch, log_append_time=append_time)
        facts = survey(run, 0, count)
        if facts.largest_batch > config.max_message_bytes or facts.largest_batch > config.segment_size:
            raise self.too_large(facts.largest_batch)
        if facts.legacy:  # a message set of magic 0 or 1 is one request, for one segment; it has no epoch to assign
            if run.size > config.segment_size:
                raise self.too_large(run.size)
        elif leader_epoch != self.epochs.noted_epoch:
            self.epochs.assign(leader_epoch, first_offset)
        try:
            if facts.has_producers:
                # As Kafka does: the segment is rolled for a batch even if that is then refused or known.
                self._make_room(run.size, facts, now)
                pending = self.producers.prepare(run, origin, transaction_version=transaction_version)
                if pending.duplicate is not None:
                    return self._known(*pending.duplicate)
                if self.verifications.required:
                    self._check_verified(run, verification)
                self._write(run, run.buffers(), 0, count, run.size, facts, now)
                self._commit_producers(pending)
            elif count == 1 or facts.legacy or run.size <= config.segment_size - files.active.data.size:
                self._make_room(run.size, facts, now)
                self._write(run, run.buffers(), 0, count, run.size, facts, now)
            else:
                self._write_requests(run, now)
        except OSError as error:
            raise files.home.failure(error) from error
        return AppendInfo(
            first_offset,
            facts.last_offset,
            facts.max_timestamp,
            NO_TIMESTAMP if append_time is None else append_time,
            marks.log_start_offset,
            flush_required=marks.log_end_offset - marks.recovery_point >= config.flush_messages,
        )

    def append_as_follower(self, records: BatchRun | Buffer) -> AppendInfo:
        """Write batches that carry their offsets and epochs, as the leader sent them (checksums checked)."""
        if isinstance(records, BatchRun):
            run = records
        else:
            run = BatchRun(records)
            run.scan()
        files, marks, count = self.files, self.marks, len(run)
        if count == 0:
            end = marks.log_end_offset
            return AppendInfo(end, end - 1, NO_TIMESTAMP, NO_TIMESTAMP, marks.log_start_offset)
        facts = survey(run, 0, count)
        if not facts.in_order:
            raise InvalidRecordError(f"the offsets of an append to {self.topic_partition} do not rise")
        if facts.first_offset < marks.log_end_offset:
            raise InvalidRecordError(
                f"an append to {self.topic_partition} begins at {facts.first_offset}, before the log's end "
                f"{marks.log_end_offset}"
            )
        for epoch, offset in epoch_starts(run, 0, count, self.epochs.noted_epoch):
            self.epochs.assign(epoch, offset)
        if facts.legacy:  # no epochs in these formats: truncation goes by the high watermark again
            self.epochs.clear()
        with files.home:
            now = files.home.clock.time_ms()
            self._make_room(run.size, facts, now)
            pending = self.producers.prepare(run, AppendOrigin.REPLICATION) if facts.has_producers else None
            self._write(run, run.buffers(), 0, count, run.size, facts, now)
            if pending is not None:
                self._commit_producers(pending)
        return AppendInfo(
            facts.first_offset, facts.last_offset, facts.max_timestamp, NO_TIMESTAMP, marks.log_start_offset,
            flush_required=marks.unflushed >= self.files.config.flush_messages,
        )  # fmt: skip

    def too_large(self, size: int) -> KafkaError:
        """The error for a batch of this size."""
        return refusals.too_large(self.topic_partition, self.files.config, size)

    def _known(self, first_offset: int, last_offset: int, timestamp: int) -> AppendInfo:
        """The answer to a batch that was written before: it must be on disk like any other before it counts.

        The offsets are those of the first time, so that the producer learns the truth; its timestamp is the one that
        was stored.
        """
        marks = self.marks
        return AppendInfo(
            first_offset, last_offset, timestamp, timestamp, marks.log_start_offset, duplicate=True,
            flush_required=last_offset >= marks.recovery_point and marks.unflushed >= self.files.config.flush_messages,
        )  # fmt: skip

    def _check_verified(self, run: BatchRun, guard: VerificationGuard | None) -> None:
        """A transaction's first write must carry the guard of its verification."""
        header = run.header(0)
        if not header.is_transactional or header.is_control:
            return
        if not self.producers.in_transaction(header.producer_id, header.producer_epoch):
            self.verifications.check(header.producer_id, header.base_sequence, guard)

    def _write_requests(self, run: BatchRun, now: int) -> None:
        """Write several requests: as many as fit into the segment, then those that fit into a new one.

        Where segments end is then the same as if the requests had come one by one.
        """
        first, count, room = 0, len(run), self.files.config.segment_size
        while first < count:
            stop = fit(run, first, room - self.files.active.data.size)
            if stop == first:
                stop = max(fit(run, first, room), first + 1)
            facts = survey(run, first, stop)
            size = size_of(run, first, stop)
            self._make_room(size, facts, now)
            self._write(run, run.take(first, stop).buffers(), first, stop, size, facts, now)
            first = stop

    def _make_room(self, size: int, facts: Survey, now: int) -> None:
        """Begin a new segment if the present one must not take these batches.

        The new one is named by the first offset that it will hold. That of a message set of magic 0 or 1 is not in its
        header (only the last is), so the lowest that can be within reach of it stands in, as in Kafka.
        """
        if self.files.active.should_roll(size, facts.max_timestamp, facts.last_offset, now):
            self.begin_segment(max(facts.last_offset - MAX_INT32, 0) if facts.legacy else facts.first_offset)

    def _write(
        self, run: BatchRun, buffers: Sequence[Buffer], first: int, stop: int, size: int, facts: Survey, now: int
    ) -> None:
        """Write the batches [first, stop) into the active segment; the log ends behind them."""
        self.files.active.append(run, buffers, first, stop, size)
        marks = self.marks
        marks.log_end_offset = self.producers.map_end_offset = facts.last_offset + 1
        if marks.unflushed_since_ms is None:
            marks.unflushed_since_ms = now

    def _commit_producers(self, pending: Pending) -> None:
        """The batches are on disk: let the producers' state know of them, and index what was aborted."""
        producers = self.producers
        producers.commit(pending)
        for completed in pending.completed:
            stable = producers.last_stable_offset_after(completed)
            if completed.aborted:
                self.files.active.txn_index.append(
                    AbortedTxn(completed.producer_id, completed.first_offset, completed.last_offset, stable)
                )
            producers.complete(completed)
            self.verifications.clear(completed.producer_id)
        for _, producer_id in pending.started:
            self.verifications.clear(producer_id)
        if pending.started or pending.completed:
            self.marks.first_unstable_offset = producers.first_unstable_offset

    # ---- rolling

    def begin_segment(self, offset: int) -> None:
        """Begin a new segment at `offset`, or at the log's end if that is higher.

        The producers' state is written beside it under the same offset. A recovery of this segment starts with that
        snapshot, and needs nothing from the segments before.
        """
        base_offset = max(offset, self.marks.log_end_offset)
        # The snapshot belongs to the new segment, whose base may lie behind the state's end.
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot()
        self.files.roll(base_offset)

    def detach_snapshots(self, gone: Sequence[Segment]) -> None:
        """Segments were marked; the producers' snapshots that were taken when they began go with them."""
        for segment in gone:
            self.producers.detach_snapshot(segment.base_offset, DELETED)

    # ---- truncation

    def truncate_to(self, offset: int) -> bool:
        """Drop everything from `offset` on; false when the log ends there or before.

        An offset below the first segment leaves nothing to keep: the log starts anew there.
        """
        if offset < 0:
            raise ValueError(f"cannot truncate to {offset}")
        if offset >= self.marks.log_end_offset:
            # An epoch that began here and wrote nothing may not be the leader's.
            self.epochs.truncate_from_end(self.marks.log_end_offset)
            return False
        with self.files.home:
            if self.files.segments.first.base_offset > offset:
                self._start_anew(offset, offset)
            else:
                self.detach_snapshots(self.files.cut(offset))
                self.epochs.truncate_from_end(offset)
                self.marks.cut_to(offset)
                self._settle_truncation()
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start: int | None = None) -> None:
        """Drop everything; the log begins again, empty, at `offset`."""
        with self.files.home:
            self._start_anew(offset, offset if log_start is None else log_start)

    def _start_anew(self, offset: int, log_start: int) -> None:
        """Nothing that was known holds: neither epochs nor producers, in memory or on disk."""
        self.detach_snapshots(self.files.restart(offset))
        self.epochs.clear()
        self.producers.restart_at(offset)
        self.marks.restart_at(offset, log_start)
        self._settle_truncation()

    def _settle_truncation(self) -> None:
        """Bring the producers back to what the log still says, and the first unstable offset with them."""
        marks, producers, now = self.marks, self.producers, self.files.home.clock.time_ms()
        start, end = marks.log_start_offset, marks.log_end_offset
        rebuild_producers(producers, self.files.segments, start, end, clean=False, now_ms=now)
        producers.high_watermark_moved(marks.high_watermark)
        marks.first_unstable_offset = producers.first_unstable_offset
