"""Produce in a transaction: what follows its first write takes the hot path, with the answers of the long way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.wire import WireClient, batch, connected, produce_request, run
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest

BUSY = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class Producer:
    """Keeps the frames of all answers to Produce, and how many of the requests were hot."""

    def __init__(self, broker: Broker, client: WireClient, version: int) -> None:
        self._broker = broker
        self._sink = broker.network.sink
        self._client = client
        self._version = version
        self._correlation = 0
        self.frames: list[bytes] = []
        self.hot: list[int] = []

    async def begin(self) -> None:
        request = InitProducerIdRequest(transactional_id="copier", transaction_timeout_ms=60_000)
        answer = await self._until_free(ApiKey.INIT_PRODUCER_ID, 2, request)
        self.ids = {
            "transactional_id": "copier",
            "producer_id": answer.producer_id,
            "producer_epoch": answer.producer_epoch,
        }

    async def join(self, topic: str, partitions: list[int]) -> None:
        topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=topic, partitions=partitions)]
        ids = {f"v3_and_below_{name}": value for name, value in self.ids.items()}
        request = AddPartitionsToTxnRequest(**ids, v3_and_below_topics=topics)
        answer = await self._client.ask(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request)
        results = [part for one in answer.results_by_topic_v3_and_below for part in one.results_by_partition]
        assert {part.partition_error_code for part in results} == {0}

    async def end(self) -> None:
        """Commit, and wait for the markers."""
        await self._until_free(ApiKey.END_TXN, 2, EndTxnRequest(**self.ids, committed=True))
        logs = [self._broker.replicas.partition(TopicPartition("t", number)).log for number in (0, 1)]
        while any(log.producers.ongoing for log in logs):  # noqa: ASYNC110 - the log tells nobody
            await asyncio.sleep(0.01)

    async def write(
        self,
        sequences: dict[int, int],
        *,
        epoch: int = 0,
        name: str | None = "copier",
        transactional: bool = True,
        spoil: int = 0,
    ) -> None:
        """Two records to each of these partitions, with that sequence number."""
        parts = {}
        for partition, sequence in sequences.items():
            parts[partition] = batch(
                b"a",
                b"b",
                timestamp=1,
                producer_id=self.ids["producer_id"],
                producer_epoch=self.ids["producer_epoch"] + epoch,
                base_sequence=sequence,
                transactional=transactional,
            )
            parts[partition][-1] ^= spoil
        before = self._sink.taken()[ApiKey.PRODUCE]
        self._correlation += 1
        request = produce_request({"t": parts}, acks=-1, transactional_id=name)
        self._client.writer.write(encode_request(ApiKey.PRODUCE, self._version, self._correlation, "c", request))
        self.frames.append(await self._client.receive_frame())
        self.hot.append(self._sink.taken()[ApiKey.PRODUCE] - before)

    async def _until_free(self, key: ApiKey, version: int, request):
        while True:
            answer = await self._client.ask(key, version, request)
            if answer.error_code not in BUSY:
                assert answer.error_code == 0
                return answer
            await asyncio.sleep(0.01)


async def story(path: Path, version: int, *, hot: bool) -> tuple[list[bytes], list[int], list[bytes]]:
    """(the answers, which requests were hot, the partitions' bytes as a reader of committed records gets them)."""
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(path),
        "transaction.state.log.num.partitions": "1",
    }
    async with Broker(settings) as broker, connected(broker.endpoints[0]) as client:
        broker.network.sink.hot = hot
        await broker.controller.create_topics([NewTopic("t", 2, 1)])
        await broker.controller.ensure_topic("__transaction_state")
        producer = Producer(broker, client, version)
        await producer.begin()
        await producer.join("t", [0, 1])
        await producer.write({0: 0})  # opens the transaction in partition 0
        await producer.write({0: 2})
        await producer.write({0: 4, 1: 0})  # and in partition 1
        await producer.write({0: 6, 1: 2})
        await producer.write({0: 6, 1: 2})  # sent again
        await producer.write({0: 99})  # out of order
        await producer.write({0: 8}, spoil=0xFF)
        await producer.write({0: 8}, epoch=1)
        await producer.write({0: 8}, name=None)
        await producer.write({0: 8}, transactional=False)
        await producer.write({0: 8})
        await producer.end()
        await producer.write({0: 10})  # no transaction is open
        await producer.join("t", [0])
        await producer.write({0: 10})
        await producer.write({0: 12})
        seen = []
        for partition in (0, 1):
            answer = await client.fetch("t", partition=partition, isolation_level=1)
            seen.append(bytes(answer.responses[0].partitions[0].records))
        return producer.frames, producer.hot, seen


@pytest.mark.parametrize("version", [3, 8, 11, 12])
def test_the_hot_path_answers_as_the_long_way_does(tmp_path, version):
    async def main():
        frames, taken, seen = await story(tmp_path / "hot", version, hot=True)
        expected, none, also_seen = await story(tmp_path / "long", version, hot=False)
        assert frames == expected
        assert seen[0][61:]
        assert seen == also_seen
        joins_by_itself = version >= 12
        assert taken == [0, 1, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, joins_by_itself, 1]
        assert none == [0] * len(expected)

    run(main())
