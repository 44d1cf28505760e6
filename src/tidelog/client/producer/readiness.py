"""Readiness: which partitions have a batch that may leave now, and for which leader.

A batch may leave when it is full, when it is as old as `linger.ms`, when memory waits, or when somebody flushes; a
batch that failed, after a wait. A partition is looked at when something happened to it, not in each turn: batches
linger in the order in which they were begun, so the oldest is due first, and a turn costs what it sends, also with
thousands of partitions. One whose leader is not known is homeless until metadata says more.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.client.producer._steps import due_now, is_due
from tidelog.client.producer.leaders import Leaders
from tidelog.client.producer.links import Link


class Readiness:
    """What waits for what. `links` hold the partitions that are ready, by leader."""

    def __init__(self, cluster: ClusterClient, accumulator: Accumulator, leaders: Leaders, linger: float) -> None:
        self.links: dict[int, Link] = {}
        self.flushing = 0
        self.homeless: dict[PartitionBatches, None] = {}
        self._cluster = cluster
        self._accumulator = accumulator
        self._leaders = leaders
        self.linger = linger
        #: Not two requests of a partition at a time, whoever leads it: `max.in.flight.requests.per.connection` is 1.
        self.one_by_one = False
        self._lingering: deque[ProducerBatch] = deque()
        self._retrying: list[tuple[float, int, PartitionBatches]] = []
        self._retry_count = 0

    @property
    def nothing_lingers(self) -> bool:
        """Whether every batch may leave as it is."""
        return bool(self.flushing) or self._accumulator.is_crowded or self.linger == 0

    @property
    def next_due(self) -> float:
        """When the next batch has lingered, or waited, for long enough."""
        due = self._lingering[0].created + self.linger if self._lingering else float("inf")
        return min(due, self._retrying[0][0]) if self._retrying else due

    def take_in(self, created: list[ProducerBatch], filled: list[PartitionBatches], now: float) -> None:
        """Hear of new batches; those whose time has come become ready."""
        self._lingering.extend(created)
        for queue in due_now(self._lingering, filled, now, self.linger, self.nothing_lingers):
            self.mark(queue)
        while self._retrying and self._retrying[0][0] <= now:
            self.mark(heapq.heappop(self._retrying)[2])

    def retry_later(self, queue: PartitionBatches, at: float) -> None:
        """What came back is ready again at that time."""
        queue.retry_at = at
        self._retry_count += 1
        heapq.heappush(self._retrying, (at, self._retry_count, queue))

    def mark(self, queue: PartitionBatches) -> None:
        """The partition's oldest batch may leave: it waits for its leader."""
        if queue.ready or not queue.waiting or queue.returned:
            return
        leader = self._leaders.of(queue.topic_partition)
        if self.one_by_one and queue.in_flight and leader != queue.leader:
            return  # until the old leader has answered, or cannot: what it refuses goes first (`Sender._settle`)
        if leader is None:
            self.homeless[queue] = None
            self._leaders.want([queue.topic_partition.topic])
            return
        link = self.links.get(leader)
        if link is None:
            link = self.links[leader] = Link(self._cluster, leader)
        queue.leader, queue.ready = leader, True
        link.ready.append(queue)

    def mark_all(self) -> None:
        """Look at every partition anew: a leader, the producer id or the transaction has changed."""
        for link in self.links.values():
            for queue in link.ready:
                queue.ready = False
            link.ready.clear()
        self.homeless.clear()
        retrying = {queue for _, _, queue in self._retrying}
        now = self._cluster.clock.monotonic()
        for queue in self.queues():
            if queue not in retrying and self.is_due(queue, now):
                self.mark(queue)

    def queues(self) -> Iterator[PartitionBatches]:
        """Every partition of the topics that were written to."""
        for topic in self._accumulator.topics.values():
            yield from topic.partitions

    def is_due(self, queue: PartitionBatches, now: float) -> bool:
        """Whether its oldest batch may leave, as far as size and time go."""
        return is_due(queue, now, self.linger, self.nothing_lingers)
