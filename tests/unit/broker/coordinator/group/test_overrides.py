"""Configs of single groups: there from the first request on, whatever the group is called, also after a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.blocking_wire import BlockingWire
from support.loop import async_test
from support.patience import eventually
from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.server import Broker as Server
from tidelog.broker.store import paths
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    ConsumerGroupHeartbeatRequest,
    FindCoordinatorRequest,
    IncrementalAlterConfigsRequest,
)
from tidelog.testing import Broker

NAMES = ["plain", "team:svc", "a b", "50%", "50%25", "组/一", ".", ".."]
INTERVAL = "consumer.heartbeat.interval.ms"


def set_interval(wire: BlockingWire, group: str, interval: int) -> None:
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=32,
        resource_name=group,
        configs=[IncrementalAlterConfigsRequest.AlterableConfig(name=INTERVAL, value=str(interval))],
    )
    answer = wire.ask(
        ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    )
    assert answer.responses[0].error_code == 0, answer


def told_interval(wire: BlockingWire, group: str) -> int:
    """What a new member is told, once the coordinator has come to be."""
    found = FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    eventually(lambda: wire.ask(ApiKey.FIND_COORDINATOR, 4, found).coordinators[0].error_code == 0)
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    answer = eventually(lambda: wire.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request), lambda told: not told.error_code)
    interval: int = answer.heartbeat_interval_ms
    return interval


def test_overrides_hold_at_once_and_after_a_restart(tmp_path: Path) -> None:
    wanted = {name: 6000 + 100 * number for number, name in enumerate(NAMES)}
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        for name, interval in wanted.items():
            set_interval(wire, name, interval)
        assert {name: told_interval(wire, name) for name in NAMES} == wanted
    with Broker(tmp_path) as broker, BlockingWire(broker.address) as wire:
        assert {name: told_interval(wire, name) for name in NAMES} == wanted
        set_interval(wire, "a b", 7000)
        assert told_interval(wire, "a b") == 7000


def test_they_are_there_before_anybody_can_ask(tmp_path: Path) -> None:
    with Broker(tmp_path) as first, BlockingWire(first.address) as wire:
        set_interval(wire, "team:svc", 6500)

    class Listening(Server):
        """Looks at what a member would be told when its listeners open, and not before."""

        told = 0

        async def _listen(self) -> list[Endpoint]:
            endpoints = await super()._listen()
            self.told = self.coordinators.group_config.heartbeat_interval_of("team:svc")
            return endpoints

    @async_test
    async def start_again() -> None:
        async with Listening({"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}) as broker:
            assert broker.told == 6500

    start_again()


@pytest.mark.parametrize("name", NAMES)
def test_names_survive_being_part_of_a_path(name: str) -> None:
    assert paths.unsanitize(paths.sanitize(name)) == name
    assert paths.is_part(paths.sanitize(name))
