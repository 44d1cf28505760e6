"""The pytest plugin: fixtures that give a test a broker of its own.

    def test_orders(tidelog):
        producer = AnyKafkaClient(tidelog.address)

Broker keys are what the fixture `tidelog_config` returns; a module, a class or one test may have its own:

    @pytest.fixture
    def tidelog_config():
        return {"num.partitions": "3"}

    @pytest.mark.parametrize("tidelog_config", [{"auto.create.topics.enable": "false"}])
    def test_a_missing_topic(tidelog): ...

It is loaded with every pytest run of whoever installs Tidelog, so that it imports nothing until a test asks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tidelog.testing.broker import Broker


@pytest.fixture
def tidelog_config() -> Mapping[str, str]:
    """The keys of the fixture `tidelog`'s broker, as in server.properties; write a fixture of this name to set some."""
    return {}


@pytest.fixture
def tidelog(tmp_path: Path, tidelog_config: Mapping[str, str]) -> Iterator[Broker]:
    """A broker in this process, on a free port, gone when the test ends; `tidelog_config` are its keys."""
    from tidelog.testing.broker import Broker

    with Broker(tmp_path / "tidelog", config=tidelog_config) as broker:
        yield broker
