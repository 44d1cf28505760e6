"""Delivery: takes records out of what was fetched, on the user's side, without asking the loop.

`take` is the hot path of `poll`: it runs in the user's thread, unpacks and walks batches there, and moves the
partitions' positions. Only when an answer is used up does it tell the loop to ask for more. What is stale (its
partition was moved or given back since) is dropped, what is paused is put aside until `resume`.

Partitions take turns by themselves: pieces are handed out in the order in which they came, each to its end, so that one
busy partition cannot keep the others from being read. Within a partition that is the order of the log.

A position moves in the same step in which records are taken. Nobody can be between the two: a `poll` that is cancelled
or interrupted has either returned the records or left them where they were.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.engine import Buffered, FetchEngine
from tidelog.client.consumer.metrics import ConsumerMetrics
from tidelog.client.consumer.records import EMPTY, ConsumerRecords
from tidelog.client.consumer.subscription import SubscriptionState, TopicPartitionState
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition


class RecordDelivery:
    """The user's end of the fetch engine's queue. `drained` is called when the loop should ask for more,
    `restart` when it should ask for a partition anew, from where that stands.
    """

    def __init__(
        self,
        subscription: SubscriptionState,
        engine: FetchEngine,
        metrics: ConsumerMetrics,
        *,
        drained: Callable[[], None],
        restart: Callable[[TopicPartitionState], None],
        problem: Callable[[KafkaError], None],
    ) -> None:
        self._subscription = subscription
        self._queue = engine.queue
        self._metrics = metrics
        self._drained = drained
        self._restart = restart
        self._iteration: Generator[ConsumerRecord, None, None] | None = None
        self._problem = problem

    def take(self, most: int) -> ConsumerRecords:
        """Up to so many records, whole partitions after each other; none if nothing is there at the moment."""
        records: list[ConsumerRecord] = []
        parts: dict[TopicPartition, list[tuple[int, int]]] = {}
        behind: dict[TopicPartition, OffsetAndMetadata] = {}
        emptied = False
        while len(records) < most and (piece := self._next()) is not None:
            start = len(records)
            part, cursor = piece.part, piece.cursor
            broken: KafkaError | None = None
            try:
                cursor.take(records, most - start)
            except KafkaError as error:  # what was sound before it is handed out first
                broken = error
            part.stand = (cursor.next_offset, max(cursor.leader_epoch, part.stand[1] if part.stand else -1))
            if len(records) > start:
                parts.setdefault(part.tp, []).append((start, len(records)))
            behind[part.tp] = OffsetAndMetadata(*part.stand)
            if broken is not None:
                self._problem(broken)
                self._start_again(part)
            elif not cursor.left:
                self._done(piece)
                emptied = True
        if emptied:
            self._drained()
        if not records:
            return EMPTY
        self._metrics.records_consumed_total += len(records)
        return ConsumerRecords(records, parts, behind)

    def take_piece(self) -> Buffered | None:
        """The next piece as a whole, for whoever wants it as columns; it stays the next one until `finish_piece`."""
        return self._next()

    def reached(self, piece: Buffered, next_offset: int, count: int) -> None:
        """So many records were taken from a piece as columns, up to that offset."""
        part = piece.part
        part.stand = (next_offset, part.stand[1] if part.stand else -1)
        self._metrics.records_consumed_total += count

    def finish_piece(self, piece: Buffered) -> None:
        """All of it was taken as columns."""
        self._done(piece)
        self._drained()

    def each(self, records: ConsumerRecords) -> Iterator[ConsumerRecord]:
        """`_each`, remembered: a `poll` beside it ends it, so that what it has not handed out is not skipped."""
        self.end_iteration()
        self._iteration = self._each(records)
        return self._iteration

    def end_iteration(self) -> None:
        """As a poll begins: what an iteration has left is asked for again, with the rest."""
        iteration, self._iteration = self._iteration, None
        if iteration is not None:
            iteration.close()

    def _each(self, records: ConsumerRecords) -> Generator[ConsumerRecord, None, None]:
        """One record at a time, with the position behind the one at hand: a commit from within a loop over records
        says what was reached, not what was fetched. Records of a partition that is moved meanwhile are left out.
        """
        partitions = self._subscription.partitions
        states = {tp: partitions.get(tp) for tp in records.partitions}
        generations = {tp: part.generation for tp, part in states.items() if part is not None}
        runs = records.runs()
        for start, _, tp in reversed(runs):
            part = states[tp]
            if part is not None and part.stand is not None:
                part.stand = (records[start].offset, part.stand[1])
        left = {tp: stop for _, stop, tp in runs}
        try:
            for start, stop, tp in runs:
                part = states[tp]
                if part is None:
                    continue
                generation = generations[tp]
                for record in records[start:stop]:
                    if not self._is_held(part, generation):
                        break
                    epoch = record.leader_epoch
                    part.stand = (record.offset + 1, -1 if epoch is None else epoch)
                    yield record
                if left[tp] == stop:
                    del left[tp]
                    self._step_behind(part, generation, records.next_offsets.get(tp))
        finally:  # the loop over records was left early: what it did not see is asked for again
            for tp in left:
                part = states[tp]
                if part is not None and self._is_held(part, generations[tp]):
                    self._start_again(part)

    def _step_behind(self, part: TopicPartitionState, generation: int, place: OffsetAndMetadata | None) -> None:
        """All records of a poll were seen: what follows the last one without being a record is passed, too."""
        if place is not None and self._is_held(part, generation):
            part.stand = (place.offset, place.leader_epoch)

    def _is_held(self, part: TopicPartitionState, generation: int) -> bool:
        return part.generation == generation and self._subscription.partitions.get(part.tp) is part

    def _next(self) -> Buffered | None:
        """The first piece in the queue that may be handed out."""
        queue = self._queue
        while queue:
            piece = queue[0]
            part = piece.part
            if not self._is_held(part, piece.generation) or part.revoking:
                queue.popleft()
                continue
            if part.paused:
                part.parked.append(queue.popleft())
                continue
            return piece
        return None

    def _done(self, piece: Buffered) -> None:
        """It is used up. (`close` lets go of the bytes; records that point into them keep them.)"""
        if self._queue and self._queue[0] is piece:
            self._queue.popleft()
        piece.part.drained += piece.cursor.size
        piece.cursor.close()

    def _start_again(self, part: TopicPartitionState) -> None:
        """What is buffered of this partition does not follow its position any more: drop it, and ask anew from there.

        The generation is counted up here, so that nothing stale is handed out from now on; the rest is the loop's to
        do, which counts it up once more.
        """
        part.generation += 1
        self._restart(part)
