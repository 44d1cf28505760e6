"""The pytest plugin: fixtures that give a test a broker of its own.

    def test_orders(tidelog):
        producer = AnyKafkaClient(tidelog.address)

It is loaded with every pytest run of whoever installs Tidelog, so that it imports nothing until a test asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker


@pytest.fixture
def tidelog(tmp_path: Path) -> Iterator[Broker]:
    """A broker in this process, on a free port, gone when the test ends."""
    from tidelog.testing.broker import Broker

    with Broker(tmp_path / "tidelog") as broker:
        yield broker
