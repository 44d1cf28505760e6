"""Delivery: takes records out of what was fetched, on the user's side, without asking the loop.

`take` is the hot path of `poll`: it runs in the user's thread, unpacks and walks batches there, and moves the
partitions' positions. Only when an answer is used up does it tell the loop to ask for more. What is stale (its
partition was moved or given back since) is dropped, what is paused is put aside until `resume`.

Partitions take turns by themselves: pieces are handed out in the order in which they came, each to its end, so that one
busy partition cannot keep the others from being read. Within a partition that is the order of the log.

A `poll` that is cancelled or interrupted has either returned the records or left them where they were. Exceptions may
come from anywhere here: a signal's handler (Ctrl-C in a notebook, an alarm) raises between any two steps, and memory
may run out inside a codec. So `take` notes where it found each partition, and until the face says `handed_over` as its
very last step, `take_back` puts everything back there; what was taken out of the queue is fetched again.
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
        #: Where partitions stood (by generation) before what is being handed over; empty as soon as the user has it.
        self._before: dict[tuple[TopicPartition, int], tuple[TopicPartitionState, tuple[int, int] | None]] = {}
        self._count = 0
        self._broken: tuple[TopicPartitionState, KafkaError] | None = None

    def take(self, most: int) -> ConsumerRecords:
        """Up to so many records, whole partitions after each other; none if nothing is there at the moment."""
        records: list[ConsumerRecord] = []
        parts: dict[TopicPartition, list[tuple[int, int]]] = {}
        behind: dict[TopicPartition, OffsetAndMetadata] = {}
        emptied = False
        while self._broken is None and len(records) < most and (piece := self._next()) is not None:
            start = len(records)
            part, cursor = piece.part, piece.cursor
            if part.stand is not None and cursor.next_offset < part.stand[0]:  # the first of it were taken as columns
                self._start_again(part)
                continue
            self._note(piece)
            try:
                cursor.take(records, most - start)
            except KafkaError as error:  # what was sound before it is handed out first
                self._broken = (part, error)
            part.stand = (cursor.next_offset, max(cursor.leader_epoch, part.stand[1] if part.stand else -1))
            if len(records) > start:
                parts.setdefault(part.tp, []).append((start, len(records)))
            behind[part.tp] = OffsetAndMetadata(*part.stand)
            if self._broken is None and not cursor.left:
                self._done(piece)
                emptied = True
        if emptied:
            self._drained()
        if not records:
            self.handed_over()
            return EMPTY
        self._count += len(records)
        return ConsumerRecords(records, parts, behind)

    def _note(self, piece: Buffered) -> None:
        """Before anything of it is taken."""
        self._before.setdefault((piece.part.tp, piece.generation), (piece.part, piece.part.stand))

    def handed_over(self) -> None:
        """The user has what was taken, or is about to in the very next step. What followed it and could not be read is
        told then, and asked for again: it may be whole the next time.
        """
        if self._broken is not None:
            part, error = self._broken
            self._problem(error)
            self._start_again(part)
            self._broken = None
        self._metrics.records_consumed_total += self._count
        self._count = 0
        self._before = {}  # a plain assignment: no signal is heeded between here and the caller's return

    def take_back(self) -> None:
        """The user will not get what was taken: stand where it was found. Interrupted, it may be called once more."""
        while self._before:
            (tp, generation), (part, stand) = next(iter(self._before.items()))
            if self._is_held(part, generation) or self._is_held(part, generation + 1):  # or was half put back
                part.stand = stand
                self._start_again(part)
            del self._before[tp, generation]
        self._broken, self._count = None, 0

    def take_piece(self) -> Buffered | None:
        """The next piece as a whole, for whoever wants it as columns; it stays the next one until `finish_piece`."""
        return self._next()

    def pieces(self, size: int) -> list[Buffered]:
        """The next piece and those that may follow it at once, about so many bytes together; they stay in the queue."""
        found: list[Buffered] = []
        if (piece := self._next()) is not None:
            found.append(piece)
            size -= piece.cursor.size
        while found and size > 0 and len(found) < len(self._queue):
            piece = self._queue[len(found)]
            if not self._may_hand_out(piece) or piece.part.paused:
                break
            found.append(piece)
            size -= piece.cursor.size
        return found

    def reached(self, piece: Buffered, next_offset: int, count: int) -> None:
        """So many records were taken from a piece as columns, up to that offset."""
        self._note(piece)
        part = piece.part
        part.stand = (next_offset, part.stand[1] if part.stand else -1)
        self._count += count

    def broken(self, piece: Buffered, error: KafkaError) -> None:
        """What follows in this piece cannot be read."""
        self._broken = (piece.part, error)

    def finish_piece(self, piece: Buffered) -> None:
        """All of it was taken as columns."""
        self._note(piece)
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
            self.handed_over()  # from here on, what is left is put back below
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
            if not self._may_hand_out(piece):
                queue.popleft()
                continue
            if part.paused:
                part.parked.append(queue.popleft())
                continue
            return piece
        return None

    def _may_hand_out(self, piece: Buffered) -> bool:
        return self._is_held(piece.part, piece.generation) and not piece.part.revoking

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
