"""The gate, with an authenticating front of the tests' own: whoever knows the password gets in."""

from __future__ import annotations

import asyncio
import logging
import struct
from contextlib import asynccontextmanager
from functools import partial

import pytest

from support.loop import until
from support.wire import batch, connected, produce_request, run, serving
from tidelog.broker.handlers import HANDLERS
from tidelog.broker.network.gate import BEFORE_AUTHENTICATION, AuthenticatingFront, Gate
from tidelog.broker.requests._session import EVERYTHING, View
from tidelog.common.errors import KafkaError
from tidelog.net.sasl.plain import PlainClient, PlainServer
from tidelog.protocol.api import ApiKey, request_class
from tidelog.protocol.headers import decode_request_header, encode_response
from tidelog.protocol.messages import ApiVersionsRequest, SaslAuthenticateRequest, SaslAuthenticateResponse

LIMIT = 20_000
ALICES = View("alice's")


class PasswordFront(AuthenticatingFront):
    """Judges SaslAuthenticate by itself, at once or (`later`) when the test says so."""

    def __init__(self, connection, on_request, later):
        self.exchange = PlainServer(lambda username, password: (username, password) == ("alice", "secret"))
        self.later = later
        self.waiting = None
        super().__init__(connection, on_request, LIMIT)

    def on_frame(self, connection, frame):
        header, position = decode_request_header(frame)
        if header.api_key != ApiKey.SASL_AUTHENTICATE:
            super().on_frame(connection, frame)
            return
        proof = SaslAuthenticateRequest.decode(frame, header.api_version, position).auth_bytes
        if self.later:
            connection.begin()
            self.waiting = partial(self.judge, connection, header, proof)
        else:
            self.judge(connection, header, proof)

    def judge(self, connection, header, proof):
        try:
            response = SaslAuthenticateResponse(auth_bytes=self.exchange.answer(proof))
            self.succeeded(f"User:{self.exchange.username}", ALICES)
        except KafkaError as error:
            response = SaslAuthenticateResponse(error_code=error.code, error_message=error.message)
        answer = [encode_response(header.api_key, header.api_version, header.correlation_id, response)]
        if connection.busy:
            connection.finish(answer)
        else:
            connection.write(answer)


@asynccontextmanager
async def guarded(tmp_path, *, later=False):
    """A broker whose only listener asks for the password, and the fronts of its connections."""
    async with serving(tmp_path) as broker:
        fronts = []

        def front(connection):
            fronts.append(PasswordFront(connection, broker.network.dispatcher.on_request, later))
            return fronts[-1]

        gate = Gate({"SASL_PLAINTEXT": front})
        (endpoint,) = broker.config.listeners
        (listener,) = broker.network._listeners
        listener._admit = partial(gate.admit, endpoint._replace(protocol="SASL_PLAINTEXT"))
        broker.create_topic("t")
        yield broker, fronts


def taken(broker):
    return sum(broker.network.sink.taken().values())


def authenticate(client, password="secret"):
    proof = PlainClient("alice", password).begin()
    client.send(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(auth_bytes=proof))


async def authenticated(client):
    return (await client.receive(ApiKey.SASL_AUTHENTICATE, 2)).error_code == 0


async def produce_answered(client):
    answer = await client.receive(ApiKey.PRODUCE, 9)
    return answer.responses[0].partition_responses[0].error_code == 0


def test_a_compiled_request_before_success_reaches_nobody(tmp_path, caplog):
    async def main():
        async with guarded(tmp_path) as (broker, _), connected(broker) as client:
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
            assert await client.closed()
            assert taken(broker) == 0
            assert broker.network.dispatcher.requests == 0
            assert broker.replicas.topic("t")[0].log.log_end_offset == 0

    with caplog.at_level(logging.WARNING, "tidelog.net"):
        run(main())
    assert "API key 0 before authentication" in caplog.text


def test_only_three_apis_are_let_through(tmp_path, caplog):
    async def main():
        async with guarded(tmp_path) as (broker, _):
            for row in HANDLERS:
                if row.key not in BEFORE_AUTHENTICATION:
                    async with connected(broker) as client:
                        client.send(row.key, row.max_version, request_class(row.key)())
                        assert await client.closed(), row.key
            assert broker.network.dispatcher.requests == taken(broker) == 0
            async with connected(broker) as client:
                answer = await client.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
                assert answer.error_code == 0
                assert broker.network.dispatcher.requests == 1

    with caplog.at_level(logging.CRITICAL, "tidelog.net"):
        run(main())


@pytest.mark.parametrize("noise", [b"", b"\0", b"\xff\xff", b"GET / HTTP/1.1"])
def test_bytes_that_are_no_request_close(tmp_path, noise):
    async def main():
        async with guarded(tmp_path) as (broker, _), connected(broker) as client:
            client.writer.write(struct.pack(">i", len(noise)) + noise)
            assert await client.closed()
            assert broker.network.dispatcher.requests == 0

    run(main())


@pytest.mark.parametrize("cut", [1, 3, 1000])
def test_what_is_sent_behind_the_proof_is_served_in_order_by_the_ordinary_sink(tmp_path, cut):
    async def main():
        async with guarded(tmp_path) as (broker, fronts), connected(broker) as client:
            held = []
            client.writer, writer = Collecting(held), client.writer
            client.send(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            authenticate(client)
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
            client.send(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            stream = b"".join(held)
            for at in range(0, len(stream), cut):
                writer.write(stream[at : at + cut])
                await asyncio.sleep(0)
            assert (await client.receive(ApiKey.API_VERSIONS, 0)).error_code == 0
            assert await authenticated(client)
            assert await produce_answered(client)
            assert (await client.receive(ApiKey.API_VERSIONS, 0)).error_code == 0
            assert taken(broker) == 1
            connection = fronts[0]._connection
            assert connection.front is broker.network.sink
            assert connection.max_frame == broker.network.table.limits.max_frame
            assert (connection.session.principal, connection.session.view) == ("User:alice", ALICES)

    run(main())


class Collecting:
    """In a writer's place: keeps what is written."""

    def __init__(self, held):
        self.write = held.append


def test_while_a_proof_is_judged_nothing_behind_it_is_looked_at(tmp_path):
    async def main():
        async with guarded(tmp_path, later=True) as (broker, fronts), connected(broker) as client:
            authenticate(client)
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
            await until(lambda: fronts and fronts[0].waiting)
            async with connected(broker) as other:  # a whole exchange of another connection passes meanwhile
                await other.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            assert taken(broker) == 0
            fronts[0].waiting()
            assert await authenticated(client)
            assert await produce_answered(client)
            assert taken(broker) == 1

    run(main())


def test_a_wrong_proof_opens_nothing(tmp_path):
    async def main():
        async with guarded(tmp_path) as (broker, fronts), connected(broker) as client:
            authenticate(client, "guess")
            assert not await authenticated(client)
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
            assert await client.closed()
            assert taken(broker) == 0
            assert fronts[0]._connection.session.principal == "User:ANONYMOUS"

    run(main())


def test_a_stranger_gets_no_large_buffer(tmp_path):
    async def main():
        async with guarded(tmp_path) as (broker, _), connected(broker) as client:
            client.writer.write(struct.pack(">ihhi", LIMIT + 1, ApiKey.SASL_AUTHENTICATE, 2, 1))
            assert await client.closed()
            async with connected(broker) as friend:
                authenticate(friend)
                assert await authenticated(friend)
                friend.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(bytes(2 * LIMIT))}}))
                assert await produce_answered(friend)

    run(main())


def test_a_session_that_has_to_authenticate_anew_is_served_nothing_until_then(tmp_path):
    async def main():
        async with guarded(tmp_path) as (broker, fronts), connected(broker) as client:
            for round_ in range(3):
                authenticate(client)
                client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
                assert await authenticated(client)
                assert await produce_answered(client)
                assert taken(broker) == round_ + 1
                session = fronts[0]._connection.session
                session.authentication.again()
                assert session.principal == "User:alice", "it is still known who it was"
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"x")}}))
            assert await client.closed()
            assert taken(broker) == 3

    run(main())


def test_a_connection_never_changes_hands(tmp_path):
    async def main():
        async with guarded(tmp_path) as (broker, fronts), connected(broker) as client:
            authenticate(client)
            assert await authenticated(client)
            authentication = fronts[0]._connection.session.authentication
            authentication.again()
            with pytest.raises(KafkaError, match="Cannot change principals"):
                authentication.succeeded("User:mallory", EVERYTHING)
            session = fronts[0]._connection.session
            assert (session.principal, session.view) == ("User:alice", ALICES)
            assert fronts[0]._connection.front is fronts[0]

    run(main())


def test_a_protocol_without_a_front_is_not_admitted(tmp_path, caplog):
    async def main():
        async with serving(tmp_path) as broker:
            (endpoint,) = broker.config.listeners
            (listener,) = broker.network._listeners
            listener._admit = partial(Gate().admit, endpoint._replace(protocol="SSL"))
            async with connected(broker) as client:
                client.send(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
                assert await client.closed()
            assert broker.network.dispatcher.requests == 0

    with caplog.at_level(logging.ERROR, "tidelog.net"):
        run(main())
    assert "nobody authenticates" in caplog.text
