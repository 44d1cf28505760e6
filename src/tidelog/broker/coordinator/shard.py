"""One internal-topic partition as a replicated state machine: load, handle, replay, append, answer after commit.

    LOADING  ──replayed to the end──▶  ACTIVE  ──append failed, leadership lost──▶  CLOSED (and a new one loads)

The rule, for whoever writes a machine:

1. A handler decides and returns records. They are replayed there and then, before they are in the log: the next handler
   sees them. (Handlers that build on their own records replay each as they emit it: `group.emitter`.)
2. The records of all writes of one turn of the event loop are one append. Under load that is one write of the disk for
   hundreds of requests.
3. Every answer, also of a write without records and of a read, waits until everything that was written before it is
   committed. Memory is ahead of the log, but nobody outside can tell: that is how "reads see committed state only" is
   kept without keeping two states.
4. If an append fails, memory says what the log does not. It is not mended: the shard is dropped, everybody who waits is
   told, and the runtime loads a new one from the log.

Kafka's coordinator runtime keeps the rule by snapshots of its maps (a timeline per offset) that it goes back to; here a
failed append costs a load. It is rare (a full disk, too few replicas in sync, leadership that has moved on), and the
code of the machines stays plain.

Two kinds of writes differ in step 1. What belongs to a transaction is appended first and replayed if the log took it:
the log itself fences producers, and a refusal concerns that producer alone. And what no batch may hold (it is larger
than `max.message.bytes` of the topic) is refused before anything of it is replayed, or is taken back by its own `undo`.

Whoever gets an answer may have the next request ready, so answers are given while no handler is at work.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, NoReturn

from tidelog.broker.coordinator.loading import replay_log
from tidelog.broker.coordinator.ports import APPEND_ERRORS, REFUSALS, MachineFactory, PartitionWriter
from tidelog.broker.coordinator.records import RecordCodec
from tidelog.broker.coordinator.result import NO_RESPONSE, Result
from tidelog.broker.coordinator.timers import Action, ShardTimers
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition
from tidelog.records.format.builder import BatchBuilder

logger = logging.getLogger(__name__)

#: How long one slice of loading may keep the event loop.
LOAD_SLICE_SECONDS = 0.004
#: The largest batch that one tick's writes are gathered into; a single write may be larger, up to the topic's limit.
GATHER_BYTES = 1 << 19

#: What a record takes in a batch beside its key and its value, at most.
RECORD_OVERHEAD = 24
#: What a batch takes beside its records, at most.
BATCH_OVERHEAD = 100
#: A divisible result is written in pieces of so many records.
DIVIDE_AT = 500


class ShardState(Enum):
    """Requests are served in ACTIVE only; LOADING answers COORDINATOR_LOAD_IN_PROGRESS, and clients try again."""

    LOADING = "Loading"
    ACTIVE = "Active"
    CLOSED = "Closed"


Parked = tuple[int, Callable[[KafkaError | None], None]]
"""An answer, or a step, and the number of the append that it waits for: called with None once that is committed."""

Encoded = tuple[bytes, bytes | None]
"""A record as its key and its value."""


class Shard:
    """See the module's text. Not thread-safe: the event loop's thread owns it."""

    def __init__(
        self,
        tp: TopicPartition,
        epoch: int,
        *,
        factory: MachineFactory,
        codec: RecordCodec,
        writer: PartitionWriter,
        scheduler: Scheduler,
        clock: Clock,
        on_failed: Callable[[Shard], None],
    ) -> None:
        self.tp = tp
        self.epoch = epoch
        self.state = ShardState.LOADING
        self.timers = ShardTimers(scheduler, clock, self._run_timer)
        self.machine = factory(tp.partition, epoch, self.timers)
        self.codec = codec
        self._writer = writer
        self._scheduler = scheduler
        self._clock = clock
        self._on_failed = on_failed
        # What the writes of this turn have to say; one append when the loop comes round.
        self._batch: list[Encoded] = []
        self._batch_bytes = 0
        self._batch_room = 0
        self._flush_due = False
        self._written = 0  # appends handed to the writer, plus one while a batch is being gathered
        self._committed = 0
        self._parked: deque[Parked] = deque()
        # How many handlers are at work, one inside the other: answers wait for the outermost.
        self._handling = 0

    # -- loading ---------------------------------------------------------------------------------------------------

    def load(self, done: Callable[[Shard], None]) -> None:
        """Replay the whole partition in slices, then become active and call `done`.

        A partition of __consumer_offsets may hold millions of records. The loop gets its turn every few milliseconds,
        so that the broker's other clients do not notice a coordinator that moves here.
        """
        steps = replay_log(self.tp, self._writer, self.machine, self.codec)

        def advance() -> None:
            if self.state is not ShardState.LOADING:
                return
            until = self._clock.monotonic() + LOAD_SLICE_SECONDS
            try:
                for _ in steps:
                    if self._clock.monotonic() >= until:
                        self._scheduler.call_soon(advance)
                        return
                self.state = ShardState.ACTIVE
                self._apply(self.machine.on_loaded(), None)
            except Exception:  # whatever it is: a shard that loads for ever would never be tried again
                logger.exception("loading %s failed", self.tp)
                self._fail(ErrorCode.NOT_COORDINATOR)
                return
            done(self)

        advance()

    @property
    def settled(self) -> bool:
        """Whether everything that was written is committed: what the machine knows now may be told at once."""
        return self._written <= self._committed and not self._parked and self.state is ShardState.ACTIVE

    # -- writes and reads ------------------------------------------------------------------------------------------

    def write(self, handler: Callable[[Any], Result | None], done: Callable[[Any, KafkaError | None], None]) -> None:
        """Run `handler(machine)`; `done(response, error)` is called once, after commit (never for NO_RESPONSE)."""
        self._handling += 1
        try:
            self._apply(handler(self.machine), done)
        except KafkaError as error:
            self.park(lambda failed, error=error: done(None, failed or error))  # type: ignore[misc]  # bound default
        finally:
            self._handling -= 1

    def write_encoded(
        self, records: Sequence[Encoded], size: int, replay: Callable[..., None], *arguments: object
    ) -> int:
        """A write that comes as bytes; `replay(*arguments)` does what they say.

        Returns the number of the append that they are part of. Whoever is parked after this call is told when that is
        committed, and so is who was parked for the same number before.
        """
        self._handling += 1
        try:
            if not self._reserve(size):
                raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"{size} bytes of coordinator records")
            self._gather(records, size)
            replay(*arguments)
        finally:
            self._handling -= 1
        return self._written

    def read(self, handler: Callable[[Any], Any], done: Callable[[Any, KafkaError | None], None]) -> None:
        """A write without records: it waits, as any other, for what was written before it."""
        self.write(lambda machine: Result(response=handler(machine)), done)

    def _run_timer(self, action: Action) -> None:
        """A time-out is a write that nobody waits for. If it is refused, whatever caused it will be seen to by a later
        one.
        """
        if self.state is not ShardState.ACTIVE:
            return
        self._handling += 1
        try:
            self._apply(action(), None)
        except KafkaError as error:
            logger.warning("%s: a timed step failed: %s", self.tp, error)
        finally:
            self._handling -= 1

    def _apply(self, result: Result | None, done: Callable[[Any, KafkaError | None], None] | None) -> None:
        """Carry out what a handler gave back.

        `on_commit` runs with the answers, in their order, and may return a further result: so a classic group becomes
        stable after its assignment is committed, and before anybody who was behind it in the queue is answered.
        """
        if result is None:
            return
        if result.records:
            try:
                self._enqueue(result)
            except KafkaError as error:
                if result.undo is None:
                    raise
                self._apply(result.undo(error), None)
                if result.response is NO_RESPONSE:
                    return  # who waits has been told
                raise
        if result.on_commit is None and (done is None or result.response is NO_RESPONSE):
            return

        def committed(error: KafkaError | None) -> None:
            if error is None and result.on_commit is not None:
                self._apply(result.on_commit(), None)
            if done is not None and result.response is not NO_RESPONSE:
                failed = error or (result.response if isinstance(result.response, KafkaError) else None)
                done(None if failed else result.response, failed)

        self.park(committed)

    def _enqueue(self, result: Result) -> None:
        """Encode, find room, then replay: in this order, so that whatever refuses the records does so before any of
        them is true.
        """
        if result.divisible and len(result.records) > DIVIDE_AT:
            for start in range(0, len(result.records), DIVIDE_AT):
                part = result.records[start : start + DIVIDE_AT]
                self._enqueue(Result(part, replay=result.replay, producer=result.producer))
            return
        try:
            encoded = [self.codec.encode(record) for record in result.records]
        except ProtocolError as error:
            self._refuse(result, f"a coordinator record cannot be encoded: {error}", ErrorCode.UNKNOWN_SERVER_ERROR)
        size = sum(len(key) + len(value or b"") + RECORD_OVERHEAD for key, value in encoded)
        if not self._reserve(size):
            self._refuse(result, f"{size} bytes of coordinator records are more than a batch of {self.tp} may hold")
        if result.producer is not None:
            self._append_now(self._build(encoded, result.producer), lambda: self._replay(result))
            return
        self._gather(encoded, size)
        self._replay(result)

    def _refuse(self, result: Result, text: str, code: ErrorCode = ErrorCode.RECORD_LIST_TOO_LARGE) -> NoReturn:
        """No batch may hold these records: nothing is written, and nothing of them may be true."""
        if result.replay:
            raise KafkaError(code, text)
        logger.warning("%s", text)
        if result.undo is None:  # memory is ahead of the log
            self._fail(ErrorCode.UNKNOWN_SERVER_ERROR)
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)

    def _reserve(self, size: int) -> bool:
        """Make room in the batch of this tick, by an append of what is there; False if no batch may be so large."""
        if self._batch:
            if self._batch_bytes + size <= self._batch_room:
                return True
            self._flush()
        limit = self._writer.max_batch_bytes(self.tp) - BATCH_OVERHEAD
        self._batch_room = min(GATHER_BYTES, limit)
        return size <= limit

    def _gather(self, records: Sequence[Encoded], size: int) -> None:
        """Add what there is room for to the batch of this tick. The first one in asks the loop for a flush after
        everything that is ready now: that is the whole of group commit, and an idle broker adds no delay to a single
        request.
        """
        if not self._batch:
            self._written += 1
            if not self._flush_due:
                self._flush_due = True
                self._scheduler.call_soon(self._flush_tick)
        self._batch += records
        self._batch_bytes += size

    def _replay(self, result: Result) -> None:
        """Make the records true, unless the handler has done that itself."""
        if result.replay:
            producer_id = result.producer[0] if result.producer else -1
            for record in result.records:
                self.machine.replay(record, producer_id)

    def append_marker(
        self,
        batch: bytes,
        producer: tuple[int, int],
        *,
        committed: bool,
        done: Callable[[Any, KafkaError | None], None],
        transaction_version: int = 0,
    ) -> None:
        """Append the end marker of a transaction that wrote here (a control batch), and replay it."""
        refused: KafkaError | None = None
        self._handling += 1
        try:
            self._append_now(batch, lambda: self.machine.replay_marker(*producer, committed), transaction_version)
        except KafkaError as error:
            refused = error
        finally:
            self._handling -= 1
        self.park(lambda error: done(None, error or refused))

    def _append_now(self, batch: bytes, apply: Callable[[], None], transaction_version: int = 0) -> None:
        """Append what belongs to a transaction: the log itself may refuse it (a fenced producer), and then raises.

        Nothing was written in that case, so nothing is replayed and the shard stays.
        """
        self._flush()
        self._written += 1
        sequence = self._written
        early: list[ErrorCode] = []
        applied = False

        def appended(error: ErrorCode) -> None:
            if applied:
                self._appended(sequence, error)
            else:
                early.append(error)

        self._hand_over(batch, appended, transaction_version)
        if early and early[0] in REFUSALS:
            self._written -= 1
            raise KafkaError(early[0])
        apply()
        applied = True
        if early:
            self._appended(sequence, early[0])

    def _flush_tick(self) -> None:
        """The loop has come round: what its last turn has gathered is appended."""
        self._flush_due = False
        self._flush()

    def _flush(self) -> None:
        """Append what is gathered. A closed shard writes nothing: its records are void, and who waits for them has been
        told.
        """
        if not self._batch or self.state is ShardState.CLOSED:
            return
        records, self._batch, self._batch_bytes = self._batch, [], 0
        sequence = self._written
        self._hand_over(self._build(records), lambda error: self._appended(sequence, error))

    def _hand_over(self, batch: bytes, done: Callable[[ErrorCode], None], transaction_version: int = 0) -> None:
        """Append; a writer that breaks has not written, and whoever waits for it must hear of that."""
        try:
            self._writer.append(self.tp, self.epoch, batch, done, transaction_version=transaction_version)
        except Exception:
            logger.exception("%s: appending failed", self.tp)
            done(ErrorCode.UNKNOWN_SERVER_ERROR)

    def _build(self, records: Sequence[Encoded], producer: tuple[int, int] | None = None) -> bytes:
        """One batch of magic 2, uncompressed; with the producer's id and the transactional bit if it is part of one."""
        producer_id, producer_epoch = producer or (-1, -1)
        builder = BatchBuilder(
            producer_id=producer_id, producer_epoch=producer_epoch, transactional=producer is not None
        )
        now = self._clock.time_ms()
        for key, value in records:
            builder.append(now, key, value)
        return builder.build()

    def _appended(self, sequence: int, error: ErrorCode) -> None:
        """The fate of one append. They are committed in order, so a later one speaks for those before it."""
        if self.state is ShardState.CLOSED:
            return
        if error is not ErrorCode.NONE:
            logger.warning("%s: append failed with %s: the shard is reloaded", self.tp, error.name)
            self._fail(APPEND_ERRORS.get(error, ErrorCode.UNKNOWN_SERVER_ERROR))
            return
        self._committed = max(self._committed, sequence)
        self._release()

    # -- answers that wait -----------------------------------------------------------------------------------------

    def park(self, done: Callable[[KafkaError | None], None]) -> None:
        """Call `done` once everything that is written by now is committed, or has failed."""
        if self.state is ShardState.CLOSED:
            done(KafkaError(ErrorCode.NOT_COORDINATOR))
        elif self._written <= self._committed and not self._parked:
            done(None)
        else:
            self._parked.append((self._written, done))

    def _release(self, failed: ErrorCode | None = None) -> None:
        """Answer who waits for what is committed by now; or, with an error, everybody: each with an exception of its
        own, as whoever raises one adds to its traceback, and thousands may wait.

        One answer, or step, that fails must not keep the others from theirs.
        """
        if self._handling and failed is None:
            self._scheduler.call_soon(self._release)
            return
        while self._parked and (failed is not None or self._parked[0][0] <= self._committed):
            _, done = self._parked.popleft()
            try:
                done(None if failed is None else KafkaError(failed))
            except Exception:
                logger.exception("%s: what waited for an append failed", self.tp)

    def _fail(self, error: ErrorCode) -> None:
        """Memory and log disagree: drop the shard; the runtime loads a new one."""
        self.close(error)
        self._on_failed(self)

    def close(self, error: ErrorCode = ErrorCode.NOT_COORDINATOR) -> None:
        """Drop the shard: everybody who waits is answered with `error`; nothing is written any more."""
        if self.state is ShardState.CLOSED:
            return
        active = self.state is ShardState.ACTIVE
        self.state = ShardState.CLOSED
        self.timers.cancel_all()
        self._batch.clear()
        self._release(error)
        if active:
            self.machine.on_unloaded()
