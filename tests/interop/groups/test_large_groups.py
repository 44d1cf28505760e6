"""A group record that no batch may hold: what its members are told, and that others notice nothing, as on Kafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.coordinator.driver import encode_subscription
from support.blocking_wire import BlockingWire
from support.kafka import KAFKA_4, KafkaBroker, require_java
from support.patience import eventually
from support.tidelog import TidelogServer
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey

LARGE = 2 << 20
SETTINGS = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1"}


@pytest.fixture(params=["tidelog", pytest.param("kafka", marks=pytest.mark.java)])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "tidelog":
        with TidelogServer(tmp_path, properties=SETTINGS) as server:
            yield server.address
    else:
        require_java()
        with KafkaBroker(KAFKA_4, tmp_path, properties=SETTINGS) as broker:
            yield broker.address


def join(wire: BlockingWire, group: str, *, instance: str | None = None, padding: int = 0) -> m.JoinGroupResponse:
    topics = ["t", *[f"{number:0249d}" for number in range(padding // 249)]]
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=encode_subscription(topics))
    request = m.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[protocol],
    )
    answer: m.JoinGroupResponse = wire.ask(ApiKey.JOIN_GROUP, 5 if instance else 3, request)
    return answer


def sync(wire: BlockingWire, group: str, joined: m.JoinGroupResponse, size: int, instance: str | None = None) -> int:
    given = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=bytes(size))
    request = m.SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=instance,
        assignments=[given],
    )
    code: int = wire.ask(ApiKey.SYNC_GROUP, 3, request).error_code
    return code


def heartbeat(wire: BlockingWire, group: str, joined: m.JoinGroupResponse, instance: str | None = None) -> int:
    request = m.HeartbeatRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=instance,
    )
    code: int = wire.ask(ApiKey.HEARTBEAT, 3, request).error_code
    return code


def test_only_the_offender_sees_an_error(address: str) -> None:
    with BlockingWire(address) as wire:
        find = m.FindCoordinatorRequest(key_type=0, key="big")
        eventually(lambda: wire.ask(ApiKey.FIND_COORDINATOR, 3, find).error_code == 0)
        other = eventually(lambda: join(wire, "other"), lambda joined: joined.error_code == 0)
        assert sync(wire, "other", other, 10) == 0
        big = join(wire, "big")
        assert sync(wire, "big", big, LARGE) == ErrorCode.UNKNOWN_SERVER_ERROR
        assert heartbeat(wire, "big", big) == ErrorCode.REBALANCE_IN_PROGRESS
        assert heartbeat(wire, "other", other) == ErrorCode.NONE
        static = join(wire, "static", instance="i")
        assert sync(wire, "static", static, 10, "i") == 0
        assert join(wire, "static", instance="i", padding=LARGE).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert heartbeat(wire, "static", static, "i") == ErrorCode.NONE
        assert heartbeat(wire, "other", other) == ErrorCode.NONE


def test_too_large_a_subscription_is_refused_to_the_member_alone(address: str) -> None:
    def consume(group: str, member: str, epoch: int, topics: list[str] | None) -> m.ConsumerGroupHeartbeatResponse:
        request = m.ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=member,
            member_epoch=epoch,
            rebalance_timeout_ms=30_000 if epoch == 0 else -1,
            subscribed_topic_names=topics,
            topic_partitions=[] if epoch == 0 else None,
        )
        answer: m.ConsumerGroupHeartbeatResponse = wire.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        return answer

    with BlockingWire(address) as wire:
        find = m.FindCoordinatorRequest(key_type=0, key="g")
        eventually(lambda: wire.ask(ApiKey.FIND_COORDINATOR, 3, find).error_code == 0)
        first = eventually(lambda: consume("g", "first", 0, ["t"]), lambda told: told.error_code == 0)
        names = [f"{number:0249d}" for number in range(LARGE // 249)]
        assert consume("g", "second", 0, names).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
        assert consume("g", "first", first.member_epoch, None).error_code == ErrorCode.NONE
