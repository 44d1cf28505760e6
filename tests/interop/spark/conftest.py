"""Spark's own Kafka connector and ours, side by side on one Tidelog broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.connectors import Engine, Pair
from support.spark import BrokerLab
from support.tidelog import TidelogServer


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    home = tmp_path_factory.mktemp("connectors")
    with TidelogServer(home / "broker") as server:
        engines = [Engine(form, server.address, home) for form in ("kafka", "tidelog")]
        try:
            yield Pair(*engines, BrokerLab(server.address, "jvm"))
        finally:
            for engine in engines:
                engine.close()
