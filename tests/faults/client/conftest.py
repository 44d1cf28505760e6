"""What every adversity test has: a broker, a proxy in front of it, and a look at what is left afterwards."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from support.patience import eventually
from support.wire_proxy import WireProxy
from tidelog.testing import Broker

#: Short enough to wait for, long enough for a busy machine: a time-out that fires too early only makes one more retry.
QUICK = {
    "request.timeout.ms": 1000,
    "retry.backoff.ms": 10,
    "retry.backoff.max.ms": 50,
    "reconnect.backoff.ms": 10,
    "reconnect.backoff.max.ms": 50,
    "socket.connection.setup.timeout.ms": 2000,
    "socket.connection.setup.timeout.max.ms": 2000,
}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    settings = {
        "group.min.session.timeout.ms": "500",
        "group.consumer.min.session.timeout.ms": "500",
        "group.consumer.session.timeout.ms": "3000",
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "200",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    }
    with Broker(config=settings) as broker:
        yield broker


@pytest.fixture
def proxy(broker: Broker) -> Iterator[WireProxy]:
    """Afterwards no client is connected any more."""
    with WireProxy(broker.address) as proxy:
        yield proxy
        eventually(lambda: proxy.connections, lambda count: count == 0, seconds=10)


@pytest.fixture(autouse=True)
def nothing_is_left(broker: Broker) -> Iterator[None]:
    """No thread of a client's, and no more sockets than before (the broker's and the proxy's are counted, too)."""
    threads, sockets = _threads(), _sockets()
    yield
    eventually(_threads, lambda now: now <= threads, seconds=10)
    eventually(_sockets, lambda now: now <= sockets, seconds=10)


#: The broker's own threads, which begin when it first needs them: some only after minutes.
BROKERS = ("tidelog-broker", "tidelog-worker", "tidelog-store")


def _threads() -> set[str]:
    names = {thread.name for thread in threading.enumerate()}
    return {name for name in names if name.startswith("tidelog-") and not name.startswith(BROKERS)}


def _sockets() -> int:
    count = 0
    for name in os.listdir("/proc/self/fd"):
        try:
            count += os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
        except OSError:
            continue  # it was closed meanwhile
    return count
