"""The broker's own purgatories, on one timer, with one queue of completions.

    produce         acks=all: until the in-sync replicas have the records
    fetch           until fetch.min.bytes are there, or fetch.max.wait.ms is over
    delete_records  until every follower's log starts where it was asked to

One queue, because what one completes may satisfy another: a produce that is answered lets its client fetch.
"""

from __future__ import annotations

from tidelog.broker.purgatory.completions import Completions
from tidelog.broker.purgatory.delayed import Purgatory
from tidelog.broker.purgatory.timer import LoopTimer
from tidelog.common.clock import Clock
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition


class Purgatories:
    def __init__(self, clock: Clock, scheduler: Scheduler) -> None:
        self.timer = LoopTimer(clock, scheduler)
        self.completions = Completions(scheduler)
        self.produce: Purgatory[TopicPartition] = Purgatory("Produce", self.timer, self.completions)
        self.fetch: Purgatory[TopicPartition] = Purgatory("Fetch", self.timer, self.completions)
        self.delete_records: Purgatory[TopicPartition] = Purgatory("DeleteRecords", self.timer, self.completions)

    @property
    def anyone_waits(self) -> bool:
        return bool(self.fetch or self.produce or self.delete_records)

    def stop(self) -> None:
        self.timer.stop()
