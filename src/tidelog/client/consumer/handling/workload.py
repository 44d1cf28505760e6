"""Workload: everything that was polled and is not done with: who may be handled now, and what may be committed.

It is the pure middle of `run`: no time, threads or asyncio, so that its promise can be tested with every order of
events. The promise: an offset is committed only when every record before it is done with, handled or put aside by the
policy, and each record is begun once for as long as its partition stays ours.

A record that was abandoned (the run ends, or its handler failed for good) is done with by nobody: it holds the commit
where it is, and everything behind it is read again. That is the price of a commit being one number; it is paid once, at
the end of a run, and never by a record that was not handled at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.handling.job_queues import JobQueues, queue_of
from tidelog.client.consumer.handling.tracker import OffsetTracker
from tidelog.client.consumer.records import ConsumerRecords
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import UsageError
from tidelog.common.types import NO_EPOCH, TopicPartition

Offsets = dict[TopicPartition, OffsetAndMetadata]

#: So many records may wait for each that is at work before no more are polled.
QUEUED_PER_WORKER = 100


class Job:
    """A record to be handled. It knows its tracker: after its partition went and came back there is another one."""

    __slots__ = ("attempts", "began", "record", "tracker", "warned")

    def __init__(self, record: ConsumerRecord, tracker: OffsetTracker) -> None:
        self.record = record
        self.tracker = tracker
        self.attempts = 0
        self.began = 0.0
        self.warned = False

    @property
    def place(self) -> str:
        """For messages."""
        return f"{self.record.topic_partition} offset {self.record.offset}"


class Workload:
    """At most `concurrency` jobs are at work. Use it from one thread (or under one lock)."""

    def __init__(self, ordering: str, concurrency: int) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency={concurrency}: expected 1 or more")
        self._queue_of = queue_of(ordering)
        self._concurrency = concurrency
        self._queues: JobQueues[Job] = JobQueues()
        self._trackers: dict[TopicPartition, OffsetTracker] = {}
        self.at_work: set[Job] = set()

    @property
    def queued(self) -> int:
        """Polled, and not begun."""
        return self._queues.queued

    @property
    def is_full(self) -> bool:
        """Enough waits for now; polling may go on, but should bring nothing."""
        return self.queued >= self._concurrency * QUEUED_PER_WORKER

    @property
    def has_room(self) -> bool:
        """So little waits that workers might run out of it before more is there."""
        return self.queued <= self._concurrency * QUEUED_PER_WORKER // 2

    def add(self, records: ConsumerRecords) -> None:
        """What a poll has returned."""
        for tp in records.partitions | records.next_offsets.keys():
            tracker = self._trackers.setdefault(tp, OffsetTracker())
            behind = records.next_offsets.get(tp)
            for record in records.records(tp):
                epoch = NO_EPOCH if record.leader_epoch is None else record.leader_epoch
                tracker.begin(record.offset, epoch)
                self._queues.add(self._queue_of(record), Job(record, tracker))
                if tp not in records.next_offsets:  # an interceptor has made another list
                    behind = OffsetAndMetadata(record.offset + 1, epoch)
            if behind is not None:
                tracker.reached(behind)

    def take(self) -> Job | None:
        """A job to begin now, if one may."""
        if len(self.at_work) >= self._concurrency:
            return None
        job = self._queues.take()
        if job is not None:
            self.at_work.add(job)
        return job

    def done(self, job: Job) -> None:
        """It was handled, or put aside: it counts. Of a partition that is not ours any more it changes nothing."""
        self._leave(job)
        job.tracker.done(job.record.offset)

    def abandon(self, job: Job) -> None:
        """It is not at work any more, and was not done: it keeps the commit where it is."""
        self._leave(job)

    def _leave(self, job: Job) -> None:
        self.at_work.discard(job)
        self._queues.release(self._queue_of(job.record))

    def drop_queued(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Begin nothing more of these partitions (None: of any); what is at work goes on."""
        going = None if partitions is None else frozenset(partitions)
        self._queues.drop(lambda job: going is None or job.record.topic_partition in going)

    def working_on(self, partitions: Iterable[TopicPartition]) -> set[Job]:
        """What has to end before these partitions can be given back in good order."""
        going = frozenset(partitions)
        return {job for job in self.at_work if job.record.topic_partition in going}

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """These are not ours any more: what is done of them from now on is nobody's to commit."""
        going = frozenset(partitions)
        self.drop_queued(going)
        for tp in going:
            self._trackers.pop(tp, None)

    def committable(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where there is something to commit (of these partitions)."""
        wanted = self._trackers if partitions is None else {tp for tp in partitions if tp in self._trackers}
        found = {tp: self._trackers[tp].committable() for tp in wanted}
        return {tp: position for tp, position in found.items() if position is not None}

    def positions(self) -> Offsets:
        """Where whoever goes on has to begin: everything before is done with."""
        found = {tp: tracker.position for tp, tracker in self._trackers.items()}
        return {tp: position for tp, position in found.items() if position is not None}

    def committed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        for tp, position in offsets.items():
            if tp in self._trackers:
                self._trackers[tp].committed(position)
