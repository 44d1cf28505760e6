"""The pure parts of a membership: tables, the poll timer, messages."""

from __future__ import annotations

import pytest

from tidelog.client.consumer.assignors.assignor import Assignment
from tidelog.client.consumer.assignors.lookup import assignors_of
from tidelog.client.consumer.membership import reactions
from tidelog.client.consumer.membership.classic_requests import (
    Generation,
    Group,
    assignment_bytes,
    assignment_of,
    join_request,
    leave_request,
)
from tidelog.client.consumer.membership.consumer_requests import Heartbeats, MemberIdentity, Report
from tidelog.client.consumer.membership.poll_timer import PollTimer
from tidelog.client.consumer.membership.reactions import Reaction, reaction_to
from tidelog.client.consumer.membership.states import CLASSIC_MEMBER, CONSUMER_MEMBER
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.consumer_protocol import decode_subscription

GROUP = Group("g", None, 45_000, 300_000, "r")
T0 = TopicPartition("t", 0)


def test_what_no_table_names_goes_by_its_code() -> None:
    assert reaction_to(reactions.JOIN, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS) is Reaction.RETRY
    assert reaction_to(reactions.JOIN, ErrorCode.INVALID_SESSION_TIMEOUT) is Reaction.FAIL
    assert reaction_to(reactions.HEARTBEAT, ErrorCode.NOT_COORDINATOR) is Reaction.RETRY
    assert reaction_to(reactions.CONSUMER_HEARTBEAT, ErrorCode.FENCED_MEMBER_EPOCH) is Reaction.NEW_MEMBER


@pytest.mark.parametrize("table", [CLASSIC_MEMBER, CONSUMER_MEMBER], ids=lambda table: table.title)
def test_every_state_can_be_reached_and_left_but_the_last(table: object) -> None:
    states = set(table.states())  # type: ignore[attr-defined]  # a StateTable of either enum
    rows = table.rows  # type: ignore[attr-defined]  # see above
    assert {row.target for row in rows} | {table.initial} == states  # type: ignore[attr-defined]  # see above
    assert states - {row.source for row in rows} == table.final  # type: ignore[attr-defined]  # see above


def test_the_poll_timer_warns_once_and_expires() -> None:
    timer = PollTimer(10, now=0)
    assert timer.next_check(0) == 8
    assert not timer.warns(7.9)
    assert timer.warns(8)
    assert not timer.warns(9)
    assert timer.next_check(9) == 1
    assert not timer.expired(9.9)
    assert timer.expired(10)
    timer.polled(10)
    assert timer.warns(18)


def test_a_subscription_says_what_is_owned_and_since_when() -> None:
    request = join_request(GROUP, Generation(3, "m", "range"), frozenset("t"), [T0], assignors_of(["range"]), "x" * 999)
    said = decode_subscription(bytes(request.protocols[0].metadata))
    assert (said.topics, said.generation_id, said.rack_id) == (["t"], 3, "r")
    assert [(entry.topic, entry.partitions) for entry in said.owned_partitions] == [("t", [0])]
    assert request.reason is not None
    assert len(request.reason) == 255


def test_an_assignment_survives_its_bytes_and_none_is_empty() -> None:
    part = Assignment([T0, TopicPartition("u", 2)], b"more")
    assert assignment_of(assignment_bytes(part)) == part
    assert assignment_of(b"") == Assignment(())


def test_old_brokers_know_one_leaving_member_only() -> None:
    me = Generation(1, "m")
    assert leave_request(GROUP, me, "bye", 2).member_id == "m"
    assert leave_request(GROUP, me, "bye", 5).members[0].reason == "bye"


def test_a_heartbeat_says_only_what_is_new() -> None:
    beats = Heartbeats(MemberIdentity("g", "m", None, "r", 300_000, "uniform"))
    report = Report(frozenset("t"), None, frozenset())
    first = beats.request(0, report, {})
    assert (first.subscribed_topic_names, first.topic_partitions, first.rebalance_timeout_ms) == (["t"], [], 300_000)
    assert (first.rack_id, first.server_assignor) == ("r", "uniform")
    beats.told(report)
    quiet = beats.request(1, report, {})
    assert (quiet.subscribed_topic_names, quiet.topic_partitions, quiet.rebalance_timeout_ms) == (None, None, -1)
    owning = report._replace(owned=frozenset([T0]))
    told = beats.request(1, owning, {"t": b"0" * 16})
    assert told.topic_partitions is not None
    assert [(entry.topic_id, entry.partitions) for entry in told.topic_partitions] == [(b"0" * 16, [0])]
    assert told.subscribed_topic_names is None
    beats.told(owning)
    beats.forget()
    again = beats.request(1, owning, {"t": b"0" * 16})
    assert again.subscribed_topic_names == ["t"]
    assert again.topic_partitions


def test_a_pattern_is_taken_back_by_an_empty_one() -> None:
    beats = Heartbeats(MemberIdentity("g", "m", None, None, 1, None))
    with_pattern = Report(frozenset(), "t.*", frozenset())
    assert beats.request(0, with_pattern, {}).subscribed_topic_regex == "t.*"
    beats.told(with_pattern)
    assert beats.request(1, with_pattern, {}).subscribed_topic_regex is None
    assert beats.request(1, Report(frozenset("t"), None, frozenset()), {}).subscribed_topic_regex == ""


def test_a_static_member_leaves_for_a_while() -> None:
    assert Heartbeats(MemberIdentity("g", "m", "i", None, 1, None)).leave().member_epoch == -2
    assert Heartbeats(MemberIdentity("g", "m", "i", None, 1, None)).leave(for_good=True).member_epoch == -1
    assert Heartbeats(MemberIdentity("g", "m", None, None, 1, None)).leave().member_epoch == -1
