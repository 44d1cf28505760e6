"""The asyncio consumer: `tidelog.aio.Consumer`.

    async with Consumer(bootstrap_servers="localhost:9092", group_id="orders") as consumer:
        await consumer.subscribe(["orders"])
        async for record in consumer:
            print(record.offset, record.value)

Its sockets are on the caller's loop, asyncio's or uvloop, and there is no thread; only large Arrow pieces are decoded
on one. A cancelled `poll` has lost nothing: records leave the buffer in the step in which they are returned, and a
table that was being decoded is what the next `poll_arrow` returns.

One task at a time: a second one that comes in between is refused by name. Listeners and callbacks may be coroutines.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from tidelog.client.cluster.metadata import TopicInfo
from tidelog.client.config import consumer as keys
from tidelog.client.config import parse
from tidelog.client.consumer import queries
from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.arrow import ArrowDelivery, Decoding
from tidelog.client.consumer.committing import CommitCallback, GivenOffsets
from tidelog.client.consumer.core import ConsumerCore
from tidelog.client.consumer.errors import ConcurrentUseError
from tidelog.client.consumer.face import CLOSE_TIMEOUT, ConsumerFace
from tidelog.client.consumer.guard import of_tasks
from tidelog.client.consumer.records import EMPTY, ConsumerRecords
from tidelog.client.consumer.reset import EARLIEST, LATEST, Since
from tidelog.client.consumer.reset import since as since_of
from tidelog.client.consumer.subscribing import Topics, subscription_of
from tidelog.client.durations import seconds
from tidelog.client.home_loop import HomeLoop
from tidelog.client.unclosed import warn_unclosed
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata, OffsetAndTimestamp, position_of
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.net.pauses import breathe

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
        self._home = HomeLoop("consumer")
        self._core = ConsumerCore(parse(keys.KEYS, config, keywords), self._home.post, clock=clock)
        self._arrow = ArrowDelivery(self._core.delivery)
        self._guard = of_tasks()
        self._decoding: tuple[Decoding, asyncio.Future[None]] | None = None

    # --- what to read -------------------------------------------------------------------------------------------------

    async def subscribe(self, topics: Topics, listener: Any = None, *, since: Since | None = None) -> None:
        """Topics by name, by a compiled pattern, or by `ServerPattern`. `since`: where to begin without a commit."""
        mode, what = subscription_of(topics)
        begin = None if since is None else since_of(since)
        if not what:
            await self.unsubscribe()
        else:
            await self._call("subscribe", self._core.subscribe(mode, listener, begin, **what))

    async def unsubscribe(self) -> None:
        """Leave the group; listeners are told here."""
        with self._guard("unsubscribe"):
            await self._during(self._core.unsubscribe())

    async def assign(self, partitions: Iterable[TopicPartition], *, since: Since | None = None) -> None:
        """Read these, without a group's help; `since="10m"` begins with what is ten minutes old."""
        begin = None if since is None else since_of(since)
        await self._call("assign", self._core.assign(list(partitions), begin))

    # --- reading ------------------------------------------------------------------------------------------------------

    async def poll(self, timeout: float | None = None, *, max_records: int | None = None) -> ConsumerRecords:
        """The next records, `max.poll.records` at most; none when `timeout` seconds are over (None: wait for ever).

        Calling it says that all records of the call before are done with. Listeners and callbacks run in here.
        """
        delivery = self._core.delivery
        try:
            with self._guard("poll"):
                most = self._core.most_records(max_records)
                records = await self._poll(lambda: delivery.take(most), EMPTY, timeout)
                if self._core.interceptors and records:
                    records = self._core.interceptors.on_consume(records)
            delivery.handed_over()
            return records
        except ConcurrentUseError:  # what is being taken is somebody else's
            raise
        except BaseException:
            delivery.take_back()
            raise

    async def poll_arrow(self, timeout: float | None = None, *, columns: Iterable[str] | None = None) -> pa.Table:
        """The next records as an Arrow table (see `arrow`); an empty one when the time is up."""
        with self._guard("poll_arrow"):
            wanted = self._arrow.columns(columns)
            deadline = None if timeout is None else self._core.clock.monotonic() + seconds(timeout)
            while True:
                left = None if deadline is None else max(deadline - self._core.clock.monotonic(), 0)
                if await self._poll(self._core.delivery.take_piece, None, left) is None:
                    return self._arrow.empty(wanted)
                table = self._hand_over(await self._decoded(wanted))
                if table is not None:
                    return table

    async def _decoded(self, wanted: tuple[str, ...]) -> Decoding:
        """The next pieces as columns; large ones are decoded on a thread. Cancelled here, that goes on for whoever
        comes next: nothing has been handed over.
        """
        under_way = self._decoding
        if under_way is None or under_way[0].wanted != wanted:
            decoding = self._arrow.prepare(wanted)
            if decoding.size < self._arrow.WORTH_A_THREAD:
                decoding.run()
                return decoding
            under_way = decoding, asyncio.get_running_loop().run_in_executor(None, decoding.run)
            self._decoding = under_way
        try:
            await asyncio.shield(under_way[1])
        finally:
            if under_way[1].done() and self._decoding is under_way:
                self._decoding = None
        return under_way[0]

    def _hand_over(self, decoding: Decoding) -> pa.Table | None:
        """What of it still follows the positions; these move here, in the step that returns the table."""
        delivery = self._core.delivery
        try:
            table = self._arrow.hand_over(decoding)
            delivery.handed_over()
            return table
        except BaseException:
            delivery.take_back()
            raise

    async def iter_arrow(self, *, columns: Iterable[str] | None = None) -> AsyncIterator[pa.Table]:
        """Tables, for ever."""
        while True:
            table = await self.poll_arrow(columns=columns)
            if table.num_rows:
                yield table

    async def _poll(self, take: Callable[[], T], empty: T, timeout: float | None) -> T:
        core = self._core
        timeout = seconds(timeout)
        self._home.here()
        core.begin_poll()
        deadline = None if timeout is None else core.clock.monotonic() + timeout
        await breathe()  # heartbeats and fetches have a turn, however fast the caller polls
        waited = False
        while True:
            await self._run_turns()
            core.raise_problem()
            taken = take()
            if taken:
                return taken
            core.positions.raise_missing()
            left = None if deadline is None else deadline - core.clock.monotonic()
            if left is not None and left <= 0 and waited:
                return empty
            await core.wait(left if left is None else max(left, 0))
            waited = True

    def __aiter__(self) -> AsyncIterator[ConsumerRecord]:
        """Records, for ever; the position is behind the record at hand."""
        return _Records(self)

    async def run(
        self,
        handler: Callable[[ConsumerRecord], Any],
        *,
        ordering: Ordering = "partition",
        concurrency: int = 1,
        on_error: Policy | None = None,
    ) -> None:
        """Hand each record to `handler(record)`, a coroutine or not, and commit what is done with; until `wakeup`.

        `ordering`: records of one partition, or of one key, are handled one after the other, and `concurrency` of them
        at the same time. A commit never passes a record that is not done with, whichever order they end in.
        `on_error`: `retry(5).then(dead_letter("topic"))`, `skip()`, `stop()`; by default the first error ends the run,
        and is raised. A record may be handled again after a crash or a rebalance: handlers should not mind.
        """
        from tidelog.client.consumer.handling.aio import run

        await run(self, handler, ordering, concurrency, on_error)

    # --- positions ----------------------------------------------------------------------------------------------------

    async def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """Go on at that offset."""
        place = position_of(offset)
        await self._call("seek", self._core.seek(partition, place.offset, place.leader_epoch))

    async def seek_to_beginning(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To where the log begins, of these partitions or of all; looked up when it is needed."""
        await self._call("seek_to_beginning", self._core.seek_by(partitions, EARLIEST))

    async def seek_to_end(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To what has yet to come. Under `read_committed` that is behind the last transaction that has ended."""
        await self._call("seek_to_end", self._core.seek_by(partitions, LATEST))

    async def seek_to_time(self, when: Since, partitions: Iterable[TopicPartition] | None = None) -> None:
        """To the first record at or after that time: "10m" ago, a datetime, or milliseconds since 1970."""
        await self._call("seek_to_time", self._core.seek_by(partitions, since_of(when)))

    async def position(self, partition: TopicPartition, timeout: float | None = None) -> int:
        """The offset of the next record that `poll` returns; waits until it is known."""
        return await self._call("position", self._core.position(partition, seconds(timeout)))

    async def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """`poll` returns nothing of these until `resume`; their positions stay."""
        await self._call("pause", self._core.pause(list(partitions)))

    async def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Go on with these, where they were paused."""
        await self._call("resume", self._core.resume(list(partitions)))

    # --- commits ------------------------------------------------------------------------------------------------------

    async def commit(self, offsets: GivenOffsets | None = None, timeout: float | None = None) -> None:
        """Commit, and wait for it: what is given, else the positions of all partitions."""
        with self._guard("commit"):
            self._core.require_group("commit")
            await self._wait(self._core.committing.commit(self._core.committing.chosen(offsets), seconds(timeout)))
            await self._run_turns(callbacks_only=True)

    async def commit_async(self, offsets: GivenOffsets | None = None, callback: CommitCallback | None = None) -> None:
        """Send a commit off; `callback(offsets, error)` runs within a later call, in order."""
        with self._guard("commit_async"):
            self._core.require_group("commit_async")
            self._home.here()
            self._core.committing.start(self._core.committing.chosen(offsets), callback)

    async def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """The group's last commits; None where there is none."""
        return await self._call("committed", self._core.commits.committed(list(partitions), timeout=seconds(timeout)))

    async def group_metadata(self) -> ConsumerGroupMetadata:
        """Who we are, for `Producer.send_offsets_to_transaction`."""
        return await self._call("group_metadata", self._core.group_metadata())

    # --- questions ----------------------------------------------------------------------------------------------------

    async def offsets_for_times(
        self, timestamps: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time (milliseconds since 1970); None where none is so late."""
        return await self._call("offsets_for_times", queries.offsets_for_times(self._core, timestamps))

    async def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Where the logs begin: retention and `delete_records` move that."""
        return await self._call("beginning_offsets", queries.beginning_offsets(self._core, list(partitions)))

    async def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset of what is written next, as far as this consumer may see (`isolation.level`)."""
        return await self._call("end_offsets", queries.end_offsets(self._core, list(partitions)))

    async def partitions_for(self, topic: str) -> list[TopicPartition]:
        """The partitions of a topic, asked for now; none if there is no such topic."""
        return await self._call("partitions_for", queries.partitions_for(self._core, topic))

    async def list_topics(self) -> dict[str, TopicInfo]:
        """Every topic that we may see, with its partitions and their leaders."""
        return await self._call("list_topics", queries.list_topics(self._core))

    async def tail(self, topic: str, count: int = 10) -> list[ConsumerRecord]:
        """The last records of a topic, oldest first; positions stay as they are."""
        return await self._call("tail", queries.tail(self._core, topic, count))

    async def lag(self) -> dict[TopicPartition, int]:
        """How far each assigned partition's position is behind its end, asked now."""
        return await self._call("lag", queries.lag(self._core))

    # --- the end ------------------------------------------------------------------------------------------------------

    async def close(self, timeout: float | None = CLOSE_TIMEOUT) -> None:
        """Commit if that is automatic, leave the group, run what callbacks are left. Again: nothing."""
        timeout = seconds(timeout)
        if self._core.closed:
            return
        with self._guard("close"):
            try:
                await self._during(self._core.close(timeout))
            finally:
                self._core.interceptors.close()
                self._core.deserializers.close()

    def __del__(self) -> None:
        """Dropped: see `ConsumerCore.abandon`."""
        core = self.__dict__.get("_core")
        if core is not None and self._home.loop is not None and not core.closed:
            warn_unclosed(self, "what it has read since its last commit will be read again")
            self._home.abandon(core.abandon)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # --- how calls are made -------------------------------------------------------------------------------------------

    async def _call(self, method: str, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            with self._guard(method):
                return await self._wait(coroutine)
        finally:
            coroutine.close()

    async def _wait(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            self._home.here()
            if self._core.closed:
                raise UsageError("the consumer is closed")
        except BaseException:
            coroutine.close()
            raise
        return await self._core.interruptible(coroutine)

    async def _during(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run something during which listeners may have to be called, here."""
        task = await self._core.attend(coroutine)
        try:
            while not await self._core.turn_or_end(task):
                await self._run_turns()
            await task
        except asyncio.CancelledError:
            task.cancel()
            raise

    async def _run_turns(self, *, callbacks_only: bool = False) -> None:
        """The user's own code, in the user's own task; what it throws is thrown from here."""
        turns = self._core.turns
        while (turn := turns.take(callbacks_only=callbacks_only)) is not None:
            try:
                outcome = turn.function() if turn.function is not None else None
                if inspect.isawaitable(outcome):
                    await outcome
            finally:
                turn.finish()


class _Records:
    """`async for` over a consumer. No asynchronous generator: whoever leaves the loop early has left it at once."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._records: Iterator[ConsumerRecord] = iter(())

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        while (record := next(self._records, None)) is None:
            polled = await self._consumer.poll()
            self._records = self._consumer._core.delivery.each(polled)
        return record
