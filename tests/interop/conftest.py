"""The broker under test: Tidelog, or Apache Kafka to check the tests themselves.

TIDELOG_INTEROP_PEER=4.3.1 pytest tests/interop/clients     # the same suite against Apache Kafka
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator

import pytest

from support.kafka import KafkaBroker
from support.tidelog import TidelogServer

PEER = os.environ.get("TIDELOG_INTEROP_PEER")
Server = TidelogServer | KafkaBroker


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One broker for all tests of a module."""
    home = tmp_path_factory.mktemp("broker")
    started: Server = KafkaBroker(PEER, home) if PEER else TidelogServer(home)
    with started:
        yield started


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Fresh topic names: `topic()`."""
    counter = itertools.count()
    base = "".join(char if char.isalnum() else "-" for char in request.node.name)[:60]
    return lambda: f"{base}-{next(counter)}"
