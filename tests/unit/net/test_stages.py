"""Connecting that fails, at each stage, on real sockets: the error names the stage and says what to do."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import uvloop

from support.certificates import Certificates
from support.fake_broker import FakeBroker, HangUp
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.node_client import NodeClient
from tidelog.net.sasl.authenticate import authenticate
from tidelog.net.sasl.plain import PlainClient
from tidelog.net.stages import ConnectError, Stage, advertised_failed, tcp_failed, tls_failed
from tidelog.protocol.messages import MetadataRequest, SaslAuthenticateResponse, SaslHandshakeResponse

LOOPS = pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
Peer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def broker_pem(pki: Certificates) -> Path:
    return pki.issue("broker", "127.0.0.1")


def run(main: Callable[[], Awaitable[Any]], new_loop: Callable[[], Any] = asyncio.new_event_loop) -> Any:
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(asyncio.wait_for(main(), 60))  # type: ignore[arg-type]  # an awaitable of any kind


def failure(
    new_loop: Callable[[], Any], peer: Peer, *, server_tls: ssl.SSLContext | None = None, **options: Any
) -> ConnectError:
    """How connecting to a server that behaves like that fails."""

    async def main() -> ConnectError:
        server = await asyncio.start_server(peer, "127.0.0.1", 0, ssl=server_tls)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectError) as failed:
            await NodeClient.connect("127.0.0.1", port, **options)
        server.close()
        await server.wait_closed()
        return failed.value

    return run(main, new_loop)  # type: ignore[no-any-return]  # what main returns


async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(1)
    writer.close()


def answers(data: bytes) -> Peer:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(data)
        await reader.read()
        writer.close()

    return answer


@LOOPS
def test_a_name_that_nobody_knows(new_loop: Callable[[], Any]) -> None:
    async def main() -> None:
        with pytest.raises(ConnectError, match=r"cannot connect to nobody\.invalid:9092 \(DNS\)") as failed:
            await NodeClient.connect("nobody.invalid", 9092)
        assert failed.value.stage is Stage.DNS
        assert "Does this machine know the name nobody.invalid?" in failed.value.advice
        assert failed.value.retriable

    run(main, new_loop)


@LOOPS
def test_a_port_where_nobody_listens(new_loop: Callable[[], Any]) -> None:
    async def main() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with pytest.raises(ConnectError, match=r"\(TCP\): Connection refused\. Is a broker running at") as failed:
            await NodeClient.connect("127.0.0.1", port)
        assert (failed.value.code, failed.value.stage) == (ErrorCode.NETWORK_EXCEPTION, Stage.TCP)

    run(main, new_loop)


def test_a_machine_that_does_not_answer() -> None:
    error = tcp_failed("10.0.0.1:9092", TimeoutError())
    assert str(error).endswith("(TCP): timed out. Nothing answers at 10.0.0.1:9092: is there a firewall, or is it an "
                               "address of another network?")  # fmt: skip


@LOOPS
def test_a_certificate_that_nobody_vouches_for(
    new_loop: Callable[[], Any], pki: Certificates, broker_pem: Path
) -> None:
    server, client = pki.server_context(broker_pem), ssl.create_default_context()
    error = failure(new_loop, hang_up, server_tls=server, tls=client)
    assert error.stage is Stage.TLS
    assert "ssl.truststore.location" in error.advice
    assert not error.retriable


@pytest.mark.parametrize("why", ["certificate has expired", "certificate is not yet valid"])
def test_a_certificate_out_of_its_time(why: str) -> None:
    """An authority that is trusted has signed it: that setting is not what to look at."""
    wrong = ssl.SSLCertVerificationError(1, why)
    wrong.verify_message = why
    error = tls_failed("broker:9093", wrong)
    assert str(error).endswith(f"(TLS): {why}. The broker needs a new certificate; or is this machine's clock wrong?")


@LOOPS
def test_a_certificate_for_another_name(new_loop: Callable[[], Any], pki: Certificates) -> None:
    server = pki.server_context(pki.issue("elsewhere", "elsewhere.example"))
    client = ssl.create_default_context(cafile=str(pki.authority))
    error = failure(new_loop, hang_up, server_tls=server, tls=client)
    assert (error.stage, error.retriable) == (Stage.TLS, False)
    assert "ssl.endpoint.identification.algorithm" in error.advice
    assert ".." not in str(error)


@LOOPS
def test_a_broker_that_wants_our_certificate(new_loop: Callable[[], Any], pki: Certificates, broker_pem: Path) -> None:
    server = pki.server_context(broker_pem, clients=True)
    client = ssl.create_default_context(cafile=str(pki.authority))
    error = failure(new_loop, hang_up, server_tls=server, tls=client)
    assert error.stage in (Stage.TLS, Stage.API_VERSIONS)  # TLS 1.3: only what follows the handshake shows it
    assert "ssl.keystore.location" in error.advice


@LOOPS
def test_tls_where_there_is_none(new_loop: Callable[[], Any]) -> None:
    error = failure(new_loop, hang_up, tls=ssl.create_default_context())
    assert error.stage is Stage.TLS
    assert "timed out" not in error.reason
    assert "Is this a listener with TLS?" in error.advice


@LOOPS
def test_plain_text_where_there_is_tls(new_loop: Callable[[], Any]) -> None:
    alert = bytes.fromhex("15030300020250")  # what a TLS server says to a request of Kafka's
    error = failure(new_loop, answers(alert))
    assert error.stage is Stage.API_VERSIONS
    assert error.reason.endswith("answered in TLS")
    assert error.advice == "Set security.protocol to SSL or SASL_SSL."
    assert not error.retriable


@LOOPS
@pytest.mark.parametrize("peer", [hang_up, answers(b"HTTP/1.1 400 Bad Request\r\n\r\n")], ids=["hangs up", "http"])
def test_somebody_who_is_no_broker(new_loop: Callable[[], Any], peer: Peer) -> None:
    error = failure(new_loop, peer)
    assert (error.stage, error.code) == (Stage.API_VERSIONS, ErrorCode.NETWORK_EXCEPTION)
    assert "Is this a listener of a Kafka broker" in error.advice


def test_somebody_who_does_not_answer() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    error = failure(asyncio.new_event_loop, silent, request_timeout=0.05)
    assert (error.stage, error.code) == (Stage.API_VERSIONS, ErrorCode.REQUEST_TIMED_OUT)
    assert error.retriable


def sasl_failure(handshake: SaslHandshakeResponse, proof: SaslAuthenticateResponse | None = None) -> ConnectError:
    async def main() -> ConnectError:
        responses = iter((handshake, proof))
        async with FakeBroker(lambda header, request: next(responses)) as broker:
            with pytest.raises(ConnectError) as failed:
                await NodeClient.connect(
                    "127.0.0.1", broker.port, authenticate=lambda node: authenticate(node, PlainClient("a", "b"))
                )
        return failed.value

    return run(main)  # type: ignore[no-any-return]  # what main returns


def test_a_wrong_password() -> None:
    proof = SaslAuthenticateResponse(error_code=58, error_message="Invalid username or password")
    error = sasl_failure(SaslHandshakeResponse(mechanisms=["PLAIN"]), proof)
    assert (error.stage, error.code) == (Stage.SASL, ErrorCode.SASL_AUTHENTICATION_FAILED)
    assert "(SASL): Invalid username or password. Check user and password" in str(error)
    assert not error.retriable


def test_a_mechanism_that_is_not_offered() -> None:
    error = sasl_failure(SaslHandshakeResponse(error_code=33, mechanisms=["SCRAM-SHA-512"]))
    assert error.stage is Stage.SASL
    assert error.reason.endswith("does not offer PLAIN but: SCRAM-SHA-512")
    assert "Set sasl.mechanism to one that the broker offers" in error.advice


def test_a_listener_that_wants_no_sasl() -> None:
    error = sasl_failure(SaslHandshakeResponse(error_code=int(ErrorCode.ILLEGAL_SASL_STATE)))
    assert "set security.protocol to PLAINTEXT or SSL" in error.advice
    assert not error.retriable


def test_a_listener_that_wants_sasl_hangs_up_on_the_first_request() -> None:
    def answer(header: object, request: object) -> object:
        raise HangUp

    async def main() -> None:
        async with FakeBroker(answer) as broker:
            node = await NodeClient.connect("127.0.0.1", broker.port)
            with pytest.raises(KafkaError, match=r"does this listener want SASL \(security\.protocol\)\?"):
                await node.send(MetadataRequest(topics=[]))
            await node.close()

    run(main)


def test_an_address_that_only_the_broker_can_reach() -> None:
    inner = tcp_failed("broker.internal:9092", ConnectionRefusedError(111, "Connection refused"))
    error = advertised_failed(7, inner)
    assert error.stage is Stage.ADVERTISED_LISTENER
    assert "(advertised listener): TCP: Connection refused" in str(error)
    assert "where broker 7 tells clients to come: set its advertised.listeners" in error.advice
    assert error.retriable
