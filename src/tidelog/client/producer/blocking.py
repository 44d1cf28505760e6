"""The blocking producer: `tidelog.Producer`.

    with Producer(bootstrap_servers="localhost:9092", linger_ms=20) as producer:
        producer.send("orders", b"...", key=b"customer-7")                   # fire and forget
        where = producer.send("orders", b"...").result(timeout=10)           # wait for this one
        producer.send("orders", b"...", on_delivery=print)                   # be told

There is one thread behind it, for the sockets, started with the first use. `send` runs in the caller's thread up to the
batch, and waits only for a topic that is not known yet and for room in the buffer; every other call waits for what it
says, can be interrupted by Ctrl-C, and in a forked child says that it cannot work there.

Use one producer from as many threads as you like: they share its batches and connections. Callbacks run on the
producer's own thread, in the order of each partition's records; a slow one holds up everything that is sent.
"""

from __future__ import annotations

from _thread import allocate_lock
from collections.abc import Coroutine, Iterable, Mapping
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from tidelog.client.config import parse
from tidelog.client.config import producer as keys
from tidelog.client.durations import seconds
from tidelog.client.loop_thread import LoopThread
from tidelog.client.producer._accumulator import SendPath
from tidelog.client.producer._batch import RecordFuture
from tidelog.client.producer.columns import Column, ColumnsFuture
from tidelog.client.producer.core import Prepared, ProducerCore
from tidelog.client.producer.record import OnDelivery, ProducerRecord
from tidelog.client.unclosed import ExitNotice, warn_unclosed
from tidelog.client.values import ConsumerGroupMetadata, OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.config.typed import ProducerKeywords

T = TypeVar("T")


class Producer(SendPath):
    """Writes records to topics. Settings have Kafka's names, in a dict or as keywords with underscores."""

    def __init__(self, config: Mapping[str, Any] | None = None, **settings: Unpack[ProducerKeywords]) -> None:
        self._core = ProducerCore(parse(keys.KEYS, config, settings), dedicated=True)
        self._loop = LoopThread("tidelog-producer")
        self._attach(self._core.accumulator)
        self.accumulator.threaded = True
        # No method of ours: the thread holds the accumulator, and would hold a producer that all others have dropped.
        self._wake = self.accumulator.wake = partial(self._loop.call, self._core.sender.turn)
        self._exit_notice = ExitNotice(self._core.count_unsent)

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
        """The long way of a record: see `core`. Waits for metadata and for room, `max.block.ms` in all."""
        if self.accumulator.is_forked:
            self._wake()  # says what is wrong
        self._core.check()
        record = topic
        if not isinstance(record, ProducerRecord):
            record = ProducerRecord(record, value, key, partition, timestamp, headers)  # type: ignore[arg-type] # list
        prepared = self._core.prepare(record, on_delivery)
        deadline = self._core.cluster.clock.monotonic() + self._core.max_block
        try:
            while (future := self._core.try_append(prepared)) is None:
                self._wait_for(prepared, deadline)
        except Exception as error:
            self._core.interceptors.on_acknowledgement(None, error)
            raise
        return future

    def _wait_for(self, prepared: Prepared, deadline: float) -> None:
        """Wait for what is missing: the topic, or room."""
        record = prepared.record
        topic = self.accumulator.topics.get(record.topic)
        if topic is None or (record.partition is not None and record.partition >= len(topic.partitions)):
            self._loop.run(self._core.need_topic(record.topic, record.partition))
            return
        self._wait_for_room(deadline)

    def _wait_for_room(self, deadline: float) -> None:
        if self._loop.is_current:  # a callback: it is on the only thread that could make room
            raise self._core.no_room()
        lock = allocate_lock()
        lock.acquire()
        self.accumulator.waiters.append(lock.release)
        self._wake()
        left = deadline - self._core.cluster.clock.monotonic()
        if left <= 0 or not lock.acquire(timeout=left):
            if lock.release in self.accumulator.waiters:
                self.accumulator.waiters.remove(lock.release)
            raise self._core.no_room()
        self._core.check()

    def send_arrow(self, topic: str, table: Any, **columns: Column) -> ColumnsFuture:
        """Queue all rows of a table (Arrow's, or anything that Arrow can take). `key`, `value`, `headers`, `partition`
        and `timestamp` name its columns, or are columns; what is not given is the column of that name, if there is one.

        Waits for room, up to `max.block.ms` for each batch. If there is none, PartlyQueuedError tells what was queued.
        """
        self._core.check()
        found = self.accumulator.topics.get(topic)
        if found is None:
            found = self._loop.run(self._core.need_topic(topic))
        rows = self._core.table_rows(found, table, columns)
        try:
            while (batch := rows.next()) is not None:
                deadline = self._core.cluster.clock.monotonic() + self._core.max_block
                while self.accumulator.pool.available <= 0:
                    self._wait_for_room(deadline)
                rows.add(*batch)
        except KafkaError as error:
            rows.tell(error)
            raise
        return rows.future

    # --- waiting ------------------------------------------------------------------------------------------------------

    def flush(self, timeout: float | None = None) -> None:
        """Wait until everything that was sent so far is written or has failed; nothing lingers meanwhile. Then raise
        what a delivery callback has raised, if no call has done so before.
        """
        timeout = seconds(timeout)
        self._core.check_open()
        self._loop.run(self._core.sender.flush(), timeout)
        self._core.check_heard()
        if self._core.manager.transactional_id is None:
            self._core.manager.check_not_failed()

    def partitions_for(self, topic: str) -> list[int]:
        """The numbers of the topic's partitions."""
        return self._run(self._core.partitions_for(topic), None)

    def metrics(self) -> dict[str, float]:
        """Figures since the producer was made, under Java's names."""
        return self._core.metrics()

    def close(self, timeout: float | None = None) -> None:
        """Send what is left, up to `timeout` seconds (None: as long as it takes; 0: not at all), and let go.

        Raises KafkaError (REQUEST_TIMED_OUT) that says what was not acknowledged, if anything; what is still on its way
        then may or may not be written. Raises what a delivery callback has raised, if no call has done so before.
        """
        error = self._let_go(seconds(timeout))
        if error is not None:
            raise error

    def _let_go(self, timeout: float | None) -> BaseException | None:
        """Close, and return what is to be raised of it."""
        if self._core.closed or self.accumulator.is_forked:
            return None
        try:
            if timeout != 0:
                self._loop.run(self._core.sender.flush(), timeout)
        except KafkaError as error:
            if error.code is not ErrorCode.REQUEST_TIMED_OUT:
                raise
        finally:
            left = self._loop.run(self._core.close())
            self._loop.close(timeout=5)
            self._core.sender.turn()  # for a thread that was still in `send`: the loop has no turns any more
            self._exit_notice.cancel()
        return self._core.closing_error(left)

    def _run(self, work: Coroutine[Any, Any, T], timeout: float | None) -> T:
        """Run on the loop, after what the user has not heard of yet."""
        try:
            if self._core.closed or self._core.manager.transactional_id is None:
                self._core.check()
        except BaseException:
            work.close()
            raise
        return self._loop.run(work, timeout)

    # --- transactions -------------------------------------------------------------------------------------------------

    def init_transactions(self) -> None:
        """Before the first transaction: takes over the transactional id, and aborts what an older producer left."""
        self._transact(self._core.transactions.init())

    def begin_transaction(self) -> None:
        self._core.transactions.begin()
        self._core.refresh_plain()

    def commit_transaction(self) -> None:
        """Send what is left, and commit. After a retriable error nobody knows whether that happened: call it again."""
        self._transact(self._core.transactions.commit())

    def abort_transaction(self) -> None:
        """Drop what was not sent yet, and abort."""
        self._transact(self._core.transactions.abort())

    def send_offsets_to_transaction(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata | int], group_metadata: ConsumerGroupMetadata
    ) -> None:
        """Commit a group's offsets with this transaction: what was read counts as read when what was made of it is
        written.
        """
        self._transact(self._core.transactions.send_offsets(offsets, group_metadata))

    def _transact(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            self._loop.run(work, self._core.max_block)
        finally:
            self._core.refresh_plain()

    def __repr__(self) -> str:
        return f"<Producer of {self._core.cluster}>"

    def __del__(self) -> None:
        """Dropped: see `ProducerCore.abandon`."""
        notice = self.__dict__.get("_exit_notice")
        if notice is not None:
            notice.cancel()
            if self._loop.is_begun:
                warn_unclosed(self, "nobody hears whether its last records were written")
                self._loop.abandon(self._core.abandon)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close; after an error without waiting, so that it is heard of."""
        if error is None:
            self.close()
            return
        try:
            self._let_go(timeout=0)
        except KafkaError:
            return
