"""At `max.connections` and above `max.connections.per.ip`: Apache Kafka and Tidelog treat newcomers alike."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from support.kafka import KAFKA_4, KafkaBroker, require_java
from support.tidelog import TidelogServer
from tidelog.protocol.api import ApiKey
from tidelog.protocol.headers import encode_request
from tidelog.protocol.messages import ApiVersionsRequest

pytestmark = pytest.mark.java
LIMIT = 4
HELLO = encode_request(ApiKey.API_VERSIONS, 0, 1, "limits", ApiVersionsRequest())


@pytest.fixture(params=["kafka", "tidelog"])
def start(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[object]:
    """`start(properties) → address`."""
    with ExitStack() as stack:

        def start(**properties: str) -> tuple[str, int]:
            named = {name.replace("_", "."): value for name, value in properties.items()}
            if request.param == "kafka":
                require_java()
                broker = stack.enter_context(KafkaBroker(KAFKA_4, tmp_path, properties=named))
            else:
                broker = stack.enter_context(TidelogServer(tmp_path, properties=named))
            return "127.0.0.1", broker.port

        yield start


def knock(address: tuple[str, int]) -> socket.socket:
    """Connect and ask something; the answer is for others to wait for."""
    sock = socket.create_connection(address, 60)
    with suppress(ConnectionError):  # turned away already: whoever waits for the answer finds out
        sock.sendall(HELLO)
    return sock


def answer(sock: socket.socket, seconds: float) -> str:
    sock.settimeout(seconds)
    try:
        return "served" if sock.recv(65536) else "closed"
    except TimeoutError:
        return "waiting"
    except ConnectionError:
        return "closed"


def fill(address: tuple[str, int], outcome: str) -> list[socket.socket]:
    """Connections that are served, until one is not: that one is the last of the list.

    What started the broker may still be hanging up: a first try can find the house full too early.
    """
    for _ in range(20):
        guests = [knock(address)]
        while (last := answer(guests[-1], 3)) == "served" and len(guests) <= LIMIT + 1:
            guests.append(knock(address))
        if len(guests) == LIMIT + 1 and last == outcome:
            return guests
        for guest in guests:
            guest.close()
    raise AssertionError(f"{len(guests)} connections, the last one {last}")


def test_a_full_broker_lets_newcomers_wait(start) -> None:
    *guests, newcomer = fill(start(max_connections=str(LIMIT)), "waiting")
    guests.pop().close()
    assert answer(newcomer, 60) == "served"
    for guest in [*guests, newcomer]:
        guest.close()


def test_a_full_listener_lets_newcomers_wait(start) -> None:
    *guests, newcomer = fill(start(**{"listener.name.plaintext.max.connections": str(LIMIT)}), "waiting")
    guests.pop().close()
    assert answer(newcomer, 60) == "served"
    for guest in [*guests, newcomer]:
        guest.close()


def test_one_address_too_often_is_turned_away(start) -> None:
    address = start(max_connections_per_ip=str(LIMIT))
    *guests, newcomer = fill(address, "closed")
    assert answer(newcomer, 60) == "closed"
    guests.pop().close()
    newcomer.close()
    deadline = time.monotonic() + 60
    while answer(again := knock(address), 60) != "served":  # until the broker has seen the other go
        again.close()
        assert time.monotonic() < deadline
    for guest in [*guests, again]:
        guest.close()
