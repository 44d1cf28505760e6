"""The asyncio producer: `tidelog.aio.Producer`.

    async with Producer(bootstrap_servers="localhost:9092") as producer:
        where = await producer.send("orders", b"...", key=b"customer-7")
        for order in orders:
            producer.send("orders", order)
            await producer.drain()

Its sockets are on the caller's loop, whichever that is, and no thread is behind it, but for tables: a large one is
encoded and packed on one. `send` is a plain call that never waits: what it returns can be awaited, now, later or never.
Whoever sends many records without awaiting them awaits `drain` in between, as with asyncio's own streams: it returns at
once while there is room in the buffer.

Batches of single records are packed on the loop. With `batch.size` as it is (16 KB) that takes 0.3 ms by gzip and less
than 0.1 ms by the other codecs, which is what a thread costs to be woken, and no record can overtake another. Who sets
a much larger one chooses zstd or lz4 (4 and 2 ms for a megabyte) and not gzip (40 ms), or the blocking producer, whose
loop is its own.

A record whose topic is not known yet, or for which there is no room, stands in line; those behind it do, too, so that
they keep their order. Nobody stands in line for longer than `max.block.ms`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, Unpack

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import ClientConfig, parse
from tidelog.client.config import producer as keys
from tidelog.client.durations import seconds
from tidelog.client.home_loop import HomeLoop
from tidelog.client.producer._accumulator import SendPath
from tidelog.client.producer._batch import RecordFuture
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.client.producer.columns import Column, ColumnsFuture, TableEntry
from tidelog.client.producer.core import Prepared, ProducerCore
from tidelog.client.producer.record import OnDelivery, ProducerRecord
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.client.unclosed import warn_unclosed
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.config.typed import ProducerKeywords


class _InLine(NamedTuple):
    """A record that waits, until when, and its future."""

    prepared: Prepared
    deadline: float
    future: RecordFuture


class Producer(SendPath):
    """Writes records to topics. Settings have Kafka's names, in a dict or as keywords with underscores."""

    def __init__(self, config: Mapping[str, Any] | None = None, **settings: Unpack[ProducerKeywords]) -> None:
        self._stand_on(ProducerCore(parse(keys.KEYS, config, settings)))

    @classmethod
    def over(
        cls, cluster: ClusterClient, *, detachable: bool = False, **settings: Unpack[ProducerKeywords]
    ) -> Producer:
        """A producer that uses the connections of somebody else, who also closes them; `settings` go before theirs.

        `detachable`: transactions are of the first protocol, the only one in which somebody else may end them.
        """
        assert isinstance(cluster.config, ClientConfig)
        producer = cls.__new__(cls)
        core = ProducerCore(
            cluster.config.derived(settings),
            clock=cluster.clock,
            cluster=cluster,
            second_protocol=False if detachable else None,
        )
        producer._stand_on(core)
        return producer

    def _stand_on(self, core: ProducerCore) -> None:
        """What is a face's own."""
        self._core = core
        self._home = HomeLoop("producer")
        self._line: deque[_InLine] = deque()
        self._usher: asyncio.Task[None] | None = None
        self._attach(core.accumulator)
        # No method of ours: tasks hold the accumulator, and would hold a producer that everybody else has dropped.
        self._wake = self.accumulator.wake = partial(_ask_for_turn, self._home, core)
        self.accumulator.admit = self._home.here

    def _send_slowly(
        self,
        topic: str | ProducerRecord,
        value: Any,
        key: Any,
        partition: int | None,
        timestamp: int | None,
        headers: Iterable[tuple[str, bytes | None]] | None,
        on_delivery: OnDelivery | None,
    ) -> RecordFuture:
        """The long way of a record: see `core`. It stands in line if something is missing or others do."""
        core = self._core
        if self.accumulator.is_forked:
            raise UsageError("this producer was made before the fork: make a new one in each child")
        self._home.here()
        core.check()
        record = topic
        if not isinstance(record, ProducerRecord):
            record = ProducerRecord(record, value, key, partition, timestamp, headers)  # type: ignore[arg-type] # list
        prepared = core.prepare(record, on_delivery)
        try:
            future = None if self._line else core.try_append(prepared)
        except Exception as error:
            core.interceptors.on_acknowledgement(None, error)
            raise
        if future is not None:
            return future
        return self._stand_in_line(prepared)

    def _stand_in_line(self, prepared: Prepared) -> RecordFuture:
        """A future without a batch yet. The record's time is that of `send`, not of when its turn comes."""
        clock = self._core.cluster.clock
        if prepared.record.timestamp is None:
            record = prepared.record._replace(timestamp=clock.time_ms())
            prepared = prepared._replace(record=record)
        sizes = [-1 if data is None else len(data) for data in (prepared.key, prepared.value)]
        future = RecordFuture.waiting(prepared.record.timestamp or 0, *sizes)
        self._line.append(_InLine(prepared, clock.monotonic() + self._core.max_block, future))
        self._core.hold_back(1)
        if self._usher is None:
            self._usher = asyncio.get_running_loop().create_task(self._serve_line())
        return future

    async def _serve_line(self) -> None:
        """Bring those who stand in line into their batches, one after the other."""
        try:
            while self._line:
                first = self._line[0]
                try:
                    first.future.join(await self._appended(first))
                except Exception as error:  # noqa: BLE001 - told to whoever waits for this record
                    self._refuse(first, error)
                self._line.popleft()
                self._core.hold_back(-1)
        finally:
            if self._usher is asyncio.current_task():
                self._usher = None

    def _empty_line(self, error: KafkaError) -> int:
        """Refuse all who stand in line; how many that were. Nothing here waits: nobody can come in between."""
        usher, self._usher = self._usher, None
        if usher is not None:
            usher.cancel()
        refused, self._line = self._line, deque()
        self._core.hold_back(-len(refused))
        for one in refused:
            self._refuse(one, error)
        return len(refused)

    async def _appended(self, waiting: _InLine) -> RecordFuture:
        """Waits for what is missing: the topic, or room."""
        core, record = self._core, waiting.prepared.record
        while True:
            future = core.try_append(waiting.prepared)
            if future is not None:
                return future
            topic = self.accumulator.topics.get(record.topic)
            if topic is None or (record.partition is not None and record.partition >= len(topic.partitions)):
                await core.need_topic(record.topic, record.partition)
            else:
                await self._room(waiting.deadline)

    async def _room(self, deadline: float) -> None:
        """Wait for room in the buffer."""
        loop = asyncio.get_running_loop()
        there = loop.create_future()

        def wake() -> None:
            if not there.done():
                there.set_result(None)

        self.accumulator.waiters.append(wake)
        self._wake()
        try:
            async with asyncio.timeout(max(deadline - self._core.cluster.clock.monotonic(), 0)):
                await there
        except TimeoutError:
            raise self._core.no_room() from None
        finally:
            if wake in self.accumulator.waiters:
                self.accumulator.waiters.remove(wake)

    async def send_arrow(self, topic: str, table: Any, **columns: Column) -> ColumnsFuture:
        """Queue all rows of a table (Arrow's, or anything that Arrow can take). `key`, `value`, `headers`, `partition`
        and `timestamp` name its columns, or are columns; what is not given is the column of that name, if there is one.
        What it returns can be awaited for where the rows are.

        Waits for room, up to `max.block.ms` for each batch. If there is none, PartlyQueuedError tells what was queued.
        What was queued before a call was cancelled stays so: `flush` waits for it.
        """
        core = self._core
        core.check()
        self._wake()
        await self.drain()
        found = self.accumulator.topics.get(topic) or await core.need_topic(topic)
        rows = core.table_rows(found, table, columns)
        try:
            while (batch := await self._encoded(rows)) is not None:
                deadline = core.cluster.clock.monotonic() + core.max_block
                while self.accumulator.pool.available <= 0:
                    await self._room(deadline)
                rows.add(*batch)
        except KafkaError as error:
            rows.tell(error)
            raise
        return rows.future

    async def _encoded(self, rows: TableEntry) -> tuple[PartitionBatches, memoryview] | None:
        """The next batch of a table; of a large one on a thread, as the loop has other things to do."""
        if not rows.is_worth_a_thread:
            return rows.next()
        return await asyncio.get_running_loop().run_in_executor(None, rows.next)

    def _refuse(self, waiting: _InLine, error: Exception) -> None:
        """The record never got into a batch: future and callback are told."""
        raised = waiting.future.refuse(error)
        if raised is not None:
            self._core.callback_failed(raised)
        if waiting.prepared.on_delivery is not None:
            try:
                waiting.prepared.on_delivery(None, error)
            except Exception as raised:  # noqa: BLE001 - the user's code may raise anything, and is told of it
                self._core.callback_failed(raised)

    # --- waiting ------------------------------------------------------------------------------------------------------

    async def drain(self) -> None:
        """Wait until nobody stands in line: there is room for the next record."""
        if self._usher is not None:
            await asyncio.wait([self._usher])
            self._core.check_open()

    async def flush(self) -> None:
        """Wait until everything that was sent so far is written or has failed; nothing lingers meanwhile. Then raise
        what a delivery callback has raised, if no call has done so before.
        """
        await self._flush()
        self._core.check_heard()

    async def _flush(self) -> None:
        self._wake()
        await self.drain()
        await self._core.sender.flush()

    async def partitions_for(self, topic: str) -> list[int]:
        """The numbers of the topic's partitions."""
        self._wake()
        return await self._core.partitions_for(topic)

    def metrics(self) -> dict[str, float]:
        """Figures since the producer was made, under Java's names."""
        return self._core.metrics()

    async def close(self, timeout: float | None = None) -> None:
        """Send what is left, up to `timeout` seconds (None: as long as it takes; 0: not at all), and let go.

        Raises KafkaError (REQUEST_TIMED_OUT) that says what was not acknowledged, if anything; what is still on its way
        then may or may not be written. Raises what a delivery callback has raised, if no call has done so before.
        """
        error = await self._let_go(seconds(timeout))
        if error is not None:
            raise error

    async def _let_go(self, timeout: float | None) -> BaseException | None:
        """Close, and return what is to be raised of it."""
        if self._core.closed:
            return None
        try:
            if timeout != 0:
                async with asyncio.timeout(timeout):
                    await self._flush()
        except TimeoutError:
            pass  # told below
        finally:
            closed = KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed before it was sent")
            self._core.closed = True  # a callback that sends is told so
            waiting = self._empty_line(closed)
            left = await self._core.close()
        if waiting:
            left = f"{left or 'the producer was closed'}; {waiting} records had not found room"
        return self._core.closing_error(left)

    # --- transactions -------------------------------------------------------------------------------------------------

    async def init_transactions(self) -> None:
        """Before the first transaction: takes over the transactional id, and aborts what an older producer left."""
        await self._transact(self._core.transactions.init())

    def begin_transaction(self) -> None:
        self._core.transactions.begin()
        self._core.refresh_plain()

    async def commit_transaction(self) -> None:
        """Send what is left, and commit. After a retriable error nobody knows whether that happened: call it again."""
        await self.drain()
        await self._transact(self._core.transactions.commit())

    async def abort_transaction(self) -> None:
        """Drop what was not sent yet, and abort."""
        self._core.manager.aborting()
        self._core.refresh_plain()
        self._empty_line(KafkaError(ErrorCode.TRANSACTION_ABORTABLE, "aborted before the record was sent"))
        await self._transact(self._core.transactions.abort())

    async def detach_transaction(self) -> OpenTransaction:
        """Send what is left, and leave the transaction open to whoever gets the result: any process may end it
        (`client.transaction_requests.end_transaction`) before `transaction.timeout.ms` is over. This producer can only
        be closed afterwards. For a producer that was made `over` a cluster as `detachable`.
        """
        self._wake()
        await self.drain()
        return await self._core.transactions.detach()

    async def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: ConsumerGroupMetadata
    ) -> None:
        """Commit a group's offsets with this transaction: what was read counts as read when what was made of it is
        written.
        """
        await self._transact(self._core.transactions.send_offsets(offsets, group_metadata))

    async def _transact(self, work: Any) -> None:
        """Within `max.block.ms`; afterwards records may (or may no longer) take the short way."""
        self._wake()
        try:
            async with asyncio.timeout(self._core.max_block):
                await work
        except TimeoutError:
            text = f"the coordinator did not answer within max.block.ms ({self._core.max_block:g} s)"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text) from None
        finally:
            self._core.refresh_plain()

    def __repr__(self) -> str:
        return f"<Producer of {self._core.cluster}>"

    def __del__(self) -> None:
        """Dropped: see `ProducerCore.abandon`."""
        core = self.__dict__.get("_core")
        if core is not None and self._home.loop is not None and not core.closed:
            if not core.borrowed:  # else there is nothing of its own to be left open
                warn_unclosed(self, "nobody hears whether its last records were written")
            self._home.abandon(core.abandon)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after an error without waiting, so that it is heard of."""
        if error is None:
            await self.close()
            return
        try:
            await self._let_go(timeout=0)
        except KafkaError:
            return


def _ask_for_turn(home: HomeLoop, core: ProducerCore) -> None:
    """A turn of the sender, soon, on the loop that the producer was first used on."""
    home.here().call_soon(core.sender.turn)
