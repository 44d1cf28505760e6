"""How a batch becomes visible exactly once, however often it is tried.

    task     opens a transaction of its own, writes, leaves it open, and tells the driver its coordinates
    driver   1. takes over the query's decision log           (an older driver can no longer decide)
             2. reads it: was this batch decided before?      (then those transactions count, and ours are aborted)
             3. checks that all transactions are still open
             4. writes the decision                           (from here on the batch is written)
             5. commits each transaction
             6. aborts whatever else of this query is open    (failed, speculative and forgotten attempts)

A crash before 4 leaves open transactions, which the replay of the batch aborts (its own have other ids) or the
coordinator when they time out. A crash after 4 leaves a decision, which the replay carries out; 5 may be repeated.
A decided transaction that was lost all the same (it timed out while the driver was away) stops the query: its records
are gone, and writing them anew could only guess what readers have already seen.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable

from tidelog.client.blocking import Driver
from tidelog.client.cluster_client import ClusterClient
from tidelog.client.producer.transactions import OpenTransaction
from tidelog.client.transactions import (
    COMPLETE_COMMIT,
    ONGOING,
    PREPARE_COMMIT,
    describe_transaction,
    end_transaction,
    fence,
    list_transactions,
)
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.spark.decisions import Decision, DecisionLog, read_decisions

_log = logging.getLogger(__name__)
_PREFIX = "tidelog-spark"
#: What the id of a batch job begins with, in the place of a query's.
JOB = "job-"
#: Answers to EndTxn which mean that the transaction is not open (any more) under that producer id and epoch.
_NOT_OPEN = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)
_AT_ONCE = 32
_ABORT_ROUNDS = 5
_ABORT_PAUSE = 0.3

Step = Callable[[str], None]


class TransactionLostError(KafkaError):
    """A transaction that should hold (part of) a batch is gone."""


def transactional_id(query: str, batch: int, partition: int, attempt: str) -> str:
    return f"{_PREFIX}/{query}/{batch}/{partition}/{attempt}"


class CommitProtocol:
    """The driver's side, for one batch of one query."""

    def __init__(self, driver: Driver, topic: str, query: str, batch: int, step: Step) -> None:
        self._driver, self._cluster = driver, driver.cluster
        self._query, self._batch, self._step = query, batch, step
        self._log = DecisionLog(driver.cluster, topic, query)

    def commit(self, transactions: Iterable[OpenTransaction]) -> None:
        self._driver.run(self._commit(tuple(transactions)))

    def abort(self) -> None:
        """The job failed. Abort what is open, unless the batch was decided: then it stands, and a replay ends it."""
        self._driver.run(self._abort())

    def forget(self) -> None:
        """The batch that was committed here will not come back (a batch job that has ended): drop its decision."""
        self._driver.run(self._log.forget())

    async def _commit(self, transactions: tuple[OpenTransaction, ...]) -> None:
        checking = asyncio.ensure_future(self._lost(transactions))
        try:
            decision = await self._log.open()
        finally:
            lost = await checking
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            decision = Decision(self._query, self._batch, transactions)
            if lost is not None:
                raise lost
            if transactions:
                await self._log.decide(decision)
                self._step("decided")
        await _gather([carry_out(self._cluster, decision, self._step), self._abort_strays(decision)])
        self._step("ended")

    async def _abort(self) -> None:
        decision = await self._log.open()
        if decision is None and self._query.startswith(JOB):
            decision = Decision(self._query, self._batch, ())
            await self._log.decide(decision)  # so that a later job aborts what this one's last tasks may still open
        for _ in range(_ABORT_ROUNDS):  # tasks that Spark has not stopped yet may open one more
            if not await self._abort_strays(decision):
                break
            await asyncio.sleep(_ABORT_PAUSE)

    async def _lost(self, transactions: tuple[OpenTransaction, ...]) -> KafkaError | None:
        """Why the batch cannot be decided: before anything is, a lost transaction only means that it is tried again."""

        async def check(transaction: OpenTransaction) -> None:
            found = await describe_transaction(self._cluster, transaction.transactional_id)
            mine = (found.producer_id, found.epoch) == (transaction.producer_id, transaction.epoch)
            left = found.timeout_ms - (self._cluster.clock.time_ms() - found.start_ms)
            if not mine or found.state != ONGOING or left < min(10_000, found.timeout_ms // 4):
                raise TransactionLostError(
                    ErrorCode.TRANSACTION_ABORTABLE,
                    f"batch {self._batch} of query {self._query} took longer than its transactions live "
                    f"({found.timeout_ms} ms): nothing of it was written. Restart the query; if it happens again, make "
                    "batches smaller, or raise kafka.transaction.timeout.ms (up to the brokers' "
                    "transaction.max.timeout.ms)",
                )

        try:
            await _gather(check(transaction) for transaction in transactions)
        except KafkaError as error:
            return error
        return None

    async def _abort_strays(self, decision: Decision | None) -> bool:
        return await abort_strays(self._cluster, self._query, decision)


async def abort_strays(cluster: ClusterClient, query: str, decision: Decision | None) -> bool:
    """Everything of this query that is open now and not decided belongs to nobody. Whether there was any."""
    kept = {transaction.transactional_id for transaction in decision.transactions} if decision else set()
    listed = await list_transactions(cluster, prefix=f"{_PREFIX}/{query}/", states=[ONGOING])
    strays = [listing.transactional_id for listing in listed if listing.transactional_id not in kept]
    await _gather(fence(cluster, stray) for stray in strays)
    return bool(strays)


async def carry_out(cluster: ClusterClient, decision: Decision, step: Step) -> None:
    """Commit each transaction of a decision; those that are committed already stay so."""

    async def end(transaction: OpenTransaction) -> None:
        try:
            await end_transaction(cluster, transaction, committed=True)
        except KafkaError as error:
            if error.code not in _NOT_OPEN or not await _was_committed(cluster, transaction):
                raise _lost(decision, transaction, error) from error
        step("committed one")

    await _gather(end(transaction) for transaction in decision.transactions)


async def _was_committed(cluster: ClusterClient, transaction: OpenTransaction) -> bool:
    try:
        found = await describe_transaction(cluster, transaction.transactional_id)
    except KafkaError as error:
        if error.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return False
        raise
    return found.state in (COMPLETE_COMMIT, PREPARE_COMMIT) and found.producer_id == transaction.producer_id


def _lost(decision: Decision, transaction: OpenTransaction, error: KafkaError) -> KafkaError:
    if error.code not in _NOT_OPEN:
        return error
    return TransactionLostError(
        error.code,
        f"batch {decision.batch} of query {decision.query} was decided, but its transaction "
        f"{transaction.transactional_id} is gone ({error.message}). It timed out before the driver came back to commit "
        "it: its records are lost, the batch's other transactions are written, and it will not be written again. "
        "Compare the topic with the source, mend it by hand, and start a new query (a new checkpoint) behind it. "
        "A longer kafka.transaction.timeout.ms (and transaction.max.timeout.ms at the brokers) gives more time.",
    )


async def recover_jobs(cluster: ClusterClient, topic: str, step: Step) -> None:
    """Carry out what batch jobs had decided before they died; abort what is left of those that had not."""
    await cluster.ensure_topics([topic])
    if topic not in cluster.metadata.topics:
        return
    places = [TopicPartition(topic, number) for number in cluster.metadata.partitions(topic)]
    decisions = await read_decisions(cluster, places)
    for decision in decisions.values():
        if decision.query.startswith(JOB):
            await _recover_job(cluster, topic, decision, step)


async def _recover_job(cluster: ClusterClient, topic: str, decision: Decision, step: Step) -> None:
    """Another job's loss is reported here for the last time: it must not stop those that come after it."""
    try:
        await carry_out(cluster, decision, step)
    except TransactionLostError as error:
        _log.error("a batch job of the past is incomplete: %s", error)
    await abort_strays(cluster, decision.query, decision)
    log = DecisionLog(cluster, topic, decision.query)
    if await log.open() is not None:
        await log.forget()


async def _gather(operations: Iterable[object]) -> None:
    """Run them, a bounded number at once; the first error is raised when all have ended."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def run(operation: object) -> None:
        async with gate:
            await operation  # type: ignore[misc]  # coroutines, as the callers give them

    for outcome in await asyncio.gather(*(run(operation) for operation in operations), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
