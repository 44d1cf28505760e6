"""What the keys that all clients share do: who we say we are, how long we wait, when we ask again."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.fake_broker import FakeBroker
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer, parse
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import MetadataRequest, MetadataResponse
from tidelog.testing.clock import ManualClock


def topics(header: object, request: Any) -> MetadataResponse:
    """Every topic that is asked for is there, with one partition."""
    partition = MetadataResponse.MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1])
    return MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="127.0.0.1", port=1)],
        topics=[
            MetadataResponse.MetadataResponseTopic(name=topic.name, partitions=[partition])
            for topic in request.topics or ()
        ],
    )


def run(
    scenario: Callable[[FakeBroker, ClusterClient], Awaitable[None]],
    answer: Callable[[Any, Any], Any] = topics,
    *,
    clock: Any = SYSTEM_CLOCK,
    **keywords: object,
) -> None:
    async def main() -> None:
        async with FakeBroker(answer) as broker:
            config = parse(consumer.KEYS, {"bootstrap.servers": broker.address}, keywords)
            async with ClusterClient(config, clock=clock, rng=seeded_rng(7)) as cluster:
                await scenario(broker, cluster)

    asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize(
    ("keywords", "name"), [({"group_id": "bills"}, r"consumer-bills-\d+"), ({"client_id": "billing-7"}, "billing-7")]
)
def test_client_id_is_told_with_each_request(keywords: dict[str, object], name: str) -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        await cluster.refresh([])
        told = [header.client_id for header, _ in broker.seen]
        assert len(told) == 2
        assert all(re.fullmatch(name, each) for each in told)

    run(scenario, **keywords)


def test_request_timeout_ends_a_request() -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        node = await cluster.any_node()
        with pytest.raises(KafkaError, match=r"did not answer Metadata within 0\.03 s") as late:
            await node.send(MetadataRequest(topics=[]))
        assert late.value.code is ErrorCode.REQUEST_TIMED_OUT

    run(scenario, lambda header, request: None, request_timeout_ms=30)


def test_default_api_timeout_ends_a_call_with_its_retries() -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        tries = 0

        async def fail() -> None:
            nonlocal tries
            tries += 1
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

        with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
            await cluster.retry(fail)
        assert tries > 1
        before, tries = tries, 0
        with pytest.raises(KafkaError):
            await cluster.retry(fail, timeout=0)
        assert (tries, before > 1) == (1, True), "a call's own time-out goes before it"

    run(scenario, default_api_timeout_ms=60, retry_backoff_ms=10)


def test_a_try_that_is_not_answered_ends_with_the_time_of_its_call() -> None:
    """Not with `request.timeout.ms`, which is longer."""

    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        with pytest.raises(KafkaError) as late:
            await cluster.retry(asyncio.Event().wait, timeout=0.02)
        assert late.value.code is ErrorCode.REQUEST_TIMED_OUT

    run(scenario)


def test_what_was_answered_before_is_told_when_the_last_try_comes_too_late() -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        errors = [KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "still loading")]

        async def once_refused_then_silent() -> None:
            if errors:
                raise errors.pop()
            await asyncio.Event().wait()

        with pytest.raises(KafkaError, match="still loading"):
            await cluster.retry(once_refused_then_silent, timeout=0.1)

    run(scenario, retry_backoff_ms=1)


def test_what_cannot_be_mended_is_not_tried_again() -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        tries = 0

        async def fail() -> None:
            nonlocal tries
            tries += 1
            raise KafkaError(ErrorCode.GROUP_AUTHORIZATION_FAILED)

        with pytest.raises(KafkaError, match="GROUP_AUTHORIZATION_FAILED"):
            await cluster.retry(fail)
        assert tries == 1

    run(scenario)


def test_retry_backoff_doubles_up_to_its_largest() -> None:
    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        for attempt, wanted in enumerate((0.2, 0.4, 0.5, 0.5)):
            assert 0.8 * wanted <= cluster.wait_before_retry(attempt) <= 1.2 * wanted

    run(scenario, retry_backoff_ms=200, retry_backoff_max_ms=500)


def test_metadata_is_asked_for_anew_when_it_is_too_old() -> None:
    clock = ManualClock()

    async def scenario(broker: FakeBroker, cluster: ClusterClient) -> None:
        def asked() -> int:
            return sum(header.api_key == ApiKey.METADATA for header, _ in broker.seen)

        await cluster.ensure_topics(["t"])
        await cluster.ensure_topics(["t"])
        assert asked() == 1
        clock.advance(ms=4_999)
        await cluster.ensure_topics(["t"])
        assert asked() == 1
        clock.advance(ms=1)
        await cluster.ensure_topics(["t"])
        assert asked() == 2

    run(scenario, clock=clock, metadata_max_age_ms=5_000)


def test_that_nobody_can_be_reached_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async with ClusterClient({"bootstrap.servers": "127.0.0.1:1", "retry.backoff.ms": "1"}) as cluster:
            for _ in range(3):
                with pytest.raises(KafkaError):
                    await cluster.any_node()

    with caplog.at_level("WARNING", "tidelog.client"):
        asyncio.run(scenario())
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 1
    assert told[0].startswith("no broker can be reached, trying on: ")
    assert "127.0.0.1:1" in told[0]
