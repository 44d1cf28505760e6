"""The intervals of deletion and of flushing are fixed when a broker starts, in Apache Kafka as here.

What can be changed while a broker runs is what these rounds go by: `retention.*` and `flush.*` of a topic, and
`log.retention.*`, `log.flush.interval.*` of the broker (tests/unit/broker/test_background.py shows that they do).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_4, KafkaBroker
from support.tidelog import TidelogServer
from tidelog.common.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import IncrementalAlterConfigsRequest

pytestmark = pytest.mark.java

BROKER = 4
SET, DELETE = 0, 1
FIXED = ("log.retention.check.interval.ms", "log.flush.scheduler.interval.ms")
CHANGEABLE = ("log.retention.ms", "log.flush.interval.ms")


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    home = tmp_path_factory.mktemp("brokers")
    with KafkaBroker(KAFKA_4, home / "kafka") as kafka, TidelogServer(home / "tidelog") as ours:
        yield [kafka.address, ours.address]


def alter(address: str, node: str, key: str, value: str | None) -> tuple[int, str | None]:
    """Set a broker's key, or take its value away; the error's number and text. Without a node: of all brokers."""
    operation = SET if value is not None else DELETE
    entry = IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=operation, value=value)
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=BROKER, resource_name=node, configs=[entry]
    )
    with BlockingWire(address) as wire:
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = wire.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request).responses[0]
    return answer.error_code, answer.error_message


@pytest.mark.parametrize("node", ["1", ""], ids=["one broker", "all brokers"])
@pytest.mark.parametrize("key", FIXED)
def test_neither_takes_another_interval_while_it_runs(addresses: list[str], key: str, node: str) -> None:
    theirs, ours = (alter(address, node, key, "60000") for address in addresses)
    assert ours == theirs
    assert theirs[0] == ErrorCode.INVALID_REQUEST
    assert key in (theirs[1] or "")


def test_what_belongs_to_one_broker_is_not_set_for_all(addresses: list[str]) -> None:
    theirs, ours = (alter(address, "", "listeners", "PLAINTEXT://127.0.0.1:0") for address in addresses)
    assert ours == theirs
    assert theirs[0] == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("key", CHANGEABLE)
def test_both_take_what_the_rounds_go_by(addresses: list[str], key: str) -> None:
    for value in ("60000", None):
        assert [alter(address, "", key, value)[0] for address in addresses] == [ErrorCode.NONE] * 2
