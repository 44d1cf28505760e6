"""The outbound connection: negotiation, pipelining, time-outs, large and garbled answers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.fake_broker import FakeBroker, HangUp
from support.loop import until
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError, UsageError
from tidelog.net.node_client import NodeClient
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import RequestHeader, encode_request_parts, encode_response
from tidelog.protocol.messages import (
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    MetadataRequest,
    MetadataResponse,
)


def metadata(header: RequestHeader, request: Any) -> MetadataResponse:
    return MetadataResponse(cluster_id=request.topics[0].name if request.topics else None)


async def connect(broker: FakeBroker, **options: Any) -> NodeClient:
    return await NodeClient.connect("127.0.0.1", broker.port, **options)


def ask(name: str) -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])


def test_uses_the_newest_version_that_both_know() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata, versions={3: (0, 5), 18: (0, 3)}) as broker:
            node = await connect(broker)
            await node.send(MetadataRequest())
            assert broker.seen[-1][0].api_version == 5
            await node.send(MetadataRequest(), highest=2)
            assert broker.seen[-1][0].api_version == 2
            with pytest.raises(KafkaError, match="does not serve ListGroups") as refused:
                await node.send(ListGroupsRequest())
            assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
            await node.close()

    asyncio.run(scenario())


def test_what_cannot_be_written_is_not_blamed_on_the_broker() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker)
            with pytest.raises(UsageError, match=r"wrong type.*MetadataRequest cannot be encoded"):
                await node.send(ask(b"orders"))  # type: ignore[arg-type] # a mistake that users make
            assert (await node.send(ask("orders"))).cluster_id == "orders", "the connection is as good as before"
            await node.close()

    asyncio.run(scenario())


def test_a_gap_between_the_versions_is_named() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata, versions={3: (90, 95), 18: (0, 3)}) as broker:
            node = await connect(broker)
            with pytest.raises(KafkaError, match="serves Metadata 90 to 95"):
                await node.send(MetadataRequest())
            await node.close()

    asyncio.run(scenario())


def test_many_requests_in_flight_get_their_own_answers() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker)
            names = [f"topic-{number}" for number in range(200)]
            answers = await asyncio.gather(*(node.send(ask(name)) for name in names))
            assert [answer.cluster_id for answer in answers] == names
            assert node.in_flight == 0
            await node.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("dedicated", [False, True])
@pytest.mark.parametrize("size", [1, 65_000, 65_530, 70_000, 5_000_000])
def test_large_answers_arrive_whole_and_what_follows_too(size: int, dedicated: bool) -> None:
    def answer(header: RequestHeader, request: Any) -> Any:
        if header.api_key == ApiKey.METADATA:
            return metadata(header, request)
        data = FetchResponse.PartitionData(records=bytes(range(256)) * (size // 256) + bytes(size % 256))
        return FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[data])])

    async def scenario() -> None:
        async with FakeBroker(answer) as broker:
            node = await connect(broker, dedicated=dedicated)
            fetches = [node.send(FetchRequest(), version=11) for _ in range(3)]
            results = await asyncio.gather(*fetches, node.send(ask("after")))
            for fetched in results[:3]:
                records = fetched.responses[0].partitions[0].records
                assert len(records) == size
                assert bytes(records[:256]) == bytes(range(256))[:size] or size < 256
            assert results[3].cluster_id == "after"
            await node.close()

    asyncio.run(scenario())


def test_a_dedicated_connection_that_is_cut_within_a_large_answer_fails_cleanly() -> None:
    def answer(header: RequestHeader, request: Any) -> Any:
        return (1_000_000).to_bytes(4, "big") + header.correlation_id.to_bytes(4, "big") + bytes(200_000)

    async def scenario() -> None:
        async with FakeBroker(answer) as broker:
            node = await connect(broker, dedicated=True)
            with pytest.raises(KafkaError, match="did not answer"):
                await node.send(MetadataRequest(), timeout=0.3)
            await node.close()

    asyncio.run(scenario())


def test_an_unanswered_request_times_out_and_closes_the_connection() -> None:
    async def scenario() -> None:
        async with FakeBroker(lambda header, request: None) as broker:
            node = await connect(broker)
            with pytest.raises(KafkaError, match="did not answer Metadata within") as late:
                await node.send(MetadataRequest(), timeout=0.05)
            assert late.value.code is ErrorCode.REQUEST_TIMED_OUT
            assert not node.is_open
            await node.close()

    asyncio.run(scenario())


async def leave_early(node: NodeClient) -> None:
    """Ask, and go before there is an answer."""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await node.send(MetadataRequest(), timeout=0.1)


def test_a_silent_broker_is_found_out_though_its_callers_have_less_patience() -> None:
    async def scenario() -> None:
        async with FakeBroker(lambda header, request: None) as broker:
            node = await connect(broker)
            await leave_early(node)
            assert node.is_open
            await asyncio.wait_for(node._connection.closed, 60)
            await node.close()

    asyncio.run(scenario())


def test_an_answer_that_nobody_waits_for_any_more_is_an_answer() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker)
            asked = asyncio.create_task(node.send(ask("a"), timeout=0.05))
            await asyncio.sleep(0)
            asked.cancel()
            await node.send(ask("b"))
            await until(lambda: not node._given_up)  # its time is over
            assert node.is_open
            await node.close()

    asyncio.run(scenario())


def test_nothing_is_left_of_a_connection_that_is_closed() -> None:
    async def scenario() -> None:
        async with FakeBroker(lambda header, request: None) as broker:
            node = await connect(broker)
            await leave_early(node)
            await node.close()
            assert not node._given_up

    asyncio.run(scenario())


def test_a_lost_connection_fails_everything_that_is_pending() -> None:
    def answer(header: RequestHeader, request: Any) -> Any:
        if request.topics[0].name == "last":
            raise HangUp
        return None

    async def scenario() -> None:
        async with FakeBroker(answer) as broker:
            node = await connect(broker)
            pending = [asyncio.create_task(node.send(ask(name))) for name in ("a", "b", "last")]
            for outcome in await asyncio.gather(*pending, return_exceptions=True):
                assert isinstance(outcome, KafkaError)
                assert outcome.code is ErrorCode.NETWORK_EXCEPTION
            with pytest.raises(KafkaError, match="closed"):
                await node.send(ask("again"))
            await node.close()

    asyncio.run(scenario())


def test_nobody_listens() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            port = broker.port
        with pytest.raises(KafkaError, match="cannot connect") as refused:
            await NodeClient.connect("127.0.0.1", port)
        assert refused.value.code is ErrorCode.NETWORK_EXCEPTION

    asyncio.run(scenario())


def test_falls_back_when_the_broker_does_not_know_our_api_versions() -> None:
    class OldBroker(FakeBroker):
        def _respond(self, header: RequestHeader, request: Any) -> Any:
            if header.api_key == ApiKey.API_VERSIONS and header.api_version > 1:
                self.seen.append((header, request))
                only = ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=1)
                response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[only])
                return encode_response(18, 0, header.correlation_id, response)
            return super()._respond(header, request)

    async def scenario() -> None:
        async with OldBroker(metadata, versions={3: (0, 1), 18: (0, 1)}) as broker:
            node = await connect(broker)
            assert [header.api_version for header, _ in broker.seen][-1] == 1
            assert node.version_of(ApiKey.METADATA) == 1
            await node.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("garbage", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "is this a Kafka listener"),
        ((2).to_bytes(4, "big") + b"ab", "is this a Kafka listener"),
        (encode_response(16, 0, 999, ListGroupsResponse()), "answered request 999"),
    ],
)
def test_garbage_is_a_clean_error(garbage: bytes, reason: str) -> None:
    async def scenario() -> None:
        async with FakeBroker(lambda header, request: garbage) as broker:
            node = await connect(broker)
            results = await asyncio.gather(node.send(ask("a")), node.send(ask("b")), return_exceptions=True)
            assert all(isinstance(result, (ProtocolError, KafkaError)) for result in results)
            assert any(reason in str(result) for result in results)
            assert not node.is_open
            await node.close()

    asyncio.run(scenario())


# --- posted requests --------------------------------------------------------------------------------------------------


def post(node: NodeClient, name: str) -> asyncio.Future[memoryview]:
    def encode(correlation_id: int, client_id: str | None) -> list[Any]:
        return list(encode_request_parts(ApiKey.METADATA, 5, correlation_id, client_id, ask(name)))

    return node.post(ApiKey.METADATA, encode)


@pytest.mark.parametrize("dedicated", [False, True])
def test_posted_requests_leave_together_and_keep_their_order_among_others(dedicated: bool) -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker, dedicated=dedicated)
            answers = [post(node, name) for name in ("a", "b")]
            assert node.in_flight == 2
            assert len(broker.seen) == 1, "nothing but ApiVersions has left"
            sent = asyncio.ensure_future(node.send(ask("c")))  # takes along what was posted before it
            assert (await sent).cluster_id == "c"
            found = [node.read(ApiKey.METADATA, 5, await answer).cluster_id for answer in answers]
            assert found == ["a", "b"]
            last = post(node, "d")
            node.push()
            assert node.read(ApiKey.METADATA, 5, await last).cluster_id == "d"
            assert [request.topics[0].name for _, request in broker.seen[1:]] == ["a", "b", "c", "d"]
            await node.close()

    asyncio.run(scenario())


def test_a_dedicated_connection_sends_what_no_buffer_holds() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker, dedicated=True, send_buffer=20_000)
            names = [letter * 30_000 for letter in "abcdefgh"]
            answers = [node.send(MetadataRequest(topics=[ask(name).topics[0] for _ in range(20)])) for name in names]  # type: ignore[index] # a list
            assert [response.cluster_id for response in await asyncio.gather(*answers)] == names
            await node.close()

    asyncio.run(scenario())


def test_a_posted_request_that_is_not_answered_times_out_and_closes_the_connection() -> None:
    async def scenario() -> None:
        async with FakeBroker(lambda header, request: None) as broker:
            node = await connect(broker, request_timeout=0.05)
            answers = [post(node, "a"), post(node, "b")]
            node.push()
            for answer, code in zip(answers, (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION), strict=True):
                with pytest.raises(KafkaError) as raised:
                    await answer
                assert raised.value.code is code
            assert not node.is_open
            with pytest.raises(KafkaError, match="closed"):
                post(node, "c")

    asyncio.run(scenario())


def test_each_posted_request_has_its_own_time() -> None:
    async def scenario() -> None:
        silent = False

        def sometimes(header: RequestHeader, request: Any) -> Any:
            return None if silent else metadata(header, request)

        async with FakeBroker(sometimes) as broker:
            node = await connect(broker, request_timeout=0.2)
            first = post(node, "a")
            node.push()
            await first
            silent = True
            second = post(node, "b")
            node.push()
            with pytest.raises(KafkaError, match="did not answer Metadata"):
                await second

    asyncio.run(scenario())


def test_an_answer_to_a_posted_request_that_cannot_be_read_ends_the_connection() -> None:
    async def scenario() -> None:
        async with FakeBroker(metadata) as broker:
            node = await connect(broker)
            answer = post(node, "a")
            node.push()
            frame = await answer
            with pytest.raises(KafkaError, match="cannot be read") as raised:
                node.read(ApiKey.METADATA, 5, frame[:10])
            assert raised.value.code is ErrorCode.NETWORK_EXCEPTION
            assert not node.is_open

    asyncio.run(scenario())
