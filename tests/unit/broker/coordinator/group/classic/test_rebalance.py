"""The first join phase of a group: it lasts a moment longer for those who were just given their ids."""

from __future__ import annotations

from support.coordinator import Answer, GroupHarness
from tidelog.broker.coordinator.config import GroupConfig
from tidelog.broker.coordinator.group.classic.rebalance import PATIENCE
from tidelog.broker.coordinator.result import Caller
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def harness() -> GroupHarness:
    return GroupHarness(GroupConfig(initial_rebalance_delay_ms=0))


def join(groups: GroupHarness, member_id: str = "") -> Answer:
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"")
    request = m.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="test",
        protocols=[protocol],
    )
    return groups.request("g", lambda machine, reply: machine.join(request, Caller("c", "/h", 5), reply))


def new_id(groups: GroupHarness) -> str:
    answer = join(groups).response
    assert answer.error_code == ErrorCode.MEMBER_ID_REQUIRED
    member_id: str = answer.member_id
    return member_id


def test_who_has_an_id_is_waited_for() -> None:
    groups = harness()
    first, second = new_id(groups), new_id(groups)
    one = join(groups, first)
    groups.advance(PATIENCE - 2)
    assert not one.done
    other = join(groups, second)
    groups.advance(1)
    assert [answer.response.generation_id for answer in (one, other)] == [1, 1]
    assert len(one.response.members) == 2


def test_but_not_for_ever() -> None:
    groups = harness()
    first, _ = new_id(groups), new_id(groups)
    one = join(groups, first)
    groups.advance(PATIENCE + 1)
    assert one.response.generation_id == 1
    assert len(one.response.members) == 1


def test_nobody_waits_when_no_id_is_out() -> None:
    groups = harness()
    one = join(groups, new_id(groups))
    groups.advance(0)
    assert one.response.generation_id == 1
