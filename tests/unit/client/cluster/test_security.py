"""What the SASL settings of a client turn into, and that a proof is renewed before it ends."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from support.fake_broker import FakeBroker
from tidelog.client.cluster.security import authenticator
from tidelog.client.config import admin, parse
from tidelog.client.values import Token
from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.net.node_client import NodeClient
from tidelog.net.sasl.oauth_bearer import OAuthBearerServer
from tidelog.net.sasl.plain import PlainServer
from tidelog.net.sasl.scram import ScramServer, make_credential
from tidelog.net.stages import ConnectError, Stage
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    MetadataRequest,
    MetadataResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="se\\"cret";'
SASL = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT"}
NAMED = {"sasl.username": "alice", "sasl.password": 'se"cret'}


class SaslBroker(FakeBroker):
    """Believes what its side of the exchange believes, for `lifetime_ms`."""

    def __init__(self, judge: Callable[[], Any], lifetime_ms: int = 0) -> None:
        super().__init__(self._reply)
        self.judge, self.lifetime_ms, self.judges = judge, lifetime_ms, [judge()]

    @property
    def believed(self) -> list[str | None]:
        return [judge.username for judge in self.judges]

    def _reply(self, header: Any, request: Any) -> Any:
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            if self.judges[-1].username is not None:
                self.judges.append(self.judge())
            return SaslHandshakeResponse(mechanisms=[request.mechanism])
        if header.api_key == ApiKey.SASL_AUTHENTICATE:
            try:
                answer = self.judges[-1].answer(request.auth_bytes)
            except KafkaError as error:
                return SaslAuthenticateResponse(error_code=int(error.code), error_message=error.message)
            return SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=self.lifetime_ms)
        return MetadataResponse()


async def connected(broker: FakeBroker, settings: dict[str, Any]) -> NodeClient:
    prove = authenticator(parse(admin.KEYS, SASL | settings))
    return await NodeClient.connect("127.0.0.1", broker.port, authenticate=prove)


def prove_to(judge: Callable[[], Any], settings: dict[str, Any]) -> list[str | None]:
    """Whom a broker with this side of the exchange believes us to be, on two connections."""

    async def main() -> list[str | None]:
        async with SaslBroker(judge) as broker:
            for _ in range(2):
                await (await connected(broker, settings)).close()
            return broker.believed

    return asyncio.run(asyncio.wait_for(main(), 60))


@pytest.mark.parametrize("credentials", [NAMED, {"sasl.jaas.config": JAAS}], ids=["settings", "jaas"])
def test_plain(credentials: dict[str, Any]) -> None:
    def judge() -> PlainServer:
        return PlainServer(lambda *given: given == ("alice", 'se"cret'))

    assert prove_to(judge, {"sasl.mechanism": "PLAIN", **credentials}) == ["alice", "alice"]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("by_token", [False, True])
def test_scram(mechanism: str, by_token: bool) -> None:
    credential = make_credential(mechanism, 'se"cret', b"salt")

    def judge() -> ScramServer:
        return ScramServer(mechanism, lambda name, token: credential if (name, token) == ("alice", by_token) else None)

    jaas = {"sasl.jaas.config": JAAS.replace(";", ' tokenauth="true";')} if by_token else NAMED
    assert prove_to(judge, {"sasl.mechanism": mechanism, **jaas}) == ["alice", "alice"]


async def later() -> Token:
    return Token("good", {"realm": "r"})


@pytest.mark.parametrize("callback", [lambda: "good", lambda: Token("good"), later, lambda: later()])
def test_oauthbearer_asks_for_a_token_on_each_connection(callback: Callable[[], Any]) -> None:
    def judge() -> OAuthBearerServer:
        return OAuthBearerServer(lambda token, extensions: {"good": "alice"}[token])

    settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": callback}
    assert prove_to(judge, settings) == ["alice", "alice"]


def test_a_callback_that_fails_is_why() -> None:
    def broken() -> str:
        raise OSError("the token server is down")

    settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": broken}
    with pytest.raises(ConnectError, match="the token callback raised OSError: the token server is down") as failed:
        prove_to(lambda: OAuthBearerServer(lambda token, extensions: token), settings)
    assert failed.value.stage is Stage.SASL


def test_a_callback_that_returns_something_else() -> None:
    settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": lambda: 7}
    with pytest.raises(ConnectError, match="returned int, neither text nor a Token"):
        prove_to(lambda: OAuthBearerServer(lambda token, extensions: token), settings)


@pytest.mark.parametrize("token", ["", "two words", Token("good", {"auth": "mine"})])
def test_a_callback_that_returns_what_cannot_be_sent(token: str | Token) -> None:
    """A background task meets it as well, and has to be told in the way that it knows."""
    settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": lambda: token}
    with pytest.raises(ConnectError, match="the token callback returned what cannot be sent") as failed:
        prove_to(lambda: OAuthBearerServer(lambda token, extensions: token), settings)
    assert not failed.value.retriable


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_a_callback_that_never_returns_is_given_up_and_holds_up_nobody(kind: str) -> None:
    end = threading.Event()

    async def hang() -> str:
        await asyncio.Event().wait()
        return "never"

    async def main() -> None:
        callback = end.wait if kind == "plain" else hang
        settings = {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": callback}
        settings |= {"request.timeout.ms": 50}
        async with SaslBroker(lambda: OAuthBearerServer(lambda token, extensions: token)) as broker:
            for _ in range(50):  # more than the loop has threads for
                with pytest.raises(ConnectError, match=r"the token callback has not returned within 0\.05 s"):
                    await connected(broker, settings)
            assert await asyncio.to_thread(lambda: "there is a thread") == "there is a thread"

    try:
        asyncio.run(asyncio.wait_for(main(), 60))
        assert all(thread.daemon for thread in threading.enumerate() if thread.name == "tidelog-token")
    finally:
        end.set()


def test_a_token_is_not_shown() -> None:
    assert repr(Token("secret", {"realm": "r"})) == "Token(hidden, {'realm': 'r'})"
    assert "secret" not in f"{Token('secret')}"


def test_without_sasl_nothing_is_proved() -> None:
    assert authenticator(parse(admin.KEYS, {"bootstrap.servers": "127.0.0.1:1"})) is None


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({}, "sasl.mechanism=GSSAPI is not supported: use one of PLAIN, SCRAM"),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "alice"}, "sasl.username and sasl.password"),
        ({"sasl.mechanism": "PLAIN", "sasl.username": "al\0ice", "sasl.password": "p"}, "neither may contain one"),
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "sasl.username and sasl.password"),
        ({"sasl.mechanism": "OAUTHBEARER"}, r"OAUTHBEARER needs sasl\.login\.callback\.handler\.class"),
        (
            {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": "org.example.Handler"},
            "a function, plain or async",
        ),
    ],
)
def test_settings_that_cannot_work_say_so(settings: dict[str, str], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        authenticator(parse(admin.KEYS, SASL | settings))


# --- renewal (KIP-368) ------------------------------------------------------------------------------------------------


def plain_judge() -> PlainServer:
    return PlainServer(lambda *given: True)


def test_a_proof_is_renewed_on_the_same_connection_before_other_requests() -> None:
    async def main() -> None:
        async with SaslBroker(plain_judge, lifetime_ms=60_000) as broker:
            node = await connected(broker, {"sasl.mechanism": "PLAIN", **NAMED})
            await node.send(MetadataRequest(topics=[]))
            assert len(broker.judges) == 1, "it still holds"
            node._renew_at = 0.0  # as if most of the minute had passed
            await asyncio.gather(*(node.send(MetadataRequest(topics=[])) for _ in range(3)))
            assert broker.believed == ["alice", "alice"]
            asked = [header.api_key for header, _ in broker.seen][-5:]
            assert asked == [ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, *[ApiKey.METADATA] * 3]
            assert broker.connections == 1
            await node.close()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_proof_that_holds_for_ever_at_last_is_not_renewed_again() -> None:
    async def main() -> None:
        async with SaslBroker(plain_judge, lifetime_ms=60_000) as broker:
            node = await connected(broker, {"sasl.mechanism": "PLAIN", **NAMED})
            broker.lifetime_ms = 0
            node._renew_at = 0.0
            for _ in range(3):
                await node.send(MetadataRequest(topics=[]))
            assert len(broker.judges) == 2
            assert not node.must_renew
            await node.close()

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_renewal_that_fails_ends_the_connection_for_all() -> None:
    async def main() -> None:
        async with SaslBroker(plain_judge, lifetime_ms=60_000) as broker:
            node = await connected(broker, {"sasl.mechanism": "PLAIN", **NAMED})
            broker.judge = lambda: PlainServer(lambda *given: False)
            node._renew_at = 0.0
            sends = [node.send(MetadataRequest(topics=[])) for _ in range(3)]
            errors = await asyncio.gather(*sends, return_exceptions=True)
            assert [getattr(error, "code", None) for error in errors] == [ErrorCode.SASL_AUTHENTICATION_FAILED] * 3
            assert not node.is_open
            await node.close()

    asyncio.run(asyncio.wait_for(main(), 60))
