"""A producer of version 2 knows its next epoch as soon as EndTxn is answered, and may use it before the markers of the
transaction that ended are written: it is let wait for them, not told that it did something wrong."""

from __future__ import annotations

import asyncio

from support.wire import WireClient, batch, connected, run
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import EndTxnRequest, InitProducerIdRequest


def values(tmp_path):
    return {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path),
        "transaction.state.log.num.partitions": "1",
    }


class HeldMarkers:
    """The broker's sender of markers, with a gate before it."""

    def __init__(self, broker: Broker) -> None:
        self._sender = broker.coordinators._sender
        self._send = self._sender.send
        self._held: list[object] | None = None
        self._sender.send = self.send

    def hold(self) -> None:
        self._held = []

    def send(self, job) -> None:
        if self._held is None:
            self._send(job)
        else:
            self._held.append(job)

    def release(self) -> None:
        held, self._held = self._held, None
        for job in held:
            self._send(job)


class Producer:
    def __init__(self, client: WireClient) -> None:
        self._client = client
        self._id, self._epoch = -1, -1

    async def init(self) -> None:
        request = InitProducerIdRequest(
            transactional_id="copier", transaction_timeout_ms=60_000, producer_id=-1, producer_epoch=-1
        )
        while True:
            answer = await self._client.ask(ApiKey.INIT_PRODUCER_ID, 5, request)
            if answer.error_code not in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                break
            await asyncio.sleep(0.01)
        assert answer.error_code == 0
        self._id, self._epoch = answer.producer_id, answer.producer_epoch

    async def write(self, value: bytes) -> int:
        data = batch(
            value, producer_id=self._id, producer_epoch=self._epoch, base_sequence=0, transactional=True, timestamp=1
        )
        return (await self._client.produce("t", data, version=12, acks=-1, transactional_id="copier")).error_code

    async def end(self, *, committed: bool) -> int:
        request = EndTxnRequest(
            transactional_id="copier", producer_id=self._id, producer_epoch=self._epoch, committed=committed
        )
        answer = await self._client.ask(ApiKey.END_TXN, 5, request)
        if answer.error_code == 0:
            self._id, self._epoch = answer.producer_id, answer.producer_epoch
        return answer.error_code


async def begin(broker: Broker, client: WireClient) -> tuple[Producer, HeldMarkers]:
    """A transaction that is committed, and its markers held back."""
    await broker.controller.create_topics([NewTopic("t", 1, 1)])
    await broker.controller.ensure_topic("__transaction_state")
    producer, markers = Producer(client), HeldMarkers(broker)
    await producer.init()
    assert await producer.write(b"first") == 0
    markers.hold()
    assert await producer.end(committed=True) == 0
    return producer, markers


async def still_waiting(answer: asyncio.Task[int]) -> None:
    for _ in range(20):
        await asyncio.sleep(0)
    assert not answer.done()


def test_the_next_write_waits_for_the_markers(tmp_path):
    async def main():
        async with Broker(values(tmp_path)) as broker, connected(broker.endpoints[0]) as client:
            producer, markers = await begin(broker, client)
            written = asyncio.ensure_future(producer.write(b"second"))
            await still_waiting(written)
            markers.release()
            assert await written == ErrorCode.NONE
            assert await producer.end(committed=True) == ErrorCode.NONE

    run(main())


def test_an_abort_of_nothing_waits_for_the_markers(tmp_path):
    async def main():
        async with Broker(values(tmp_path)) as broker, connected(broker.endpoints[0]) as client:
            producer, markers = await begin(broker, client)
            ended = asyncio.ensure_future(producer.end(committed=False))
            await still_waiting(ended)
            markers.release()
            assert await ended == ErrorCode.NONE
            assert await producer.write(b"second") == ErrorCode.NONE

    run(main())
