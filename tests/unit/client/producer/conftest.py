"""A broker for the module, and a topic of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def topic(broker: Broker, request: pytest.FixtureRequest) -> str:
    """Of four partitions."""
    name = f"t-{abs(hash(request.node.nodeid))}"
    broker.create_topic(name, 4)
    return name
