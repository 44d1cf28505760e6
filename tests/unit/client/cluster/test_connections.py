"""Connections to brokers: shared, backed off from, closed when idle, sized as configured."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from support.fake_broker import FakeBroker
from support.loop import until
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.cluster.connections import ClientClosedError, Connections
from tidelog.client.config import consumer, parse
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.net import dialing
from tidelog.net.node_client import NodeClient
from tidelog.net.stages import ConnectError, Stage
from tidelog.protocol.messages import MetadataRequest, MetadataResponse

Scenario = Callable[[], Awaitable[None]]


def run(scenario: Scenario) -> None:
    async def bounded() -> None:
        await asyncio.wait_for(scenario(), 60)

    asyncio.run(bounded())


def connections(**keywords: object) -> Connections:
    config = parse(consumer.KEYS, {"bootstrap.servers": "127.0.0.1:1"}, keywords)
    return Connections(config, rng=seeded_rng(1))


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def silence(header: object, request: object) -> None:
    """No answer, ever."""


def at(broker: FakeBroker) -> tuple[str, int]:
    return "127.0.0.1", broker.port


def test_ten_tasks_share_one_connection() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections()
            nodes = await asyncio.gather(*(pool.get(at(broker)) for _ in range(10)))
            assert len(set(nodes)) == broker.connections == 1
            assert await pool.get(at(broker), purpose="group") is not nodes[0]
            assert broker.connections == 2
            await pool.close()

    run(scenario)


def test_the_least_loaded_is_who_has_the_fewest_in_flight() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as first, FakeBroker(silence) as second:
            pool = connections()
            assert pool.least_loaded() is None
            busy, idle = await pool.get(at(first)), await pool.get(at(second))
            apart = await pool.get(at(first), purpose="group")
            asking = [asyncio.create_task(busy.send(MetadataRequest(topics=[]))) for _ in range(2)]
            await asyncio.sleep(0)
            assert {pool.least_loaded() for _ in range(20)} == {idle}
            asking += [asyncio.create_task(idle.send(MetadataRequest(topics=[]))) for _ in range(3)]
            await asyncio.sleep(0)
            assert {pool.least_loaded() for _ in range(20)} == {busy}, "one with a purpose is not asked, however idle"
            assert apart.in_flight == 0
            await pool.close()
            assert all(isinstance(e, KafkaError) for e in await asyncio.gather(*asking, return_exceptions=True))

    run(scenario)


def test_equally_loaded_ones_take_turns() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as first, FakeBroker(silence) as second:
            pool = connections()
            both = {await pool.get(at(first)), await pool.get(at(second))}
            assert {pool.least_loaded() for _ in range(50)} == both
            await pool.close()

    run(scenario)


def test_who_refused_is_left_in_peace_and_longer_each_time() -> None:
    async def scenario() -> None:
        pool = connections(reconnect_backoff_ms=50_000, reconnect_backoff_max_ms=150_000)
        address = ("127.0.0.1", free_port())
        for wanted in (50, 100, 150, 150):
            with pytest.raises(ConnectError):
                await pool._connect(address)  # which does not wait
            assert 0.7 * wanted < pool.wait_of(address) <= 1.2 * wanted

    run(scenario)


def test_whoever_wants_a_broker_in_its_back_off_waits() -> None:
    async def scenario() -> None:
        pool = connections(reconnect_backoff_ms=60_000)
        address = ("127.0.0.1", free_port())
        with pytest.raises(ConnectError):
            await pool.get(address)
        assert 40 < pool.wait_of(address) <= 72
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await pool.get(address)
        assert pool.wait_of(("elsewhere", 1)) == 0
        await pool.close()

    run(scenario)


def test_success_ends_the_back_off() -> None:
    async def scenario() -> None:
        port = free_port()
        pool = connections(reconnect_backoff_ms=1)
        with pytest.raises(ConnectError):
            await pool.get(("127.0.0.1", port))
        server = FakeBroker(silence)
        server._server = await asyncio.start_server(server._serve, "127.0.0.1", port)
        await pool.get(("127.0.0.1", port))
        assert pool._failures == {}
        await pool.close()
        await server.__aexit__(None, None, None)

    run(scenario)


def test_the_time_to_connect_grows_with_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    async def connect(*address: object, connect_timeout: float, **options: Any) -> NodeClient:
        given.append(connect_timeout)
        raise KafkaError(ErrorCode.NETWORK_EXCEPTION)

    monkeypatch.setattr(NodeClient, "connect", connect)

    async def scenario() -> None:
        pool = connections(
            socket_connection_setup_timeout_ms=1000, socket_connection_setup_timeout_max_ms=3000, reconnect_backoff_ms=0
        )
        for _ in range(3):
            with pytest.raises(KafkaError):
                await pool.get(("127.0.0.1", 1))

    run(scenario)
    assert all(0.8 * wanted <= seconds <= 1.2 * wanted for seconds, wanted in zip(given, (1, 2, 3), strict=True))


def test_an_idle_connection_is_closed_and_made_anew() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections(connections_max_idle_ms=20)
            idle = await pool.get(at(broker))
            await idle._connection.closed
            again = await pool.get(at(broker))
            assert again is not idle
            assert broker.connections == 2
            await pool.close()
            assert pool._look is None

    run(scenario)


def test_a_connection_that_waits_for_an_answer_is_not_idle() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker, FakeBroker(silence) as other:
            pool = connections(connections_max_idle_ms=20)
            waiting = await pool.get(at(broker))
            asking = asyncio.create_task(waiting.send(MetadataRequest(topics=[])))
            for _ in range(2):  # the second begins when the request is as old as what is idle by then
                idle = await pool.get(at(other))
                await idle._connection.closed  # the same look has passed over the first one
            assert waiting.is_open
            await pool.close()
            with pytest.raises(KafkaError):
                await asking

    run(scenario)


def test_minus_one_never_closes() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections(connections_max_idle_ms=-1)
            await pool.get(at(broker))
            assert pool._look is None
            await pool.close()

    run(scenario)


@pytest.mark.skipif(sys.platform != "linux", reason="what is read back is the kernel's affair elsewhere")
def test_socket_buffers_have_the_configured_size() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections(send_buffer_bytes=50_000, receive_buffer_bytes=40_000)
            assert (await pool.get(at(broker))).buffer_sizes == (100_000, 80_000)  # Linux doubles
            await pool.close()
            systems = connections(send_buffer_bytes=-1, receive_buffer_bytes=-1)
            sizes = (await systems.get(at(broker))).buffer_sizes
            assert sizes != (100_000, 80_000)
            await systems.close()
            unset = connections()  # Kafka's defaults are listed, and hold only for whoever sets them
            assert (await unset.get(at(broker))).buffer_sizes == sizes
            await unset.close()

    run(scenario)


def test_a_closed_client_connects_no_more() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections()
            await pool.close()
            with pytest.raises(KafkaError, match="the client is closed") as refused:
                await pool.get(at(broker))
            assert not refused.value.retriable
            assert broker.connections == 0

    run(scenario)


def test_closing_ends_whoever_is_connecting() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as hanging:
            servers = f"127.0.0.1:{hanging.getsockname()[1]}"
            cluster = ClusterClient({"bootstrap.servers": servers})
            asking = asyncio.create_task(cluster.retry(cluster.all_topics))
            await until(lambda: cluster._connections._dialing)
            await cluster.close()
            with pytest.raises(ClientClosedError):
                await asking
            assert not cluster._connections._dialing

    run(scenario)


def test_who_is_cancelled_while_the_client_closes_stays_cancelled() -> None:
    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as hanging:
            pool = connections()
            asking = asyncio.create_task(pool.get(("127.0.0.1", hanging.getsockname()[1])))
            await until(lambda: pool._dialing)
            asking.cancel()
            await pool.close()
            with pytest.raises(asyncio.CancelledError):
                await asking

    run(scenario)


def test_every_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            dead = (socket.AF_INET, ("127.0.0.1", free_port()))

            async def addresses(host: str, port: int) -> list[Any]:
                return [dead, (socket.AF_INET, ("127.0.0.1", broker.port))]

            monkeypatch.setattr(dialing, "addresses_of", addresses)
            pool = connections()
            assert (await pool.get(("cluster.example", broker.port))).peer == f"cluster.example:{broker.port}"
            await pool.close()

    run(scenario)


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".example", "a\0b"])
def test_what_cannot_be_a_name_is_told_as_a_name_that_nobody_knows(host: str) -> None:
    async def scenario() -> None:
        with pytest.raises(ConnectError) as failed:
            await connections().get((host, 9092))
        assert failed.value.stage is Stage.DNS

    run(scenario)


def test_an_end_that_is_broken_off_closes_all_the_same() -> None:
    async def scenario() -> None:
        async with FakeBroker(silence) as broker:
            pool = connections()
            nodes = [await pool.get(at(broker), purpose=purpose) for purpose in ("", "group", "other")]
            closing = asyncio.create_task(pool.close())
            await asyncio.sleep(0)
            closing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await closing
            assert not any(node.is_open for node in nodes)
            for node in nodes:
                await node.close()

    run(scenario)


# --- whom a cluster client asks ---------------------------------------------------------------------------------------


def naming(*addresses: tuple[str, int], error: int = 0) -> Callable[[Any, Any], MetadataResponse]:
    """A broker that answers Metadata with these brokers, numbered from 1."""

    def answer(header: object, request: object) -> MetadataResponse:
        brokers = [
            MetadataResponse.MetadataResponseBroker(node_id=number, host=host, port=port)
            for number, (host, port) in enumerate(addresses, 1)
        ]
        return MetadataResponse(brokers=brokers, controller_id=1, error_code=error)

    return answer


def test_a_dead_bootstrap_server_is_passed_over() -> None:
    async def scenario() -> None:
        async with FakeBroker(naming()) as broker:
            servers = f"127.0.0.1:{free_port()},{broker.address}"
            async with ClusterClient({"bootstrap.servers": servers}) as cluster:
                assert (await cluster.any_node()).peer == broker.address

    run(scenario)


def test_a_bootstrap_server_that_was_waited_for_in_vain_comes_last() -> None:
    """It accepts, and says nothing: callers with little patience would never hear of the next one."""

    async def scenario() -> None:
        with socket.create_server(("127.0.0.1", 0)) as hanging:
            async with FakeBroker(naming()) as broker:
                servers = f"127.0.0.1:{hanging.getsockname()[1]},{broker.address}"
                async with ClusterClient({"bootstrap.servers": servers}) as cluster:
                    with pytest.raises(TimeoutError):
                        async with asyncio.timeout(0.1):
                            await cluster.any_node()
                    assert (await cluster.any_node()).peer == broker.address

    run(scenario)


def test_nobody_there_names_everybody() -> None:
    async def scenario() -> None:
        ports = free_port(), free_port()
        servers = ",".join(f"127.0.0.1:{port}" for port in ports)
        async with ClusterClient({"bootstrap.servers": servers}) as cluster:
            with pytest.raises(KafkaError, match="no broker can be reached") as lost:
                await cluster.any_node()
        assert all(f"127.0.0.1:{port} (TCP): Connection refused" in str(lost.value) for port in ports)
        assert lost.value.retriable

    run(scenario)


def test_an_advertised_address_that_cannot_be_reached_is_named() -> None:
    async def scenario() -> None:
        dead = ("127.0.0.1", free_port())
        async with (
            FakeBroker(naming(dead)) as broker,
            ClusterClient({"bootstrap.servers": broker.address}) as cluster,
        ):
            await cluster.refresh([])
            with pytest.raises(ConnectError, match=r"set its advertised\.listeners") as lost:
                await cluster.node(1)
            assert lost.value.stage is Stage.ADVERTISED_LISTENER
            assert lost.value.peer == f"127.0.0.1:{dead[1]}"

    run(scenario)


def test_a_broker_that_is_gone_is_not_blamed_for_its_address() -> None:
    async def scenario() -> None:
        async with FakeBroker(naming()) as broker:
            address = at(broker)
        async with ClusterClient({"bootstrap.servers": broker_text(address)}) as cluster:
            cluster.metadata.update(naming(address)(None, None), 0)
            with pytest.raises(ConnectError) as lost:
                await cluster.node(1)
            assert lost.value.stage is Stage.TCP

    run(scenario)


def broker_text(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"


@pytest.mark.parametrize(("strategy", "found"), [("rebootstrap", True), ("none", False)])
def test_when_all_known_brokers_are_gone(strategy: str, found: bool) -> None:
    async def scenario() -> None:
        async with FakeBroker(naming()) as broker:
            settings = {"bootstrap.servers": broker.address, "metadata.recovery.strategy": strategy}
            async with ClusterClient(settings) as cluster:
                cluster.metadata.update(naming(("127.0.0.1", free_port()))(None, None), 0)
                if found:
                    assert (await cluster.any_node()).peer == broker.address
                else:
                    with pytest.raises(ConnectError):
                        await cluster.any_node()

    run(scenario)


@pytest.mark.parametrize(
    ("settings", "error"),
    [({}, ErrorCode.REBOOTSTRAP_REQUIRED), ({"metadata.recovery.rebootstrap.trigger.ms": "0"}, 7)],
)
def test_beginning_anew(settings: dict[str, str], error: int) -> None:
    async def scenario() -> None:
        replies = iter([naming(("127.0.0.1", 1), error=int(error)), naming()])
        async with (
            FakeBroker(lambda header, request: next(replies)(header, request)) as broker,
            ClusterClient({"bootstrap.servers": broker.address, **settings}) as cluster,
        ):
            cluster.metadata.update(naming(at(broker))(None, None), 0)
            with pytest.raises(KafkaError):
                await cluster.refresh([])
            assert (cluster.metadata.nodes, cluster.is_connected) == ({}, False)
            await cluster.refresh([])
            assert broker.connections == 2

    run(scenario)


def test_a_connection_that_comes_about_as_its_caller_goes_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Made:
        aborted = False

        def abort(self) -> None:
            self.aborted = True

    made = Made()

    async def scenario() -> None:
        async def connect(*address: object, **options: object) -> Made:
            asyncio.get_running_loop().call_soon(asking.cancel)  # before whoever waits for us is told
            return made

        monkeypatch.setattr(NodeClient, "connect", connect)
        asking = asyncio.create_task(connections().get(("127.0.0.1", 1)))
        with pytest.raises(asyncio.CancelledError):
            await asking

    run(scenario)
    assert made.aborted
