"""What the security settings of a client turn into."""

from __future__ import annotations

import asyncio

import pytest

from support.fake_broker import FakeBroker
from tidelog.client.cluster.security import authenticator
from tidelog.client.config import client_config
from tidelog.common.errors import UsageError
from tidelog.net.node_client import NodeClient
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import SaslAuthenticateResponse, SaslHandshakeResponse

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="secret";'
SASL = {"bootstrap.servers": "127.0.0.1:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}


@pytest.mark.parametrize(
    "credentials", [{"sasl.username": "alice", "sasl.password": "secret"}, {"sasl.jaas.config": JAAS}]
)
def test_plain_sends_name_and_password_on_each_connection(credentials):
    def answer(header, request):
        if header.api_key == ApiKey.SASL_HANDSHAKE:
            return SaslHandshakeResponse(mechanisms=[request.mechanism])
        return SaslAuthenticateResponse()

    async def main():
        prove = authenticator(client_config(SASL | credentials))
        async with FakeBroker(answer) as broker:
            for _ in range(2):
                await (await NodeClient.connect("127.0.0.1", broker.port, authenticate=prove)).close()
            return [request for header, request in broker.seen if header.api_key != ApiKey.API_VERSIONS]

    first, proof, second, same = asyncio.run(asyncio.wait_for(main(), 60))
    assert first.mechanism == second.mechanism == "PLAIN"
    assert proof.auth_bytes == same.auth_bytes == b"\0alice\0secret"


def test_without_sasl_nothing_is_proved():
    assert authenticator(client_config({"bootstrap.servers": "127.0.0.1:1"})) is None


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"sasl.mechanism": "SCRAM-SHA-256"}, "use PLAIN"),
        ({"sasl.username": "alice"}, "sasl.username and sasl.password"),
    ],
)
def test_settings_that_cannot_work_say_so(settings, text):
    with pytest.raises(UsageError, match=text):
        authenticator(client_config(SASL | settings))
