"""Regular expressions of consumer groups: new topics are found whoever came or left, and no more often than needed."""

from __future__ import annotations

import pytest

from support.coordinator import Answer, GroupHarness
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.consumer import update
from tidelog.broker.coordinator.result import Caller
from tidelog.protocol.messages import ConsumerGroupHeartbeatRequest

REFRESH_MS = 600_000


@pytest.fixture
def groups() -> GroupHarness:
    config = GroupConfig(regex_refresh_ms=REFRESH_MS, consumer_session_timeout_ms=10 * REFRESH_MS)
    return GroupHarness(config, topics={"logs.a": 1})


def heartbeat(groups: GroupHarness, member: str, epoch: int, regex: str | None = None) -> Answer:
    joining = epoch == 0
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member,
        member_epoch=epoch,
        rebalance_timeout_ms=60_000 if joining else -1,
        topic_partitions=[] if joining else None,
        subscribed_topic_regex=regex,
    )
    answer = groups.write("g", lambda machine: machine.consumer_heartbeat(request, Caller("c", "/h", 1)))
    assert answer.error is None
    return answer


def topics_of(groups: GroupHarness) -> frozenset[str]:
    found: frozenset[str] = groups.machine().state.groups["g"].subscribed_topics()
    return found


@pytest.mark.parametrize("how", ["leaves", "times out"])
def test_a_new_topic_is_found_after_a_member_is_gone(groups: GroupHarness, how: str) -> None:
    epoch = heartbeat(groups, "stays", 0, r"logs\..*").response.member_epoch
    heartbeat(groups, "goes", 0, "nothing")
    epoch = heartbeat(groups, "stays", epoch).response.member_epoch
    groups.set_topics({"logs.a": 1, "logs.b": 1})
    if how == "leaves":
        heartbeat(groups, "goes", -1)
    else:
        groups.write("g", lambda machine: machine._sessions._expired("g", "goes", "silence"))
    heartbeat(groups, "stays", epoch)
    assert topics_of(groups) == {"logs.a", "logs.b"}


def test_topics_are_looked_through_once_per_change_and_per_interval(
    groups: GroupHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    original = update.matching_topics
    monkeypatch.setattr(update, "matching_topics", lambda regex, names: looks.append(regex) or original(regex, names))
    epoch = heartbeat(groups, "m", 0, r"logs\..*").response.member_epoch
    for _ in range(3):
        heartbeat(groups, "m", epoch)
    assert len(looks) == 1
    groups.advance(REFRESH_MS + 1)
    for _ in range(3):
        heartbeat(groups, "m", epoch)
    assert len(looks) == 2
    groups.set_topics({"logs.a": 1, "other": 1})
    for _ in range(3):
        heartbeat(groups, "m", epoch)
    assert len(looks) == 3


def test_after_a_reload_they_are_looked_for_again(groups: GroupHarness) -> None:
    epoch = heartbeat(groups, "m", 0, r"logs\..*").response.member_epoch
    groups.set_topics({"logs.a": 1, "logs.b": 1})
    groups.reload()
    heartbeat(groups, "m", epoch)
    assert topics_of(groups) == {"logs.a", "logs.b"}
