"""The transaction coordinator as the request handlers see it.

What takes time, and must not happen inside a handler of the machine, is done here, around it: fetching producer ids
from the controller, waiting a moment for markers, asking the coordinator of another broker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any

from tidelog.broker.coordinator.config import TransactionConfig
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.service import Service
from tidelog.broker.coordinator.shard import Shard
from tidelog.broker.coordinator.timers import wake
from tidelog.broker.coordinator.transaction.machine import MarkerJob, ProducerIdentity, TransactionMachine
from tidelog.broker.coordinator.transaction.metadata import EPOCH_BUMP_VERSION
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition

logger = logging.getLogger(__name__)

#: The first Produce (and TxnOffsetCommit) version whose partitions join the transaction by themselves (KIP-890).
IMPLICIT_ADD_PRODUCE_VERSION = 12
IMPLICIT_ADD_COMMIT_VERSION = 5
#: The first Produce version that understands TRANSACTION_ABORTABLE.
_ABORTABLE_PRODUCE_VERSION = 11
#: How long a request waits for the markers of the transaction before, instead of being sent away at once.
_WAIT_FOR_MARKERS_SECONDS = 0.1

_UNREACHED = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)

RemoteAdd = Callable[[str, ProducerIdentity, TopicPartition, bool], Awaitable[ErrorCode]]
"""(transactional id, producer, partition, verify only) -> the answer of the broker that coordinates the id."""


class TransactionCoordinator(Service):
    def __init__(
        self,
        runtime: Runtime,
        config: TransactionConfig,
        next_producer_id: Callable[[], Awaitable[int]],
        remote_add: RemoteAdd,
        scheduler: Scheduler,
    ) -> None:
        super().__init__(runtime)
        self._scheduler = scheduler
        self.config = config
        self._next_producer_id = next_producer_id
        self._remote_add = remote_add
        self._completions: dict[str, set[asyncio.Future[None]]] = {}

    # -- producer ids ----------------------------------------------------------------------------------------------

    async def _spare_id(self, shard: Shard, transactional_id: str) -> int | None:
        """A new producer id if the next step may need one: a handler of the machine cannot wait for it."""
        machine: TransactionMachine = shard.machine
        return await self._next_producer_id() if machine.needs_producer_id(transactional_id) else None

    async def init(
        self, transactional_id: str | None, timeout_ms: int, expected: ProducerIdentity | None = None
    ) -> ProducerIdentity:
        """InitProducerId. Without a transactional id: a fresh producer id, for idempotence alone."""
        if transactional_id is None:
            return ProducerIdentity(await self._next_producer_id(), 0)
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        spare = await self._spare_id(self.runtime.shard_for(transactional_id), transactional_id)
        identity: ProducerIdentity = await self.write(
            transactional_id,
            lambda machine: machine.init(transactional_id, timeout_ms, expected=expected, spare_id=spare),
        )
        return identity

    # -- partitions ------------------------------------------------------------------------------------------------

    async def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdentity,
        partitions: Collection[TopicPartition],
        *,
        version: int = 0,
    ) -> None:
        """Have the transaction include these partitions.

        A client that ended its transaction a moment ago may find the markers of it still on their way. Kafka answers
        CONCURRENT_TRANSACTIONS, and the client tries again after its back-off of 20 ms and more; here the request waits
        for what takes a millisecond, once and not for long, and is refused only then.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)

        def add(machine: TransactionMachine) -> Result:
            return machine.add_partitions(transactional_id, producer, partitions, version)

        try:
            await self.write(transactional_id, add)
        except KafkaError as error:
            if error.code is not ErrorCode.CONCURRENT_TRANSACTIONS:
                raise
            machine: TransactionMachine = self.runtime.shard_for(transactional_id).machine
            if machine.is_ending(transactional_id):
                await self._markers_written(transactional_id)
            await self.write(transactional_id, add)

    async def verify_partitions(
        self, transactional_id: str, producer: ProducerIdentity, partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """AddPartitionsToTxn with `verify_only` (KIP-890, part 1): which of these are in the transaction?"""
        result: dict[TopicPartition, ErrorCode] = await self.read(
            transactional_id, lambda machine: machine.verify(transactional_id, producer, partitions)
        )
        return result

    async def verify(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        tp: TopicPartition,
        *,
        produce_version: int = _ABORTABLE_PRODUCE_VERSION,
    ) -> ErrorCode:
        """May this producer's transaction write to this partition? Asked by Produce when one begins there.

        From version 12 on the partition joins the transaction by this very question.
        """
        code = await self._verify(transactional_id, ProducerIdentity(producer_id, producer_epoch), tp, produce_version)
        if code is ErrorCode.PRODUCER_FENCED:
            return ErrorCode.INVALID_PRODUCER_EPOCH  # the name that Produce has for it
        if code in _UNREACHED and produce_version < IMPLICIT_ADD_PRODUCE_VERSION:
            return ErrorCode.NOT_ENOUGH_REPLICAS  # retriable for every producer
        if code is ErrorCode.TRANSACTION_ABORTABLE and produce_version < _ABORTABLE_PRODUCE_VERSION:
            return ErrorCode.INVALID_TXN_STATE
        return code

    async def _verify(
        self, transactional_id: str, producer: ProducerIdentity, tp: TopicPartition, produce_version: int
    ) -> ErrorCode:
        """The same question, here or at the broker that coordinates the id; the code as coordinators give it."""
        adds = produce_version >= IMPLICIT_ADD_PRODUCE_VERSION
        try:
            if adds:
                await self.add_partitions(transactional_id, producer, (tp,), version=EPOCH_BUMP_VERSION)
                return ErrorCode.NONE
            return (await self.verify_partitions(transactional_id, producer, (tp,)))[tp]
        except KafkaError as error:
            if error.code is ErrorCode.NOT_COORDINATOR:
                asked = self._remote_add(transactional_id, producer, tp, not adds)
                return await asyncio.ensure_future(asked)  # a task: Produce has none, and the network has time-outs
            return error.code

    # -- the end ---------------------------------------------------------------------------------------------------

    async def end(
        self, transactional_id: str, producer: ProducerIdentity, *, committed: bool, version: int
    ) -> ProducerIdentity:
        """EndTxn. A producer of version 2 that begins and ends its next transaction at once may come before the markers
        of the last: it is let wait for them, as `add_partitions` does.
        """
        if not transactional_id:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        spare = None
        if version >= EPOCH_BUMP_VERSION:
            shard = self.runtime.shard_for(transactional_id)
            if shard.machine.is_early(transactional_id, producer):
                await self._markers_written(transactional_id)
            spare = await self._spare_id(shard, transactional_id)
        identity: ProducerIdentity = await self.write(
            transactional_id,
            lambda machine: machine.end(
                transactional_id, producer, committed=committed, version=version, spare_id=spare
            ),
        )
        return identity

    async def complete(self, job: MarkerJob) -> None:
        """All markers of the transaction are written: write that down, and let go on who waited for it. If the shard is
        gone, another coordinator has loaded the transaction and completes it by itself.
        """
        try:
            await self.write(job.transactional_id, lambda machine: machine.complete(job) or Result(response=None))
        except KafkaError as error:
            logger.info("%s: completed elsewhere: %s", job.transactional_id, error.code.name)
        for waiter in self._completions.pop(job.transactional_id, ()):
            wake(waiter)

    async def _markers_written(self, transactional_id: str) -> None:
        """Wait for `complete`, but not long. Produce runs without a task, which `asyncio.wait_for` would ask for."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiters = self._completions.setdefault(transactional_id, set())
        waiters.add(waiter)
        timer = self._scheduler.call_later(_WAIT_FOR_MARKERS_SECONDS, lambda: wake(waiter))
        try:
            await waiter
        finally:
            timer.cancel()
            waiters.discard(waiter)
            if not waiters and self._completions.get(transactional_id) is waiters:
                del self._completions[transactional_id]

    # -- time ------------------------------------------------------------------------------------------------------

    async def abort_timed_out(self) -> None:
        """End, on nobody's request, what has been open for longer than its producer said. The producer is fenced by it:
        should it come back, its next request is refused with PRODUCER_FENCED (or INVALID_PRODUCER_EPOCH, from Produce).
        """
        for shard in self.runtime.active_shards():
            for transaction in shard.machine.timed_out():
                try:
                    spare = await self._spare_id(shard, transaction.transactional_id)

                    def abort(machine: Any, transaction: Any = transaction, spare: int | None = spare) -> Result:
                        result: Result = machine.abort(transaction, spare) or Result(response=None)
                        return result

                    await self.write_to(shard, abort)
                except KafkaError as error:
                    logger.info("%s: not aborted: %s", transaction.transactional_id, error.code.name)
