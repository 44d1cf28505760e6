"""PartitionLog: the commit log of one partition (Kafka's `UnifiedLog`). One thread owns it.

It has its parts, each a noun with a file of its own, and is where they meet:

    files          LocalLog              the segments in a row
    watermarks     Watermarks            log start, last stable offset, high watermark, log end, recovery point
    leader_epochs  LeaderEpochs          which leader began to write where: what truncation goes by
    producers      ProducerStateManager  idempotence, fencing, open transactions
    verifications  Verifications         guards of transactional writes that are being verified
    writer         LogWriter             what changes all of them: appending, rolling, truncation

An append has two stages. Validation and conversion (in `records`, perhaps on a thread) come before; here is the
second: dedupe, fencing, offsets and epoch stamped in place, a new segment if the present one is full, one write, index
entries. It raises a `KafkaError` when the batch is refused and a `StorageError` when the disk failed; after the latter
the owner takes the log directory offline, and this object is only good for being thrown away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

from tidelog.common.errors import KafkaError
from tidelog.common.fs import Buffer
from tidelog.log import partition_metadata
from tidelog.log.append import AppendInfo, AppendOrigin, ReadResult, TimestampOffset
from tidelog.log.config import LogConfig
from tidelog.log.partition import refusals, retention
from tidelog.log.partition.aborted import aborted_between, end_of
from tidelog.log.partition.flush import FlushJob
from tidelog.log.partition.local_log import LocalLog
from tidelog.log.partition.opening import NOTHING_KNOWN, Checkpointed, LogSettings, OpenedLog, open_parts
from tidelog.log.partition.timestamps import find_by_timestamp, find_max_timestamp
from tidelog.log.partition.watermarks import Watermarks
from tidelog.log.partition.writing import LogWriter
from tidelog.log.producers.verification import VerificationGuard, Verifications
from tidelog.log.segment.segment import Segment
from tidelog.log.segment.txn_index import AbortedTxn
from tidelog.records.format.attributes import MAGIC_V2
from tidelog.records.kernel._batches import BatchRun


def _of_part(path: str) -> Any:
    """An attribute that belongs to a part, to be read. It is looked up in C: readers ask for these all the time."""
    return property(attrgetter(path))


class PartitionLog:
    """See the module's text. Make one by `open`."""

    __slots__ = (
        "files", "home", "leader_epochs", "producers", "topic_id", "topic_partition", "verifications",
        "watermarks",
        "writer",
    )  # fmt: skip

    log_start_offset: int = _of_part("watermarks.log_start_offset")
    log_end_offset: int = _of_part("watermarks.log_end_offset")
    high_watermark: int = _of_part("watermarks.high_watermark")
    last_stable_offset: int = _of_part("watermarks.last_stable_offset")
    recovery_point: int = _of_part("watermarks.recovery_point")
    unflushed: int = _of_part("watermarks.unflushed")
    unflushed_since_ms: int | None = _of_part("watermarks.unflushed_since_ms")
    config: LogConfig = _of_part("files.config")
    deleted: bool = _of_part("files.deleted")
    active_segment: Segment = _of_part("files.active")
    segments: tuple[Segment, ...] = _of_part("files.segments.all")
    size: int = _of_part("files.segments.size")
    dir: Path = _of_part("home.path")

    def __init__(self, config: LogConfig, settings: LogSettings, opened: OpenedLog, high_watermark: int | None) -> None:
        loaded, producers = opened.loaded, opened.producers
        self.home = opened.home
        self.topic_partition = opened.topic_partition
        self.topic_id = opened.topic_id
        self.files = LocalLog(opened.home, config, loaded.segments, settings.rng, settings.scheduler)
        self.watermarks = Watermarks(loaded.log_start_offset, loaded.next_offset, loaded.recovery_point)
        self.leader_epochs = opened.epochs
        self.producers = producers
        self.verifications = Verifications(required=settings.verify_transactions)
        self.writer = LogWriter(
            self.topic_partition, self.files, self.watermarks, self.leader_epochs, producers, self.verifications
        )
        self.watermarks.first_unstable_offset = producers.first_unstable_offset
        self.files.unlink_later(loaded.dropped)
        if high_watermark is not None:
            self.advance_high_watermark(high_watermark)

    @classmethod
    def open(
        cls,
        dir: Path,
        config: LogConfig,
        settings: LogSettings,
        known: Checkpointed = NOTHING_KNOWN,
        *,
        topic_id: bytes | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> PartitionLog:
        """Open (or make) the log in a directory named `topic-partition`; see `opening.py`."""
        opened = open_parts(dir, config, settings, known, topic_id, sizes)
        return cls(config, settings, opened, known.high_watermark)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic_partition}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def is_future(self) -> bool:
        """Whether this is the copy of a replica that is being moved to another log directory."""
        return self.home.path.name.endswith("-future")

    @property
    def written_end_offset(self) -> int:
        """Everything before it counts as written: the log's end; with `flush.messages` what is synced, or was found."""
        return self.watermarks.written_end_offset(self.config.flush_messages)

    # ---- writing

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
        return self.writer.append_as_leader(run, leader_epoch, origin, now_ms, verification, transaction_version)

    def append_as_follower(self, records: BatchRun | Buffer) -> AppendInfo:
        """Write batches that carry their offsets and epochs, as the leader sent them (checksums checked)."""
        return self.writer.append_as_follower(records)

    def too_large(self, size: int) -> KafkaError:
        """The error for a batch of this size."""
        return refusals.too_large(self.topic_partition, self.config, size)

    def roll(self, offset: int | None = None) -> Segment:
        """Begin a new segment at the log's end (or at `offset` if that is higher)."""
        with self.home:
            self.writer.begin_segment(self.log_end_offset if offset is None else offset)
        return self.files.active

    def truncate_to(self, offset: int) -> bool:
        """Drop everything from `offset` on; false when the log ends there or before."""
        return self.writer.truncate_to(offset)

    def truncate_fully_and_start_at(self, offset: int, log_start: int | None = None) -> None:
        """Drop everything; the log begins again, empty, at `offset`."""
        self.writer.truncate_fully_and_start_at(offset, log_start)

    # ---- reading and looking up

    def read(
        self, offset: int, max_bytes: int, *, upper_bound: int | None = None, min_one_message: bool = True
    ) -> ReadResult:
        """The batches from the one that holds `offset` on, up to `max_bytes` and nothing at or above `upper_bound`.

        The last batch may be cut; `min_one_message` lets the first be whole whatever its size (KIP-74: else a consumer
        whose limit is below it would never get past it).
        """
        marks, files = self.watermarks, self.files
        end = marks.log_end_offset
        if offset > end or offset < marks.log_start_offset:
            raise refusals.out_of_range(self.topic_partition, offset, marks.log_start_offset, end)
        bound = end if upper_bound is None else min(upper_bound, end)
        if offset >= bound:
            return ReadResult(None, offset)
        try:
            for segment in files.segments.between(offset, bound):
                limit = files.bound_position(segment, bound) if bound < end else None
                found = segment.read(offset, max_bytes, limit, min_one_message)
                if found is not None:
                    return ReadResult(found.slice, found.base_offset, found.first_batch_incomplete)
        except OSError as error:
            raise self.home.failure(error) from error
        return ReadResult(None, offset)

    def crosses_segments(self, start: int, end: int) -> bool:
        """Whether `end` belongs to a later segment than `start`: then a read from there returns what is left of one."""
        segments = self.files.segments
        return segments.floor(start) is not segments.floor(end)

    def aborted_transactions(self, start: int, end: int) -> list[AbortedTxn]:
        """The aborted transactions that overlap [start, end)."""
        with self.home:
            return aborted_between(self.files.segments.between(start), start, end)

    def aborted_within(self, start: int, found: ReadResult) -> list[AbortedTxn]:
        """The aborted transactions that a reader from `start` on must know to make sense of what `read` has found.

        Where that ends is known to the next index entry only: some behind it may be among them.
        """
        with self.home:
            end = end_of(found, self.files.segments, self.log_end_offset)
        return [] if end is None else self.aborted_transactions(start, end)

    def know_times(self) -> int:
        """The largest timestamp of the active segment, read if need be: after that, any thread may look times up.

        (Those of the others never change; what is read twice by two threads is the same.)
        """
        with self.home:
            return self.files.active.max_timestamp

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record whose timestamp is not below `timestamp`. Any thread, after `know_times`."""
        with self.home:
            for segment in self.segments:
                if segment.largest_timestamp >= timestamp:
                    return find_by_timestamp(segment, timestamp, self.log_start_offset)
        return None

    def max_timestamp_offset(self) -> TimestampOffset | None:
        """The record with the largest timestamp. Any thread, after `know_times`."""
        with self.home:
            return find_max_timestamp(self.segments)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(the largest known epoch not above `epoch`, the offset after its last record); (-1, -1): not known."""
        return self.leader_epochs.end_offset_for(epoch, self.log_end_offset)

    def assign_epoch(self, epoch: int, start_offset: int) -> None:
        """A new leader begins to write at `start_offset`. Formats before magic 2 have no epochs."""
        if self.config.record_magic == MAGIC_V2:
            self.leader_epochs.announce(epoch, start_offset)

    # ---- moving the watermarks

    def advance_high_watermark(self, offset: int) -> bool:
        """Move the high watermark to `offset`, within the log; true when it changed. (It may also move back.)

        Transactions whose marker it has passed are settled: the last stable offset may move with it.
        """
        marks, producers = self.watermarks, self.producers
        if not marks.advance_high_watermark(offset):
            return False
        if producers.unreplicated or producers.ongoing or marks.first_unstable_offset is not None:
            producers.high_watermark_moved(marks.high_watermark)
            marks.first_unstable_offset = producers.first_unstable_offset
        return True

    def advance_log_start(self, offset: int) -> bool:
        """Records below `offset` are gone (DeleteRecords, the leader's log start); true when it changed.

        Their segments stay until retention comes by. The epochs begin at the new start from now on, as a follower that
        asks for what lies below has to be told that it is gone, not where an old leader's records ended.
        """
        marks = self.watermarks
        if offset > marks.high_watermark:
            raise refusals.start_past_the_high_watermark(self.topic_partition, offset, marks.high_watermark)
        if offset <= marks.log_start_offset:
            return False
        if offset > marks.recovery_point:
            for segment in self.files.segments.between(marks.recovery_point, offset):
                self.home.unsynced.add_segment(segment)  # it stays for a while, and a clean stop vouches for it
        marks.start_at(offset)
        self.leader_epochs.truncate_from_start(offset)
        self.producers.log_start_moved(offset)
        marks.first_unstable_offset = self.producers.first_unstable_offset
        return True

    # ---- segments

    def delete_old_segments(self) -> int:
        """Apply retention; returns how many segments went."""
        with self.home:
            return retention.delete_old_segments(self)

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Put cleaned segments (`.cleaned`, synced) in the place of those that they were made from."""
        with self.home:
            self.writer.detach_snapshots(self.files.replace(new, old))

    # ---- durability

    def flush_job(self, up_to: int | None = None) -> FlushJob | None:
        """What must be synced so that everything below `up_to` (the log's end) is durable; None: nothing.

        Run it on any thread, then hand it to `flush_done`. Two jobs may be under way at the same time: each syncs all
        that was not durable when it was made.
        """
        marks, unsynced = self.watermarks, self.home.unsynced
        offset = marks.log_end_offset if up_to is None else min(up_to, marks.log_end_offset)
        behind = offset > marks.recovery_point
        if not behind and not unsynced:
            return None
        return FlushJob(
            self.home,
            offset,
            self.files.cuts,
            self.files.segments.between(marks.recovery_point, offset) if behind else (),
            unsynced.take(),
            self.leader_epochs.encoded() if self.leader_epochs.dirty else None,
        )

    def flush_done(self, job: FlushJob) -> None:
        """The job ran without an error: what it took is durable, unless it has changed again since.

        If the log was cut meanwhile its offset says nothing: other records may lie below it now, not synced.
        """
        self.home.unsynced.done(job.taken)
        self.watermarks.synced_to(job.offset if job.cuts == self.files.cuts else 0)

    def flush(self, up_to: int | None = None) -> None:
        """Sync here and now."""
        job = self.flush_job(up_to)
        if job is not None:
            with self.home:
                job.run()
            self.flush_done(job)

    # ---- transactions

    def start_verification(self, producer_id: int, sequence: int, epoch: int) -> VerificationGuard | None:
        """The guard that a transaction's first write must carry; None when the transaction is known here."""
        if self.producers.in_transaction(producer_id, epoch):
            return None
        return self.verifications.start(producer_id, sequence, epoch, self.home.clock.time_ms())

    def expire_producers(self, now_ms: int) -> int:
        """Forget producers that were not heard of for `producer.id.expiration.ms`, and what is verified of any; how
        many of both."""
        return self.producers.expire(now_ms) + self.verifications.expire(now_ms - self.producers.expiration_ms)

    # ---- life

    def assign_topic_id(self, topic_id: bytes) -> None:
        """The directory did not say which topic it belongs to: from now on it does."""
        with self.home:
            partition_metadata.write(self.home.fs, self.dir, topic_id)
        self.topic_id = topic_id
        self.home.unsynced.add_name()

    def update_config(self, config: LogConfig) -> None:
        """Use another configuration from now on. A format without epochs leaves none that truncation could go by."""
        if config.record_magic < MAGIC_V2 <= self.config.record_magic:
            self.leader_epochs.clear()
        self.files.reconfigure(config)

    def rename(self, dir_name: str, *, sync: bool = True) -> None:
        """Move the directory (`-delete`, `-stray`, a `-future` replica that takes its place)."""
        with self.home:
            self.home.rename(self.home.path.parent / dir_name, sync=sync)

    def mark_deleted(self) -> None:
        """Nothing will be appended any more; `delete` removes the files."""
        self.files.deleted = True

    def close(self) -> None:
        """Cut the indexes to size, remember the producers, sync, close the files."""
        self.finish()
        self.flush()
        self.release()

    def finish(self) -> None:
        """The last changes before a close: cut the files to size, remember the producers. Nothing is synced yet."""
        with self.home:
            self.files.finish()
            self.producers.take_snapshot()

    def release(self) -> None:
        """Close the files and write nothing: the disk has failed, or everything is written."""
        self.files.release()

    def delete(self) -> None:
        """Remove every file and the directory."""
        with self.home:
            self.files.delete()
