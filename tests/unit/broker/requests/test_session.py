"""A connection's session, from the moment when it is accepted."""

from __future__ import annotations

import logging

import pytest

from support.loop import until
from support.wire import connected, run, serving
from tidelog.broker.requests._session import EVERYTHING, Session, View
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ApiVersionsRequest


async def only_connection(broker):
    await until(lambda: broker.network.table.connections)
    (connection,) = broker.network.table.connections
    await until(lambda: connection.session is not None)
    return connection


def test_a_session_begins_anonymous_and_sees_everything(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker):
            session = (await only_connection(broker)).session
            assert (session.listener, session.security_protocol) == ("PLAINTEXT", "PLAINTEXT")
            assert (session.principal, session.client_host) == ("User:ANONYMOUS", "127.0.0.1")
            assert session.view is EVERYTHING
            assert (session.client_software_name, session.client_software_version) == ("unknown", "unknown")

    run(main())


@pytest.mark.parametrize("version", [3, 4])
def test_api_versions_tells_the_client_s_software(tmp_path, version):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            session = (await only_connection(broker)).session
            request = ApiVersionsRequest(client_software_name="librdkafka", client_software_version="2.8.0")
            assert (await client.ask(ApiKey.API_VERSIONS, version, request)).error_code == 0
            assert (session.client_software_name, session.client_software_version) == ("librdkafka", "2.8.0")
            request = ApiVersionsRequest(client_software_name="-", client_software_version="9")
            answer = await client.ask(ApiKey.API_VERSIONS, version, request)
            assert answer.error_code == ErrorCode.INVALID_REQUEST
            assert session.client_software_version == "2.8.0", "a name that is refused is not noted"

    run(main())


def test_views_are_compared_by_identity():
    assert len({View("a"), View("a"), EVERYTHING}) == 3


def test_quotas_count_for_the_bare_name():
    session = Session("SASL", "SASL_SSL", "10.0.0.7", "User:CN=a:b")
    assert session.quota_user == "CN=a:b"
    assert Session("A", "PLAINTEXT", "10.0.0.7").quota_user == "ANONYMOUS"


def test_who_cannot_be_admitted_is_not_served(tmp_path, caplog):
    async def main():
        async with serving(tmp_path) as broker:
            for listener in broker.network._listeners:
                listener._admit = lambda connection: 1 / 0
            async with connected(broker) as client:
                client.send(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
                assert await client.closed()
            await until(lambda: not broker.network.table.connections)
            assert not broker.network.dispatcher.requests

    with caplog.at_level(logging.ERROR, "tidelog.net"):
        run(main())
    assert "could not be admitted" in caplog.text
