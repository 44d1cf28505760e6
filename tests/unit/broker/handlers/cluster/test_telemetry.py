"""Client metrics: not advertised, as nobody takes them; who asks nevertheless is answered as Apache Kafka does."""

from __future__ import annotations

import asyncio
import gzip
import threading
from types import SimpleNamespace

import pytest

from support.blocking_wire import BlockingWire
from tidelog.broker import config as keys
from tidelog.broker.handlers.cluster import telemetry
from tidelog.broker.handlers.cluster.telemetry import push, subscriptions
from tidelog.broker.handlers.cluster.telemetry_clients import MOST_CLIENTS, TelemetryClients, subscription_id
from tidelog.broker.workers import Workers
from tidelog.common.errors import ErrorCode
from tidelog.common.rng import seeded_rng
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    ApiVersionsRequest,
    GetTelemetrySubscriptionsRequest,
    PushTelemetryRequest,
)
from tidelog.testing.clock import ManualClock

CLIENT = bytes.fromhex("de94e1e507a94be4b641e6dfbba6ccba")
#: What Apache Kafka 4.3.1 answered for that id.
KAFKAS_ID = 1956794


@pytest.fixture
def services():
    services = SimpleNamespace(
        clock=ManualClock(),
        rng=seeded_rng(1),
        config={keys.TELEMETRY_MAX_BYTES: 100},
        telemetry_clients=TelemetryClients(),
        workers=Workers(1, 10),
    )
    yield services
    services.workers.stop()


def ask(services, client_id=CLIENT):
    return subscriptions(services, None, GetTelemetrySubscriptionsRequest(client_instance_id=client_id))


def pushed(services, client_id=CLIENT, number=KAFKAS_ID, metrics=b"metrics", **fields):
    request = PushTelemetryRequest(client_instance_id=client_id, subscription_id=number, metrics=metrics, **fields)
    return ErrorCode(asyncio.run(push(services, None, request)).error_code)


def test_they_are_answered_but_not_advertised(broker):
    with BlockingWire(f"127.0.0.1:{broker.port}") as wire:
        known = wire.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest()).api_keys
        assert not {71, 72} & {row.api_key for row in known}
        found = wire.ask(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, GetTelemetrySubscriptionsRequest())
        assert (found.error_code, found.requested_metrics, found.push_interval_ms) == (0, [], 300_000)
        assert found.client_instance_id != bytes(16)


def test_an_answer_names_the_subscription(services):
    found = ask(services)
    assert (found.error_code, found.client_instance_id, found.subscription_id) == (0, CLIENT, KAFKAS_ID)
    assert (found.accepted_compression_types, found.telemetry_max_bytes) == ([4, 3, 1, 2], 100)
    assert -(1 << 31) <= subscription_id(b"\xff" * 8 + bytes(8)) < 1 << 31


def test_one_question_and_one_push_per_interval(services):
    assert ask(services).error_code == 0
    assert ask(services).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert pushed(services) is ErrorCode.NONE
    assert pushed(services) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    services.clock.advance(300)
    assert pushed(services) is ErrorCode.NONE
    assert pushed(services, terminating=True) is ErrorCode.NONE, "the last one may come early"
    assert pushed(services) is ErrorCode.INVALID_REQUEST


def test_what_is_pushed_is_checked(services):
    ask(services)
    assert pushed(services, number=5) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert ask(services).error_code == 0, "who has the wrong subscription may ask for the right one"
    cases = [
        (ErrorCode.INVALID_REQUEST, bytes(16), {}),
        (ErrorCode.INVALID_REQUEST, (1).to_bytes(16, "big"), {}),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, b"a" * 16, {"compression_type": 5}),
        (ErrorCode.TELEMETRY_TOO_LARGE, b"b" * 16, {"metrics": bytes(101)}),
        (ErrorCode.INVALID_RECORD, b"c" * 16, {"compression_type": 4}),
        (ErrorCode.INVALID_RECORD, b"d" * 16, {"compression_type": 1, "metrics": gzip.compress(bytes(10_000))}),
        (ErrorCode.NONE, b"e" * 16, {"compression_type": 1, "metrics": gzip.compress(b"metrics")}),
        (ErrorCode.NONE, b"f" * 16, {"metrics": b""}),
    ]
    for expected, client, fields in cases:
        assert pushed(services, client, subscription_id(client), **fields) is expected


def test_metrics_are_unpacked_beside_the_loop(services, monkeypatch):
    threads = []
    unpack = telemetry.decompress
    monkeypatch.setattr(
        telemetry,
        "decompress",
        lambda *args, **kwargs: threads.append(threading.current_thread()) or unpack(*args, **kwargs),
    )
    ask(services)
    assert pushed(services, compression_type=1, metrics=gzip.compress(b"metrics")) is ErrorCode.NONE
    assert threads
    assert threads[0] is not threading.main_thread()


def test_not_every_client_is_remembered_for_ever():
    instances = TelemetryClients()
    first = instances.of(CLIENT)
    for number in range(MOST_CLIENTS):
        instances.of(number.to_bytes(16, "big"))
    assert instances.of(CLIENT) is not first
