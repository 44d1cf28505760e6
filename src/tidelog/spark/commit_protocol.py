"""How a batch becomes visible exactly once, however often it is tried.

    task     claims a transaction of its own, opens it, writes, leaves it open, and tells the driver its coordinates
    driver   1. takes over the query's decision log           (an older driver can no longer decide)
             2. reads it: was this batch decided before?      (then those transactions count, and ours are aborted)
             3. checks that all transactions are still claimed and open, and will be for a while
             4. writes the decision, or gives up              (from here on the batch is written)
             5. commits each transaction
             6. condemns and aborts whatever else of this query was claimed (failed, speculative, forgotten attempts)

Invariants: a transaction is decided or condemned, never both (an older driver can do neither any more). A durable
decision never names a transaction that may have timed out when it was made. 3 comes when all that can take long is
over, and asks for more than 4 may take; 4 ends by then, for its own transaction lives no longer. (The clocks of driver
and brokers are taken to agree to within a few seconds.)

A crash before 4 leaves open transactions, which the replay of the batch aborts (its own have other ids) or the
coordinator when they time out. A crash after 4 leaves a decision, which the replay carries out; 5 may be repeated.
A decided transaction that was lost all the same (it timed out while the driver was away) stops the query: its records
are gone, and writing them anew could only guess what readers have already seen.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from tidelog.client.blocking import BlockingClient
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.client.transaction_requests import (
    COMPLETE_COMMIT,
    ONGOING,
    PREPARE_COMMIT,
    describe_transaction,
    end_transaction,
)
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.pauses import pause
from tidelog.spark.decisions import (
    Decision,
    DecisionLog,
    Standing,
    all_standings,
    reserve_ms,
)
from tidelog.spark.strays import abort_strays, gather, is_forgotten
from tidelog.spark.transaction_names import JOB

_log = logging.getLogger(__name__)
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
_ABORT_ROUNDS = 5
_ABORT_PAUSE = 0.3

Step = Callable[[str], None]


class TransactionLostError(KafkaError):
    """A transaction that should hold (part of) a batch is gone, or will be too soon."""


class CommitProtocol:
    """The driver's side, for one batch of one query."""

    def __init__(
        self, client: BlockingClient, topic: str, query: str, batch: int, step: Step, *, may_skip: bool = False
    ) -> None:
        """`may_skip`: nobody sees to it that the batch before this one has succeeded, as Spark does for its queries."""
        self._client, self._cluster, self._may_skip = client, client.cluster, may_skip
        self._query, self._batch, self._step = query, batch, step
        self._log = DecisionLog(client.cluster, topic, query)

    def commit(self, transactions: Iterable[OpenTransaction]) -> None:
        """Steps 1 to 6. Whoever calls it again for the same batch, with other transactions, gets the first decision
        carried out.
        """
        self._client.run(self._commit(tuple(transactions)))

    def abort(self) -> None:
        """The job failed. Abort what is open, unless the batch was decided: then it stands, and a replay ends it."""
        self._client.run(self._abort())

    def forget(self) -> None:
        """The batch that was committed here will not come back (a batch job that has ended): drop its decision."""
        self._client.run(self._log.forget())

    async def _commit(self, transactions: tuple[OpenTransaction, ...]) -> None:
        decision = await self._log.open()
        self._step("opened")
        if decision is None or decision.batch < self._batch:
            if decision is not None and self._may_skip:
                await _carry_out_late(self._cluster, decision, self._step)
            decision = Decision(self._query, self._batch, transactions)
            if transactions:
                await self._check_alive(transactions)
                await self._log.decide(decision)
                self._step("decided")
        await gather([carry_out(self._cluster, decision, self._step), abort_strays(self._cluster, self._log, decision)])
        self._step("ended")

    async def _abort(self) -> None:
        decision = await self._log.open()
        if decision is None and self._query.startswith(JOB):
            decision = Decision(self._query, self._batch, ())
            await self._log.decide(decision)  # so that a later job aborts what this one's last tasks may still open
        for _ in range(_ABORT_ROUNDS):  # tasks that Spark has not stopped yet may open one more
            if not await abort_strays(self._cluster, self._log, decision):
                break
            await pause(_ABORT_PAUSE)
            await self._log.read()

    async def _check_alive(self, transactions: tuple[OpenTransaction, ...]) -> None:
        """Before anything is decided, a transaction that is lost or nearly so only means that the batch is retried."""

        claimed = {claim.transactional_id for claim in self._log.claims if not claim.condemned}
        if any(one.transactional_id not in claimed for one in transactions):
            raise TransactionLostError(
                ErrorCode.TRANSACTION_ABORTABLE,
                f"another driver of query {self._query} aborts the transactions of batch {self._batch}: nothing of it "
                "was written. See that the query runs once, and restart it",
            )
        ends: list[tuple[int, int]] = []

        async def check(transaction: OpenTransaction) -> None:
            found = await describe_transaction(self._cluster, transaction.transactional_id)
            mine = (found.producer_id, found.epoch) == (transaction.producer_id, transaction.epoch)
            end = found.start_ms + found.timeout_ms if mine and found.state == ONGOING else 0
            ends.append((end, found.timeout_ms))

        await gather(check(transaction) for transaction in transactions)
        now = self._cluster.clock.time_ms()  # looking at all of them may have taken long too
        for end, timeout_ms in ends:
            needed = reserve_ms(timeout_ms)
            if end - now < needed:
                raise TransactionLostError(
                    ErrorCode.TRANSACTION_ABORTABLE,
                    f"batch {self._batch} of query {self._query} took longer than its transactions live "
                    f"({timeout_ms} ms, of which {needed} ms must be left): nothing of it was written. Restart "
                    "the query; if it happens again, make batches smaller, or raise kafka.transaction.timeout.ms (up "
                    "to the brokers' transaction.max.timeout.ms)",
                )


async def carry_out(cluster: ClusterClient, decision: Decision, step: Step) -> None:
    """Commit each transaction of a decision; those that are committed already stay so."""

    async def end(transaction: OpenTransaction) -> None:
        try:
            await end_transaction(cluster, transaction, committed=True)
        except KafkaError as error:
            if error.code not in _NOT_OPEN or not await _was_committed(cluster, transaction):
                raise _lost(decision, transaction, error) from error
        step("committed one")

    await gather(end(transaction) for transaction in decision.transactions)


async def _was_committed(cluster: ClusterClient, transaction: OpenTransaction) -> bool:
    """An end that is refused may be one that was made before: by us, when the answer was lost, or by an earlier
    driver.
    """
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


async def _carry_out_late(cluster: ClusterClient, decision: Decision, step: Step) -> None:
    """What others have decided and not ended. A loss is reported here for the last time: it stops nobody else."""
    try:
        await carry_out(cluster, decision, step)
    except TransactionLostError as error:
        _log.error("a batch of the past is incomplete, or too old for the brokers to remember it: %s", error)


async def recover_jobs(cluster: ClusterClient, topic: str, step: Step) -> None:
    """Carry out what batch jobs had decided before they died; abort what is left of those that had not."""
    for job, standing in (await all_standings(cluster, topic)).items():
        if job.startswith(JOB):
            await _recover_job(cluster, DecisionLog(cluster, topic, job), standing, step)


async def _recover_job(cluster: ClusterClient, log: DecisionLog, standing: Standing, step: Step) -> None:
    """What another version of Tidelog has decided is left to it."""
    if standing.decided is None:  # it runs, or it died before it decided: its transactions end by themselves
        old = [claim.transactional_id for claim in standing.claims if is_forgotten(cluster, claim)]
        if old:
            await log.open()
            await log.settle(old)
        return
    try:
        known = standing.decision
    except KafkaError as error:
        _log.warning("a batch job of the past is left alone: %s", error)
        return
    assert known is not None
    await _carry_out_late(cluster, known, step)
    decision = await log.open()
    await abort_strays(cluster, log, known)
    if decision is not None:
        await log.forget()
