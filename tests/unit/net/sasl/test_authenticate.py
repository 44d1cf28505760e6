"""The requests that carry an exchange, in their order; and what ends it."""

from __future__ import annotations

import asyncio

import pytest

from support.fake_broker import FakeBroker
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.node_client import NodeClient
from tidelog.net.sasl.authenticate import authenticate
from tidelog.net.sasl.plain import PlainClient, PlainServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import SaslAuthenticateResponse, SaslHandshakeResponse


class TwoSteps:
    """A mechanism with a challenge, as SCRAM has."""

    mechanism = "TWO-STEPS"

    def begin(self):
        return b"first"

    def answer(self, challenge):
        return b"second" if challenge == b"go on" else None


def exchanged(answer, exchange):
    """What the broker was sent after ApiVersions."""

    async def main():
        async with FakeBroker(answer) as broker:
            node = await NodeClient.connect(
                "127.0.0.1", broker.port, authenticate=lambda node: authenticate(node, exchange)
            )
            await node.close()
            return broker.seen[1:]

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_each_message_is_one_request():
    def answer(header, request):
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return SaslHandshakeResponse(mechanisms=[request.mechanism])
        return SaslAuthenticateResponse(auth_bytes=b"go on" if request.auth_bytes == b"first" else b"done")

    handshake, *messages = exchanged(answer, TwoSteps())
    assert (handshake[0].api_key, handshake[1].mechanism) == (ApiKey.SASL_HANDSHAKE, "TWO-STEPS")
    assert [request.auth_bytes for _, request in messages] == [b"first", b"second"]


@pytest.mark.parametrize(("password", "believed"), [("secret", True), ("guess", False)])
def test_plain_against_its_own_server_side(password, believed):
    judge = PlainServer(lambda *given: given == ("alice", "secret"))

    def answer(header, request):
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return SaslHandshakeResponse(mechanisms=[judge.mechanism])
        try:
            return SaslAuthenticateResponse(auth_bytes=judge.answer(request.auth_bytes))
        except KafkaError as error:
            return SaslAuthenticateResponse(error_code=error.code, error_message=error.message)

    if believed:
        exchanged(answer, PlainClient("alice", password))
        assert judge.username == "alice"
    else:
        with pytest.raises(KafkaError, match="Invalid username or password") as refused:
            exchanged(answer, PlainClient("alice", password))
        assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_mechanism_that_is_not_offered():
    def answer(header, request):
        code = ErrorCode.UNSUPPORTED_SASL_MECHANISM
        return SaslHandshakeResponse(error_code=code, mechanisms=["GSSAPI", "SCRAM-SHA-256"])

    with pytest.raises(KafkaError, match="does not offer PLAIN but: GSSAPI, SCRAM-SHA-256"):
        exchanged(answer, PlainClient("alice", "secret"))
