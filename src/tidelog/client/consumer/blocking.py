"""The blocking consumer: `tidelog.Consumer`.

    with Consumer(bootstrap_servers="localhost:9092", group_id="orders") as consumer:
        consumer.subscribe(["orders"])
        for record in consumer:
            print(record.offset, record.value)

Its core lives on a loop of its own (`LoopThread`): heartbeats and fetches go on whatever the caller does. `poll` takes
what is there in the caller's own thread; only when nothing is there does it wait for the loop.

One thread at a time: a second one that comes in between is refused by name; `wakeup` alone may be called from anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from tidelog.client.cluster.metadata import TopicInfo
from tidelog.client.config import consumer as keys
from tidelog.client.config import parse
from tidelog.client.consumer import queries
from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.arrow import ArrowDelivery
from tidelog.client.consumer.committing import CommitCallback, GivenOffsets
from tidelog.client.consumer.core import ConsumerCore
from tidelog.client.consumer.errors import ConcurrentUseError
from tidelog.client.consumer.face import CLOSE_TIMEOUT, ConsumerFace
from tidelog.client.consumer.guard import of_threads
from tidelog.client.consumer.records import EMPTY, ConsumerRecords
from tidelog.client.consumer.reset import EARLIEST, LATEST, Since
from tidelog.client.consumer.reset import since as since_of
from tidelog.client.consumer.subscribing import Topics, subscription_of
from tidelog.client.durations import seconds
from tidelog.client.loop_thread import LoopThread
from tidelog.client.unclosed import warn_unclosed
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata, OffsetAndTimestamp, position_of
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    import pyarrow as pa

    from tidelog.client.config.typed import ConsumerKeywords
    from tidelog.client.consumer.handling.job_queues import Ordering
    from tidelog.client.consumer.handling.policies import Policy

T = TypeVar("T")


class Consumer(ConsumerFace):
    """Reads records. Settings by Kafka's names in a dict, or as keywords with underscores."""

    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        *,
        clock: Clock = SYSTEM_CLOCK,
        **keywords: Unpack[ConsumerKeywords],
    ) -> None:
        self._loop = LoopThread("tidelog-consumer")
        parsed = parse(keys.KEYS, config, keywords)
        self._core = ConsumerCore(parsed, self._loop.call, dedicated=True, clock=clock)
        self._arrow = ArrowDelivery(self._core.delivery)
        self._guard = of_threads()

    # --- what to read -------------------------------------------------------------------------------------------------

    def subscribe(self, topics: Topics, listener: Any = None, *, since: Since | None = None) -> None:
        """Topics by name, by a compiled pattern, or by `ServerPattern`. `since`: where to begin without a commit."""
        mode, what = subscription_of(topics)
        begin = None if since is None else since_of(since)
        if not what:
            self.unsubscribe()
        else:
            self._call("subscribe", self._core.subscribe(mode, listener, begin, **what))

    def unsubscribe(self) -> None:
        """Leave the group; listeners are told here."""
        with self._guard("unsubscribe"):
            self._during(self._core.unsubscribe())

    def assign(self, partitions: Iterable[TopicPartition], *, since: Since | None = None) -> None:
        """Read these, without a group's help; `since="10m"` begins with what is ten minutes old."""
        begin = None if since is None else since_of(since)
        self._call("assign", self._core.assign(list(partitions), begin))

    # --- reading ------------------------------------------------------------------------------------------------------

    def poll(self, timeout: float | None = None, *, max_records: int | None = None) -> ConsumerRecords:
        """The next records, `max.poll.records` at most; none when `timeout` seconds are over (None: wait for ever).

        Calling it says that all records of the call before are done with. Listeners and callbacks run in here.
        """
        delivery = self._core.delivery
        try:
            records = self._records(timeout, max_records)
            delivery.handed_over()
            return records
        except ConcurrentUseError:  # what is being taken is somebody else's
            raise
        except BaseException:
            delivery.take_back()
            raise

    def _records(self, timeout: float | None = None, max_records: int | None = None) -> ConsumerRecords:
        """As `poll`, but nothing is handed over yet: an interrupt may come until the user has them."""
        with self._guard("poll"):
            most = self._core.most_records(max_records)
            records = self._poll(lambda: self._core.delivery.take(most), EMPTY, timeout)
            return self._core.interceptors.on_consume(records) if self._core.interceptors and records else records

    def poll_arrow(self, timeout: float | None = None, *, columns: Iterable[str] | None = None) -> pa.Table:
        """The next records as an Arrow table (see `arrow`); an empty one when the time is up."""
        delivery = self._core.delivery
        try:
            with self._guard("poll_arrow"):
                wanted = self._arrow.columns(columns)
                table = self._poll(lambda: self._arrow.take(wanted), self._arrow.empty(wanted), timeout)
            delivery.handed_over()
            return table
        except ConcurrentUseError:  # what is being taken is somebody else's
            raise
        except BaseException:
            delivery.take_back()
            raise

    def iter_arrow(self, *, columns: Iterable[str] | None = None) -> Iterator[pa.Table]:
        """Tables, for ever."""
        while True:
            yield self.poll_arrow(columns=columns)

    def _poll(self, take: Callable[[], T], empty: T, timeout: float | None) -> T:
        core = self._core
        timeout = seconds(timeout)
        core.begin_poll()
        deadline = None if timeout is None else core.clock.monotonic() + timeout
        waited = False
        while True:
            self._run_turns()
            core.raise_problem()
            taken = take()
            if taken:
                return taken
            core.positions.raise_missing()
            left = None if deadline is None else deadline - core.clock.monotonic()
            if left is not None and left <= 0 and waited:
                return empty
            self._loop.run(core.wait(left if left is None else max(left, 0)))
            waited = True

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Records, for ever; the position is behind the record at hand."""
        delivery = self._core.delivery
        while True:
            try:
                yield from delivery.each(self._records())
            except GeneratorExit:  # the iteration has put back what it has left
                raise
            except ConcurrentUseError:
                raise
            except BaseException:
                delivery.take_back()  # unless the iteration has begun: then it puts back what it has left
                raise

    def run(
        self,
        handler: Callable[[ConsumerRecord], Any],
        *,
        ordering: Ordering = "partition",
        concurrency: int = 1,
        on_error: Policy | None = None,
    ) -> None:
        """Hand each record to `handler(record)`, in threads, and commit what is done with; until `wakeup`.

        `ordering`: records of one partition, or of one key, are handled one after the other, and `concurrency` of them
        at the same time. A commit never passes a record that is not done with, whichever order they end in.
        `on_error`: `retry(5).then(dead_letter("topic"))`, `skip()`, `stop()`; by default the first error ends the run,
        and is raised. A record may be handled again after a crash or a rebalance: handlers should not mind.
        """
        from tidelog.client.consumer.handling.blocking import run

        run(self, handler, ordering, concurrency, on_error)

    # --- positions ----------------------------------------------------------------------------------------------------

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on at that offset."""
        place = position_of(offset)
        self._call("seek", self._core.seek(partition, place.offset, place.leader_epoch))

    def seek_to_beginning(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To where the log begins, of these partitions or of all; looked up when it is needed."""
        self._call("seek_to_beginning", self._core.seek_by(partitions, EARLIEST))

    def seek_to_end(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To what has yet to come. Under `read_committed` that is behind the last transaction that has ended."""
        self._call("seek_to_end", self._core.seek_by(partitions, LATEST))

    def seek_to_time(self, when: Since, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To the first record at or after that time: "10m" ago, a datetime, or milliseconds since 1970."""
        self._call("seek_to_time", self._core.seek_by(partitions, since_of(when)))

    def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that `poll` returns; waits until it is known."""
        return self._call("position", self._core.position(partition, seconds(timeout)))

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """`poll` returns nothing of these until `resume`; their positions stay."""
        self._call("pause", self._core.pause(list(partitions)))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with these, where they were paused."""
        self._call("resume", self._core.resume(list(partitions)))

    # --- commits ------------------------------------------------------------------------------------------------------

    def commit(self, offsets: GivenOffsets | None = None, timeout: float | None = None) -> None:
        """Commit, and wait for it: what is given, else the positions of all partitions."""
        with self._guard("commit"):
            self._core.require_group("commit")
            self._wait(self._core.committing.commit(self._core.committing.chosen(offsets), seconds(timeout)))
            self._run_turns(callbacks_only=True)

    def commit_async(self, offsets: GivenOffsets | None = None, callback: CommitCallback | None = None) -> None:
        """Send a commit off; `callback(offsets, error)` runs within a later call, in order."""
        with self._guard("commit_async"):
            self._core.require_group("commit_async")
            self._loop.call(self._core.committing.start, self._core.committing.chosen(offsets), callback)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's last commits; None where there is none."""
        return self._call("committed", self._core.commits.committed(list(partitions), timeout=seconds(timeout)))

    def group_metadata(self) -> ConsumerGroupMetadata:
        """Who we are, for `Producer.send_offsets_to_transaction`."""
        return self._call("group_metadata", self._core.group_metadata())

    # --- questions ----------------------------------------------------------------------------------------------------

    def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time (milliseconds since 1970); None where none is so late."""
        return self._call("offsets_for_times", queries.offsets_for_times(self._core, timestamps))

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the logs begin: retention and `delete_records` move that."""
        return self._call("beginning_offsets", queries.beginning_offsets(self._core, list(partitions)))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of what is written next, as far as this consumer may see (`isolation.level`)."""
        return self._call("end_offsets", queries.end_offsets(self._core, list(partitions)))

    def partitions_for(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic, asked for now; none if there is no such topic."""
        return self._call("partitions_for", queries.partitions_for(self._core, topic))

    def list_topics(self) -> dict[str, TopicInfo]:
        """Every topic that we may see, with its partitions and their leaders."""
        return self._call("list_topics", queries.list_topics(self._core))

    def tail(self, topic: str, count: int = 10) -> list[ConsumerRecord]:
        """The last records of a topic, oldest first; positions stay as they are."""
        return self._call("tail", queries.tail(self._core, topic, count))

    def lag(self) -> dict[TopicPartition, int]:
        """How far each assigned partition's position is behind its end, asked now."""
        return self._call("lag", queries.lag(self._core))

    # --- the end ------------------------------------------------------------------------------------------------------

    def close(self, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Commit if that is automatic, leave the group, run what callbacks are left. Again, or in a forked child, which
        has no part in the group: nothing.
        """
        timeout = seconds(timeout)
        if self._loop.is_closed or self._loop.is_of_parent:
            return
        with self._guard("close"):
            try:
                self._during(self._core.close(timeout))
            finally:
                self._loop.close(timeout)
                self._core.interceptors.close()
                self._core.deserializers.close()

    def __del__(self) -> None:
        """Dropped: see `ConsumerCore.abandon`."""
        loop = self.__dict__.get("_loop")
        if loop is not None and loop.is_begun:
            warn_unclosed(self, "what it has read since its last commit will be read again")
            loop.abandon(self._core.abandon)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- how calls are made -------------------------------------------------------------------------------------------

    def _call(self, method: str, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            with self._guard(method):
                return self._wait(coroutine)
        finally:
            coroutine.close()

    def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self._core.closed:
            coroutine.close()
            raise UsageError("the consumer is closed")
        return self._loop.run(self._core.interruptible(coroutine))

    def _during(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something during which listeners may have to be called, here."""
        task: asyncio.Task[None] = self._loop.run(self._core.attend(coroutine))
        while not self._loop.run(self._core.turn_or_end(task)):
            self._run_turns()
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error

    def _run_turns(self, *, callbacks_only: bool = False) -> None:
        """The user's own code, in the user's own thread; what it throws is thrown from here."""
        turns = self._core.turns
        while (turn := turns.take(callbacks_only=callbacks_only)) is not None:
            try:
                if turn.function is not None:
                    turn.function()
            finally:
                self._loop.call(turn.finish)
