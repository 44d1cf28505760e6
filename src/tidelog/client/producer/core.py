"""ProducerCore: the one producer behind all faces: settings, the way of a record, life, errors, figures.

    interceptors → serializers → partitioner → accumulator → sender

The first four happen in `send`, in whichever thread or task calls it; the sender lives on the loop. The core itself
waits for nothing in `send`: `prepare` and `try_append` either do their part or say what is missing (the topic's
metadata, or room), and the face waits for that as it can, a thread by blocking, a coroutine by awaiting.

What is made of the settings, and who reads them:

    this module          key.serializer, value.serializer, interceptor.classes, partitioner.class, max.block.ms
    Accumulator          batch.size, buffer.memory, max.request.size, compression.*, partitioner.ignore.keys
    StickyChoice         partitioner.adaptive.partitioning.enable, partitioner.availability.timeout.ms
    Sender, Leaders      acks, linger.ms, delivery.timeout.ms, request.timeout.ms, metadata.max.age.ms,
                         metadata.max.idle.ms, max.in.flight.requests.per.connection
    Recovery             enable.idempotence, retries
    Transactions         transactional.id, transaction.timeout.ms
    ClusterClient        bootstrap.servers, client.id, retry.backoff.*, reconnect.backoff.*, security.*, ssl.*, sasl.*,
                         connections.*, send.buffer.bytes, receive.buffer.bytes

The short way. Most producers have neither interceptors nor serializers nor a partitioner of their own. For them `send`
stays in compiled code from beginning to end (`SendPath` in `_accumulator`), as long as `plain` says that nothing is
wrong: it is false while there is an error to raise, while no transaction is open that should be, while other records
stand in line, and after `close`. Whatever changes one of these calls `refresh_plain`.

Errors: one that belongs to a record is its future's. One that belongs to nobody (a callback that raised, a producer
that was fenced) is raised by the next call of the user: `check`. What a callback has raised is in the log at once, and
is raised once: by `send` before it does anything, by `flush` when everything is written, by `close` when everything is
let go. A program that sends, flushes and ends hears of it so, though it calls nothing afterwards. The end of a
transaction does not raise it: whoever saw `commit_transaction` fail would think that nothing was committed.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import ClientConfig, common
from tidelog.client.config import producer as keys
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._batch import ProducerBatch, RecordFuture
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.client.producer.columns import ColumnEncoder, TableEntry
from tidelog.client.producer.delivery import Delivery, account
from tidelog.client.producer.interceptors import InterceptorChain
from tidelog.client.producer.metrics import Metrics
from tidelog.client.producer.partitioners import Cluster, StickyChoice, partitioner_of
from tidelog.client.producer.produce_requests import LAST_BY_NAME
from tidelog.client.producer.record import (
    OnDelivery,
    ProducerRecord,
    RecordMetadata,
    check_callable,
    checked,
    header_pairs,
)
from tidelog.client.producer.recovery import Recovery
from tidelog.client.producer.sender import Sender
from tidelog.client.producer.transaction_exchanges import Transactions
from tidelog.client.producer.transaction_manager import State, TransactionManager
from tidelog.client.serialization import serializer_of
from tidelog.common.clock import SYSTEM_CLOCK, Clock
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.records.format.attributes import Codec

logger = logging.getLogger("tidelog.client.producer")
_LEVELS = {
    "gzip": keys.COMPRESSION_GZIP_LEVEL,
    "lz4": keys.COMPRESSION_LZ4_LEVEL,
    "zstd": keys.COMPRESSION_ZSTD_LEVEL,
}
#: Bytes of a batch of columns, unless batch.size is set: the brokers' default max.message.bytes, less some.
_COLUMN_BATCH = 1_000_000


class Prepared(NamedTuple):
    """A record after interceptors and serializers."""

    record: ProducerRecord
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] | None
    on_delivery: OnDelivery | None
    #: The transaction that it was sent in (`TransactionManager.begun`).
    transaction: int


class ProducerCore:
    """Settings and parts of one producer. Made anywhere; its sender runs on the loop that `attach` is told of."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock = SYSTEM_CLOCK,
        rng: Rng | None = None,
        dedicated: bool = False,
        second_protocol: bool | None = None,
        cluster: ClusterClient | None = None,
    ) -> None:
        """`cluster`: connections of somebody else, who closes them."""
        self.config = config
        self.borrowed = cluster is not None
        self.cluster = cluster or ClusterClient(config, clock=clock, rng=rng, dedicated=dedicated)
        self.closed = False
        self.max_block = config[keys.MAX_BLOCK_MS] / 1000
        originals = config.originals
        self.key_serializer = serializer_of(self._wanted(keys.KEY_SERIALIZER), originals, is_key=True)
        self.value_serializer = serializer_of(self._wanted(keys.VALUE_SERIALIZER), originals, is_key=False)
        interceptors: list[Any] = config[keys.INTERCEPTOR_CLASSES]
        self.interceptors = InterceptorChain(interceptors, originals)
        self.partitioner = partitioner_of(config[keys.PARTITIONER_CLASS], originals, self.cluster.rng)
        self._view = Cluster(self.cluster.metadata)
        self._simple = not self.interceptors and self.partitioner is None
        self._simple &= not config.is_set(keys.KEY_SERIALIZER) and not config.is_set(keys.VALUE_SERIALIZER)
        self._later: BaseException | None = None
        self._held_back = 0
        self.accumulator = self._accumulator()
        self._build(second_protocol)
        self.columns = self._column_encoder()
        self.metrics = Metrics(self.accumulator, self.sender)
        self.refresh_plain()

    def _wanted(self, key: Any) -> object:
        """A serializer that was asked for; None: the default one, which takes bytes and text."""
        return self.config[key] if self.config.is_set(key) else None

    def _accumulator(self) -> Accumulator:
        """Memory, batches, and the default partitioner. A level is given to the codec only if it was set: each codec
        has a default of its own.
        """
        config = self.config
        codec = Codec.from_name(config[keys.COMPRESSION_TYPE])
        level_key = _LEVELS.get(config[keys.COMPRESSION_TYPE])
        self._level = config[level_key] if level_key is not None and config.is_set(level_key) else None
        patience = config[keys.PARTITIONER_AVAILABILITY_TIMEOUT_MS] / 1000
        choose = StickyChoice(
            self.cluster.metadata,
            self.cluster.rng,
            adaptive=config[keys.PARTITIONER_ADAPTIVE],
            unavailable=(lambda leader: self._is_stuck(leader, patience)) if patience else None,
        )
        return Accumulator(
            clock=self.cluster.clock,
            choose=choose,
            memory=config[keys.BUFFER_MEMORY],
            batch_size=config[keys.BATCH_SIZE],
            max_request_size=config[keys.MAX_REQUEST_SIZE],
            attributes=int(codec),
            level=self._level,
            ignore_keys=config[keys.PARTITIONER_IGNORE_KEYS],
        )

    def _column_encoder(self) -> ColumnEncoder:
        """The way in of whole tables."""
        config = self.config
        size = config[keys.BATCH_SIZE] if config.is_set(keys.BATCH_SIZE) else _COLUMN_BATCH
        return ColumnEncoder(
            self.accumulator,
            self.cluster.clock,
            has_leader=lambda tp: self.sender.leaders.of(tp) is not None,
            batch_bytes=max(min(size, config[keys.MAX_REQUEST_SIZE]), 1),
            max_request_size=config[keys.MAX_REQUEST_SIZE],
            codec=Codec.from_name(config[keys.COMPRESSION_TYPE]),
            level=self._level,
        )

    def _build(self, second_protocol: bool | None) -> None:
        """Sender, recovery and transactions, which know of each other: the sender asks the transactions as whom it may
        send and what, recovery tells them of what is lost.
        """
        config = self.config
        transactional_id = config[keys.TRANSACTIONAL_ID]
        idempotent = config[keys.ENABLE_IDEMPOTENCE]
        self.manager = TransactionManager(transactional_id)
        recovery = self._recovery = Recovery(
            idempotent=idempotent,
            transactional=transactional_id is not None,
            retries=config[keys.RETRIES],
            gave_up=self._gave_up,
        )
        self.transactions = Transactions(
            self.cluster,
            self.manager,
            recovery,
            timeout_ms=config[keys.TRANSACTION_TIMEOUT_MS],
            idempotent=idempotent,
            second=second_protocol,
        )
        self.sender = self.transactions.sender = Sender(
            self.cluster,
            self.accumulator,
            recovery,
            self.transactions,
            Delivery(
                acks=-1 if config[keys.ACKS] == "all" else int(config[keys.ACKS]),
                linger=config[keys.LINGER_MS] / 1000,
                delivery_timeout=config[keys.DELIVERY_TIMEOUT_MS] / 1000,
                request_timeout_ms=config[common.REQUEST_TIMEOUT_MS],
                max_request_size=config[keys.MAX_REQUEST_SIZE],
                max_in_flight=config[keys.MAX_IN_FLIGHT],
                max_age=config[common.METADATA_MAX_AGE_MS] / 1000,
                max_idle=config[keys.METADATA_MAX_IDLE_MS] / 1000,
                transactional_id=transactional_id,
            ),
            callback_failed=self.callback_failed,
        )
        self.transactions.changed = self.refresh_plain
        self.sender.highest = LAST_BY_NAME
        if not self.borrowed:  # else others may want it
            self.sender.forgot = self.cluster.metadata.forget
        self.sender.attend = self.transactions.attend
        self.sender.admits = self.transactions.admits

    # --- errors -------------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise what the user has not heard of yet, and what forbids to send."""
        self.check_open()
        self.check_heard()
        self.manager.check_not_failed()
        if self.manager.transactional_id is not None:
            self.manager.check_may_send()

    def check_open(self) -> None:
        """Nothing can be done with a producer that is closed."""
        if self.closed:
            raise UsageError("the producer is closed")

    def check_heard(self) -> None:
        """Raise what a callback has raised, unless that was done before."""
        error = self.take_unheard()
        if error is not None:
            raise error

    def take_unheard(self) -> BaseException | None:
        """What a callback has raised, for whoever is going to tell the user."""
        error, self._later = self._later, None
        if error is not None:
            self.refresh_plain()
        return error

    def refresh_plain(self) -> None:
        """Whether records may take the short way: nothing to call, nothing wrong, nobody in line before them."""
        usable = self.manager.failure is None and self._later is None and not self.closed and not self._held_back
        if self.manager.transactional_id is not None:
            usable &= self.manager.state is State.IN_TRANSACTION
        self.accumulator.plain = self._simple and usable

    def hold_back(self, records: int) -> None:
        """So many more (or fewer) records wait for their topic or for room: those behind them wait, too."""
        self._held_back += records
        self.refresh_plain()

    def callback_failed(self, error: BaseException) -> None:
        """The first error that nobody was told of is raised later; the others follow from it, or are in the log."""
        self._later = self._later or error
        self.refresh_plain()
        logger.error("a delivery callback has raised %s: %s", type(error).__name__, error, exc_info=error)

    def _gave_up(self, batch: ProducerBatch, error: KafkaError) -> None:
        """A batch is lost. In a transaction that is the end of it: it can only be aborted."""
        error = self.manager.as_fenced(error)
        intended = self.manager.state is State.ABORTING
        if self.manager.transactional_id is not None and not intended:
            self.transactions.failed(error)
            self.refresh_plain()
        self.sender.given_up(batch, error, intended=intended)

    def _is_stuck(self, leader: int, patience: float) -> bool:
        """Whether a leader has taken nothing for so long, though something was ready for it."""
        link = self.sender.links.get(leader)
        stuck = link.stuck_since if link is not None else 0.0
        return bool(stuck) and self.cluster.clock.monotonic() - stuck > patience

    # --- records ------------------------------------------------------------------------------------------------------

    def prepare(self, record: ProducerRecord, on_delivery: OnDelivery | None) -> Prepared:
        """Interceptors and serializers. What they raise is the caller's; interceptors hear of it."""
        check_callable(on_delivery)
        if self.interceptors:
            record = self.interceptors.on_send(record)
            on_delivery = self._intercepted(on_delivery)
        # Headers before key and value: a serializer may read them, and one of a schema registry may write some.
        try:
            record = checked(record)
            headers = None if record.headers is None else header_pairs(record.headers)
            key = self.key_serializer.serialize(record.topic, record.key, headers)
            value = self.value_serializer.serialize(record.topic, record.value, headers)
        except Exception as error:
            self.interceptors.on_acknowledgement(None, error)
            raise
        return Prepared(record, key, value, headers, on_delivery, self.manager.begun)

    def _intercepted(self, on_delivery: OnDelivery | None) -> OnDelivery:
        """The interceptors hear of the outcome first, then the record's own callback."""

        def told(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self.interceptors.on_acknowledgement(metadata, error)
            if on_delivery is not None:
                on_delivery(metadata, error)

        return told

    def try_append(self, prepared: Prepared) -> RecordFuture | None:
        """Into its batch, if the topic is known and there is room; None otherwise. A face that passes on what this
        raises tells the interceptors.
        """
        self.check_open()
        self.manager.check_belongs(prepared.transaction)
        record = prepared.record
        topic = self.accumulator.topics.get(record.topic)
        if topic is None or (record.partition is not None and record.partition >= len(topic.partitions)):
            return None
        return self.accumulator.append(
            topic,
            self._place(prepared, topic),
            prepared.key,
            prepared.value,
            record.timestamp,
            prepared.headers,
            prepared.on_delivery,
        )

    def _place(self, prepared: Prepared, topic: TopicBatches) -> int | None:
        """As the record says, as its partitioner says, or None: by default."""
        record = prepared.record
        if record.partition is not None:
            return record.partition
        if self.partitioner is None:
            return None
        chosen = self.partitioner.partition(
            record.topic, record.key, prepared.key, record.value, prepared.value, self._view
        )
        if not isinstance(chosen, int) or not 0 <= chosen < len(topic.partitions):
            text = f"the partitioner chose {chosen!r} for {topic.name}, which has {len(topic.partitions)} partitions"
            raise UsageError(text)
        return chosen

    async def need_topic(self, name: str, partition: int | None = None) -> TopicBatches:
        """Ask for a topic's metadata, until it is there or `max.block.ms` is over; brokers may create the topic."""

        # A topic that does not exist is asked for until the time is up, as Java does: it may be about to be made. What
        # cannot become better (a name that is not allowed, or not ours to see) is raised at once.
        async def look() -> int:
            await self.cluster.refresh([name], create=True)
            count = len(self.cluster.metadata.topic(name).partitions)
            if not count:
                raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name} is being made")
            return count

        try:
            async with asyncio.timeout(self.max_block):
                count = await self.cluster.retry(look, timeout=self.max_block)
        except TimeoutError:
            text = f"no metadata of topic {name} within max.block.ms ({self.max_block:g} s): no broker has answered"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text) from None
        except KafkaError as error:
            if not error.retriable:
                raise
            text = f"no metadata of topic {name} within max.block.ms ({self.max_block:g} s): {error.message}"
            raise KafkaError(error.code, text) from error
        topic = self.accumulator.topics.get(name)
        if topic is None:
            topic = TopicBatches(name, count, self.cluster.metadata.topic(name).id)
            topic.used_at = self.cluster.clock.monotonic()
            self._recovery.remembered(topic)
            self.accumulator.topics[name] = topic
        topic.grow(count)
        if partition is not None and partition >= count:
            raise UsageError(f"{name} has no partition {partition}: it has 0 to {count - 1}")
        return topic

    def table_rows(self, topic: TopicBatches, table: Any, wanted: dict[str, Any]) -> TableEntry:
        """A table's way in, which ends where its transaction does."""
        begun = self.manager.begun

        def admit() -> None:
            self.check_open()
            self.manager.check_belongs(begun)

        return self.columns.rows(topic, table, wanted, admit)

    def no_room(self) -> KafkaError:
        """What is raised when the buffer stays full: brokers are slower than we are, or away."""
        text = f"no room in the buffer (buffer.memory) within max.block.ms ({self.max_block:g} s)"
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, text)

    async def partitions_for(self, topic: str) -> list[int]:
        """The partitions of a topic, which is made if brokers do that."""
        found = await self.need_topic(topic)
        return list(range(len(found.partitions)))

    # --- life ---------------------------------------------------------------------------------------------------------

    async def close(self) -> str | None:
        """Give up what is not done, and let go of everything; says what was not sent, if anything."""
        self.closed = True
        self.refresh_plain()
        # Futures and callbacks of what is left are told first, threads that wait for room wake and find it closed, then
        # the connections go. Interceptors and serializers come last: callbacks may still have needed them.
        lost = self.sender.fail_all(
            KafkaError(ErrorCode.NETWORK_EXCEPTION, "the producer was closed before it was sent")
        )
        self.accumulator.give_room()
        await self.sender.close()
        if not self.borrowed:
            await self.cluster.close()
        self.interceptors.close()
        for part in (self.key_serializer, self.value_serializer, self.partitioner):
            if part is not None and hasattr(part, "close"):
                part.close()
        return account(lost) if lost else None

    async def abandon(self) -> None:
        """The end for a face that was dropped: what was sent is still sent, each record within its
        `delivery.timeout.ms`, and callbacks are called. The log has what could not be written.
        """
        try:
            await self.sender.flush()
        finally:
            left = await self.close()
            if left is not None:
                logger.warning("%s", left)

    def count_unsent(self) -> int:
        """Records of whom nobody knows yet whether they are written."""
        if self.closed or self.accumulator.is_forked:
            return 0
        return max(self.accumulator.records - self.sender.counters.records_sent - self.sender.counters.errors, 0)

    def closing_error(self, left: str | None) -> BaseException | None:
        """What `close` raises: that records are lost, else what a callback has raised and nobody has heard of."""
        unheard = self.take_unheard()
        if left is None:
            return unheard
        error = KafkaError(ErrorCode.REQUEST_TIMED_OUT, left)
        error.__cause__ = unheard
        return error
