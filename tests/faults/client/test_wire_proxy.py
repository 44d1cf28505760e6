"""The proxy itself: it sees every request, leads everybody through itself, and spoils exactly what it was told to."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.blocking_wire import BlockingWire
from support.confluent import consume, produce
from support.loop import async_test
from support.wire_proxy import EVERYWHERE, GARBLES, At, WireProxy, cut, delay, garble, hole, refuse, split
from tidelog.common.errors import ErrorCode, ProtocolError, TidelogError
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

EVERYTHING = m.MetadataRequest(topics=None)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def proxy(broker: Broker) -> Iterator[WireProxy]:
    with WireProxy(broker.address) as proxy:
        yield proxy


def topics(wire: BlockingWire) -> set[str]:
    return {topic.name for topic in wire.ask(ApiKey.METADATA, 9, EVERYTHING).topics}


def create(wire: BlockingWire, name: str) -> int:
    new = m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = m.CreateTopicsRequest(topics=[new], timeout_ms=60_000)
    return int(wire.ask(ApiKey.CREATE_TOPICS, 5, request).topics[0].error_code)


def test_a_foreign_client_never_gets_around_it(broker: Broker, proxy: WireProxy) -> None:
    values = [b"%d" % number for number in range(100)]
    broker.create_topic("around")
    produce(proxy.address, "around", values)
    assert consume(proxy.address, "around", 100, "group") == values
    for api in (ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.JOIN_GROUP, ApiKey.OFFSET_COMMIT):
        assert proxy.seen[api], api


@pytest.mark.parametrize("api", [ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER])
def test_addresses_in_answers_are_the_proxys(proxy: WireProxy, api: ApiKey) -> None:
    port = int(proxy.address.rpartition(":")[2])
    with BlockingWire(proxy.address) as wire:
        if api is ApiKey.METADATA:
            found = [node.port for node in wire.ask(api, 9, EVERYTHING).brokers]
        elif api is ApiKey.FIND_COORDINATOR:
            asked = m.FindCoordinatorRequest(key_type=0, coordinator_keys=["group"])
            found = [node.port for node in wire.ask(api, 4, asked).coordinators]
        else:
            found = [node.port for node in wire.ask(api, 0, m.DescribeClusterRequest()).brokers]
    assert found == [port]


@pytest.mark.parametrize("at", EVERYWHERE)
def test_a_cut_happens_where_it_is_asked_for(broker: Broker, proxy: WireProxy, at: At) -> None:
    name = f"cut-{at.name.lower()}"
    rule = proxy.on(ApiKey.CREATE_TOPICS, cut(), at=at, nth=2)
    with BlockingWire(proxy.address) as wire:
        assert create(wire, f"{name}-before") == 0
        with pytest.raises((ConnectionError, ProtocolError)):
            create(wire, name)
    assert rule.fired == 1
    with BlockingWire(proxy.address) as wire:
        assert (name in topics(wire)) == (at in (At.ANSWER, At.MID_ANSWER))
        assert create(wire, f"{name}-after") == 0
    assert proxy.seen[ApiKey.CREATE_TOPICS] == 3


@pytest.mark.parametrize("at", EVERYWHERE)
@pytest.mark.parametrize("act", [delay(0.01), split(16, 7)], ids=["delay", "split"])
def test_what_comes_late_or_in_pieces_comes_whole(proxy: WireProxy, act: object, at: At) -> None:
    proxy.on(ApiKey.METADATA, act, at=at)  # type: ignore[arg-type]  # an act
    with BlockingWire(proxy.address) as wire:
        once = wire.ask(ApiKey.METADATA, 9, EVERYTHING)
        assert once == wire.ask(ApiKey.METADATA, 9, EVERYTHING)


@pytest.mark.parametrize("kind", GARBLES)
@async_test
async def test_what_is_garbled_is_no_answer(proxy: WireProxy, kind: str) -> None:
    """And our connection takes none of it for one: it fails with an error of ours, at once."""
    host, _, port = proxy.address.rpartition(":")
    node = await NodeClient.connect(host, int(port))
    proxy.on(ApiKey.METADATA, garble(kind), at=At.ANSWER)
    with pytest.raises(TidelogError):
        await node.send(EVERYTHING)
    await node.close()


def test_nothing_leaves_a_hole(proxy: WireProxy) -> None:
    proxy.on(ApiKey.METADATA, hole(), at=At.ANSWER)
    with BlockingWire(proxy.address, timeout=0.2) as wire:
        for _ in range(2):
            with pytest.raises(OSError, match="timed out"):
                wire.ask(ApiKey.METADATA, 9, EVERYTHING)
        assert proxy.connections == 1
        proxy.heal()
    with BlockingWire(proxy.address) as wire:
        wire.ask(ApiKey.METADATA, 9, EVERYTHING)


@pytest.mark.parametrize("at", [At.REQUEST, At.ANSWER])
def test_a_refusal_of_what_was_done_or_not(proxy: WireProxy, at: At) -> None:
    name = f"refused-{at.name.lower()}"
    proxy.on(ApiKey.CREATE_TOPICS, refuse(ErrorCode.NOT_CONTROLLER), at=at)
    with BlockingWire(proxy.address) as wire:
        assert create(wire, name) == ErrorCode.NOT_CONTROLLER
        assert (name in topics(wire)) == (at is At.ANSWER)


def test_down_and_up(proxy: WireProxy) -> None:
    address = proxy.address
    with BlockingWire(address) as wire:
        proxy.down()
        with pytest.raises(ConnectionError):
            wire.ask(ApiKey.METADATA, 9, EVERYTHING)
    with pytest.raises(ConnectionRefusedError):
        BlockingWire(address)
    proxy.up()
    with BlockingWire(address) as wire:
        wire.ask(ApiKey.METADATA, 9, EVERYTHING)
