"""Transactions that tasks have opened and no decision names: they are aborted, so that they hold back no reader.

The log's claims name them. A claim is dropped once its transaction has ended for good; one whose transaction the
coordinator does not know (yet) stays: its task may be slow. Before anything is aborted its claim is condemned, by a
transaction that only the log's newest owner can make: a driver that was superseded in the meantime, and whose claims
may be decided by now, stops there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.transaction_requests import COMPLETE_ABORT, COMPLETE_COMMIT, describe_transaction, fence
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.spark.decisions import Claim, Decision, DecisionLog

_AT_ONCE = 32
#: After so many times its time-out a transaction that was never seen will not be opened any more.
_LIVES = 2


async def abort_strays(cluster: ClusterClient, log: DecisionLog, decision: Decision | None) -> bool:
    """Everything that the open log has claims of, and that is not decided, belongs to nobody. Whether there was any."""
    kept = {transaction.transactional_id for transaction in decision.transactions} if decision else set()
    strays = [claim for claim in log.claims if claim.transactional_id not in kept]
    if not await log.condemn(strays):
        return False
    ended: list[str] = []

    async def end(claim: Claim) -> None:
        if await _ended(cluster, claim):
            ended.append(claim.transactional_id)

    await gather(end(claim) for claim in strays)
    if ended:
        await log.settle(ended)
    return bool(strays)


async def _ended(cluster: ClusterClient, claim: Claim) -> bool:
    """End the transaction, if there is one; whether there is none any more."""
    try:
        found = await describe_transaction(cluster, claim.transactional_id)
    except KafkaError as error:
        if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return is_forgotten(cluster, claim)
    if found.state not in (COMPLETE_ABORT, COMPLETE_COMMIT):
        await fence(cluster, claim.transactional_id)
    return True


def is_forgotten(cluster: ClusterClient, claim: Claim) -> bool:
    """Whether a transaction of that age has ended, one way or another."""
    return cluster.clock.time_ms() - claim.time_ms > _LIVES * claim.life_ms


async def gather(operations: Iterable[Awaitable[object]]) -> None:
    """Run them, a bounded number at once; the first error is raised when all have ended.

    Unlike `asyncio.gather` it leaves nothing running behind: after an error of one the others still end, and a bound
    keeps a batch of a thousand tasks from asking a coordinator a thousand things at once.
    """
    gate = asyncio.Semaphore(_AT_ONCE)

    async def run(operation: Awaitable[object]) -> None:
        async with gate:
            await operation

    for outcome in await asyncio.gather(*(run(operation) for operation in operations), return_exceptions=True):
        if isinstance(outcome, BaseException):
            raise outcome
