"""Recovery: what a failed batch means for itself and for those behind it. No I/O.

A batch that comes back with an error is sent again, or given up. The rules for one partition:

- *Returned.* An error that another try may cure, `retries` and `delivery.timeout.ms` permitting. Nothing more of the
  partition leaves until all that is under way is back; then everything that failed goes out again, in its order, one
  batch at a time until one succeeds. Behind a batch that failed an idempotent broker refuses the others
  (OUT_OF_ORDER_SEQUENCE_NUMBER), as their sequence numbers do not follow: they return, too.
- *Too large.* A batch of many records is split, and its parts take its place at once (`splitting`). They have left
  never before: nothing has failed that would have to be waited for.
- *Given up, and surely not written.* Its sequence numbers were not used: the next batch takes them.
- *Given up, in doubt.* The last that was heard of some attempt was a time-out, or nothing. Whether its sequence numbers
  were used, nobody can tell, so none may follow them: the producer needs a new id, under which every partition starts
  at 0 again. What is in doubt must not be sent under another id, as it could be written twice: those behind it in the
  same partition that are in doubt as well are given up with it; those of other partitions are settled under the old id
  first. In a transaction there is a better way: it can only be aborted, and an abort leads to a new epoch.

An example, with batches 1 to 5 of ten records each and three requests in flight. 1, 2 and 3 are under way with the
sequences 0, 10 and 20; the leader moves. 1 fails with NOT_LEADER_OR_FOLLOWER, and 2 and 3 with it or, if they reached
the new leader first, with OUT_OF_ORDER_SEQUENCE_NUMBER, as that one expects 0. All three return; the deque is 1, 2, 3,
4, 5 again. After a wait 1 goes out alone, still as 0; once it is written, the others follow, three at a time. Had 1
been written before the connection broke, its second copy would be recognised by its sequence, and answered as if it
were new. Had 1 been refused for good (INVALID_RECORD), 2 would leave as 0.

`in_doubt` stays once it is set: that a later attempt was refused (not the leader any more) says nothing about an
earlier one. Only a refusal for the sequence says that the batch is not there, unless it is a part of one in doubt.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.client.producer._batch import ProducerBatch
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.client.producer.splitting import is_curable, split
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

#: After these nobody knows whether the batch was written.
INDEFINITE = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
#: The broker does not know our sequence (any more): under a new producer id it takes the batch.
_LOST_COUNT = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID})


class Recovery:
    """The rules for all partitions of one producer. `wanted` is why a new producer id is needed, if one is."""

    def __init__(
        self,
        *,
        idempotent: bool,
        transactional: bool,
        retries: int,
        gave_up: Callable[[ProducerBatch, KafkaError], None],
    ) -> None:
        #: Told of a batch that was split, and of its parts, which are to be sent in its place.
        self.was_split: Callable[[ProducerBatch, list[ProducerBatch]], None] = lambda batch, parts: None
        self.wanted: KafkaError | None = None
        #: The transaction is being aborted: what comes back is not worth another try.
        self.abandoning = False
        self.idempotent = idempotent
        self._transactional = transactional
        self._retries = retries
        self._gave_up = gave_up
        self._gaps: dict[PartitionBatches, int] = {}
        #: Sequence numbers of partitions whose deques were dropped: brokers remember them by our id, and would take a
        #: count that began again for a repetition, and the record for written.
        self._next_of_idle: dict[TopicPartition, int] = {}

    def may_leave(self, batch: ProducerBatch) -> bool:
        """While a new id is wanted, only what must be settled under the old one leaves."""
        return self.wanted is None or batch.in_doubt

    def failed(self, batch: ProducerBatch, error: KafkaError, *, hopeless: bool) -> None:
        """A batch is back, not written as far as is known; `hopeless`: its time is up."""
        queue: PartitionBatches = batch.queue
        if error.code in INDEFINITE:
            batch.in_doubt = True
        explained = bool(queue.returned) or queue in self._gaps or self.wanted is not None
        lost_count = self.idempotent and error.code in _LOST_COUNT
        if lost_count and batch.of_doubt:
            lost_count = explained  # if nothing before it is missing, its whole may be there
        elif lost_count:
            batch.in_doubt = False
            if not explained and not self._transactional:
                self.wanted = error
        retriable = error.retriable or (lost_count and (explained or not self._transactional))
        if batch.done:  # given up while it was under way
            self._lost(batch, error)
        elif is_curable(batch, error) and not hopeless and not self.abandoning:
            parts = split(batch)
            self.was_split(batch, parts)
            queue.returned += parts
        elif retriable and not hopeless and not self.abandoning and batch.attempts <= self._retries:
            queue.returned.append(batch)
        else:
            self.give_up(batch, error)

    def give_up(self, batch: ProducerBatch, error: KafkaError) -> None:
        """Fail the batch, and remember what that means for the partition's sequence."""
        self._gave_up(batch, error)
        if not batch.in_flight:
            self._lost(batch, error)

    def _lost(self, batch: ProducerBatch, error: KafkaError) -> None:
        queue: PartitionBatches = batch.queue
        if not self.idempotent or batch.base_sequence < 0:
            return
        if not batch.in_doubt:
            self._gaps.setdefault(queue, batch.base_sequence)
        elif not self._transactional:
            self.wanted = self.wanted or error
            for behind in [*queue.returned, *queue.waiting]:
                if behind.in_doubt:
                    self._gave_up(behind, error)
            queue.returned = [behind for behind in queue.returned if not behind.done]

    def settle(self, queue: PartitionBatches) -> bool:
        """All of the partition's batches are back: put those that returned in front again, in their order. Whether
        there were any that have failed (parts of one that was split have not).
        """
        returned, queue.returned = queue.returned, []
        # Parts of one batch have its place: their sequence tells them apart, and without one the order in which they
        # came back. (Not the time at which a batch was begun: two threads may look at the clock in one order and queue
        # their batches in the other.)
        returned.sort(key=lambda batch: (batch.place, batch.base_sequence))
        queue.waiting.extendleft(reversed(returned))
        gap = self._gaps.pop(queue, None)
        if gap is not None and self.wanted is None:
            queue.next_sequence = gap
            for batch in queue.waiting:
                batch.unnumber()
        return any(batch.attempts for batch in returned)

    def forgotten(self, topic: TopicBatches) -> None:
        """Its deques go away, empty as they are; their count goes on where they are made anew."""
        for queue in topic.partitions:
            self._gaps.pop(queue, None)
            if queue.next_sequence:
                self._next_of_idle[queue.topic_partition] = queue.next_sequence

    def remembered(self, topic: TopicBatches) -> None:
        """Deques of a topic that may have been written to before."""
        for queue in topic.partitions:
            queue.next_sequence = self._next_of_idle.pop(queue.topic_partition, queue.next_sequence)

    def renewed(self, queues: list[PartitionBatches]) -> None:
        """There is a new producer id, which has written nothing: every partition starts over."""
        self.wanted = None
        self._gaps.clear()
        self._next_of_idle.clear()
        for queue in queues:
            queue.next_sequence = 0
            for batch in queue.waiting:
                batch.unnumber()
