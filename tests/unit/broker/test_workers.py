"""Long work leaves the loop, and too much of it holds back new requests."""

from __future__ import annotations

import asyncio
import random
import threading

from support.loop import until
from support.wire import batch, connected, produce_request, run, serving
from tidelog.broker.workers import Workers
from tidelog.protocol.api import ApiKey
from tidelog.records.format.attributes import Codec


def test_the_gate_closes_at_the_limit_and_opens_below_it():
    async def main():
        told = []
        workers = Workers(2, 3, told.append)
        go = threading.Event()
        jobs = [asyncio.ensure_future(workers.run(go.wait)) for _ in range(4)]
        await until(lambda: len(workers) == 4)
        assert told == [True]
        go.set()
        assert await asyncio.gather(*jobs) == [True] * 4
        assert (len(workers), told) == (0, [True, False])
        workers.stop()

    run(main())


def test_a_full_broker_reads_no_new_requests_until_there_is_room(tmp_path, monkeypatch):
    async def main():
        async with serving(tmp_path, {"queued.max.requests": "1"}) as broker, connected(broker) as slow:
            broker.create_topic("t")
            partition = broker.replicas.topic("t")[0]
            go = threading.Event()
            prepare = type(partition).prepare

            def blocking(self, *args, **kwargs):
                go.wait(60)
                return prepare(self, *args, **kwargs)

            monkeypatch.setattr(type(partition), "prepare", blocking)
            noise = random.Random(1).randbytes(30_000)  # stays large when packed: work for a thread
            slow.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(noise, codec=Codec.GZIP)}}))
            await until(lambda: len(broker.network.workers))
            async with connected(broker) as other:
                other.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"quick")}}))
                await asyncio.sleep(0.05)  # for what must not happen there is no event: time enough for it
                assert broker.network.sink.taken()[ApiKey.PRODUCE] == 0
                go.set()
                first = await slow.receive(ApiKey.PRODUCE, 9)
                second = await other.receive(ApiKey.PRODUCE, 9)
            offsets = [one.responses[0].partition_responses[0].base_offset for one in (first, second)]
            assert sorted(offsets) == [0, 1]
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == 1

    run(main())


def test_a_piece_counts_until_its_thread_has_let_go_of_it():
    """Who asks and leaves makes no room: the thread works on."""

    async def main():
        told, over = [], []
        workers = Workers(1, 2, told.append)
        begun, go = threading.Event(), threading.Event()

        def long():
            begun.set()
            go.wait(60)

        running = asyncio.ensure_future(workers.run(long, after=lambda: over.append("running")))
        waiting = asyncio.ensure_future(workers.run(go.wait, after=lambda: over.append("waiting")))
        await until(begun.is_set)
        assert (len(workers), told) == (2, [True])
        for job in (running, waiting):
            job.cancel()
        await asyncio.gather(running, waiting, return_exceptions=True)
        await until(lambda: len(workers) == 1)
        assert (over, told) == (["waiting"], [True, False]), "what no thread has begun is dropped"
        go.set()
        await until(lambda: len(workers) == 0)
        assert over == ["waiting", "running"]
        workers.stop()

    run(main())


def test_what_cannot_be_begun_gives_back_what_it_would_have_used():
    async def main():
        over = []
        workers = Workers(1, 2, lambda held: None)
        workers.stop()
        try:
            await workers.run(lambda: None, after=lambda: over.append(1))
        except RuntimeError:
            over.append("refused")
        assert over == [1, "refused"]
        assert len(workers) == 0

    run(main())
