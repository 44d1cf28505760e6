"""The sink's driver side on a fake cluster: a coordinator that knows transactions, and the driver's few steps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from support.fake_cluster import TOPIC, FakeCluster
from tidelog.client.blocking import BlockingClient
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer.transaction_manager import OpenTransaction
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader
from tidelog.protocol.messages import DescribeTransactionsResponse, ListOffsetsResponse
from tidelog.records.format.builder import BatchBuilder
from tidelog.spark.commit_protocol import CommitProtocol
from tidelog.spark.decisions import PARTITIONS, Decision, DecisionLog, claim
from tidelog.spark.transaction_names import TransactionName
from tidelog.testing.clock import ManualClock

QUERY = "q"
TIMEOUT_MS = 900_000
LIVES = {"transaction.timeout.ms": str(TIMEOUT_MS)}


@dataclass
class Known:
    """What the coordinator knows of a transactional id."""

    start_ms: int
    state: str = "Ongoing"
    producer_id: int = 5
    epoch: int = 0
    timeout_ms: int = TIMEOUT_MS


class Coordinator(FakeCluster):
    """The topic is that of the decisions. `slow` maps an API key to how long it takes by the cluster's clock."""

    def __init__(self, partitions: int = PARTITIONS) -> None:
        super().__init__(partitions)
        self.clock = ManualClock()
        self.transactions: dict[str, Known] = {}
        self.slow: dict[ApiKey, float] = {}
        self.stable: list[int] | None = None

    def open(self, *ids: str, **known: Any) -> tuple[OpenTransaction, ...]:
        for one in ids:
            self.transactions[one] = Known(self.clock.time_ms(), **known)
        return tuple(OpenTransaction(one, 5, 0) for one in ids)

    def fenced(self) -> list[str]:
        """The ids of tasks' transactions that were taken over, hence aborted."""
        ids = [request.transactional_id for request in self.asked(ApiKey.INIT_PRODUCER_ID)]
        return sorted(one for one in ids if one in self.transactions)

    def _handle(self, header: RequestHeader, request: Any) -> Any:
        key = ApiKey(header.api_key)
        self.clock.advance(self.slow.get(key, 0))
        if key is ApiKey.DESCRIBE_TRANSACTIONS:
            return self._describe(request)
        response = super()._handle(header, request)
        if key is ApiKey.LIST_OFFSETS and self.stable is not None and request.isolation_level:
            self._make_stable(response)
        return response

    def _make_stable(self, response: ListOffsetsResponse) -> None:
        assert self.stable is not None
        for entry in response.topics[0].partitions:
            entry.offset = self.stable[entry.partition_index]

    def _describe(self, request: Any) -> DescribeTransactionsResponse:
        (one,) = request.transactional_ids
        known = self.transactions.get(one)
        State = DescribeTransactionsResponse.TransactionState
        if known is None:
            missing = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
            return DescribeTransactionsResponse(transaction_states=[State(error_code=missing, transactional_id=one)])
        state = State(
            transactional_id=one,
            transaction_state=known.state,
            transaction_timeout_ms=known.timeout_ms,
            transaction_start_time_ms=known.start_ms,
            producer_id=known.producer_id,
            producer_epoch=known.epoch,
        )
        return DescribeTransactionsResponse(transaction_states=[state])


def name(query: str = QUERY, batch: int = 0, partition: int = 0, attempt: str = "a") -> str:
    return str(TransactionName(query, batch, partition, attempt))


def run(scenario: Callable[[Coordinator, ClusterClient], Awaitable[None]], partitions: int = PARTITIONS) -> None:
    async def main() -> None:
        async with Coordinator(partitions) as broker:
            settings = {"bootstrap.servers": broker.address, "retry.backoff.ms": "1", **LIVES}
            async with ClusterClient(settings, clock=broker.clock) as cluster:
                await scenario(broker, cluster)

    asyncio.run(main())


class Runner(BlockingClient):
    """Runs in the loop that is there already."""

    def __init__(self, cluster: ClusterClient) -> None:
        self.cluster = cluster


async def commit(
    cluster: ClusterClient, transactions: Iterable[OpenTransaction], *, query: str = QUERY, batch: int = 0
) -> None:
    """As the driver does, when the tasks have claimed what they opened."""
    opened = tuple(transactions)
    for one in opened:
        await claim(cluster, TOPIC, one.transactional_id)
    await protocol(cluster, query, batch)._commit(opened)


def protocol(cluster: ClusterClient, query: str = QUERY, batch: int = 0, **more: Any) -> CommitProtocol:
    return CommitProtocol(Runner(cluster), TOPIC, query, batch, lambda step: None, **more)


async def decided(cluster: ClusterClient, query: str = QUERY) -> Decision | None:
    return await DecisionLog(cluster, TOPIC, query).read()


def batch_of(key: bytes, value: bytes, producer: int | None = None) -> bytes:
    whose = {} if producer is None else {"producer_id": producer, "producer_epoch": 0, "transactional": True}
    builder = BatchBuilder(base_sequence=-1 if producer is None else 0, **whose)
    builder.append(0, key, value)
    return builder.build()
