"""Whoever is woken by an append may append itself: such chains are worked off one by one, never nested."""

from __future__ import annotations

import resource
import sys
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from support.loop import until
from support.wire import batch, connected, fetch_request, produce_request, run, serving
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.protocol.api import ApiKey

MINUTE = 60_000


@pytest.fixture
def depths(monkeypatch):
    """How deep the stack was at each append."""
    found = []
    append = PartitionLog.append_as_leader

    def counting(self, *args, **kwargs):
        frame, depth = sys._getframe(), 0
        while frame is not None:
            frame, depth = frame.f_back, depth + 1
        found.append(depth)
        return append(self, *args, **kwargs)

    monkeypatch.setattr(PartitionLog, "append_as_leader", counting)
    return found


@asynccontextmanager
async def several(broker, count):
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2 * count + 200:
        pytest.skip(f"{count} connections need {2 * count + 200} descriptors (ulimit -n)")
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(connected(broker)) for _ in range(count)]


def values(response):
    return [len(part.records) for part in response.responses[0].partitions]


async def all_answer(broker, clients, topics):
    """[waiting Fetch][Produce] on each connection: the fetch of each waits for the produce of the one before."""
    for number, client in enumerate(clients):
        client.send(ApiKey.FETCH, 12, fetch_request({topics(number): {0: 0}}, max_wait_ms=10 * MINUTE))
        client.send(ApiKey.PRODUCE, 9, produce_request({topics(number + 1): {0: batch(b"x")}}))
        await client.writer.drain()
    await until(lambda: len(broker.purgatories.fetch) == len(clients))
    async with connected(broker) as first:
        await first.produce(topics(0), batch(b"go"))
    for client in clients:
        assert values(await client.receive(ApiKey.FETCH, 12)) != [0]
        answer = await client.receive(ApiKey.PRODUCE, 9)
        assert answer.responses[0].partition_responses[0].error_code == 0


@pytest.mark.parametrize("hot", [True, False])
def test_a_chain_of_connections_is_answered_whole_at_a_bounded_depth(tmp_path, depths, hot):
    async def main():
        count = 200
        async with serving(tmp_path, hot=hot) as broker:
            for number in range(count + 1):
                broker.create_topic(f"t{number}")
            async with several(broker, count) as clients:
                await all_answer(broker, clients, lambda number: f"t{number}")
            assert len(depths) == count + 1
            assert max(depths) - min(depths) < 40
            assert not broker.purgatories.fetch

    run(main())


@pytest.mark.parametrize("count", [70, 5000])
def test_many_connections_that_wait_for_each_other_all_get_their_answers(tmp_path, depths, count):
    async def main():
        async with serving(tmp_path) as broker:
            broker.create_topic("t")
            async with several(broker, count) as clients:
                await all_answer(broker, clients, lambda number: "t")
            assert max(depths) - min(depths) < 40
            assert broker.replicas.topic("t")[0].log.log_end_offset == count + 1
            await until(lambda: len(broker.network.dispatcher) == 0)

    run(main())


def test_a_chain_on_one_connection_is_answered_whole(tmp_path, depths):
    async def main():
        steps = 300
        async with serving(tmp_path) as broker, connected(broker) as one, connected(broker) as other:
            broker.create_topic("t", 2)
            for number in range(steps):  # each waits for what the other connection answers with
                for client, mine in ((one, 0), (other, 1)):
                    request = fetch_request({"t": {mine: number}}, max_wait_ms=10 * MINUTE)
                    client.send(ApiKey.FETCH, 12, request)
                    client.send(ApiKey.PRODUCE, 9, produce_request({"t": {1 - mine: batch(b"x")}}))
            await until(lambda: len(broker.purgatories.fetch) == 2)
            async with connected(broker) as first:
                await first.produce("t", batch(b"go"))
            for client in (one, other):
                for _ in range(steps):
                    assert values(await client.receive(ApiKey.FETCH, 12)) != [0]
                    answer = await client.receive(ApiKey.PRODUCE, 9)
                    assert answer.responses[0].partition_responses[0].error_code == 0
            assert max(depths) - min(depths) < 40

    run(main())
