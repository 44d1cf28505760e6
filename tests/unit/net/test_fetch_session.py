"""Fetch sessions: full, incremental, forgotten, lost."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.common.types import MAX_INT32
from tidelog.common.types import TopicPartition as TP
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.fetch_session import FetchPlan, FetchPosition, FetchSessionHandler

A, B = TP("t", 0), TP("t", 1)


def at(offset: int) -> FetchPosition:
    return FetchPosition(offset, 1024)


def test_a_session_sends_only_what_changed() -> None:
    session = FetchSessionHandler()
    assert session.plan({A: at(0), B: at(0)}) == FetchPlan(0, 0, {A: at(0), B: at(0)})
    assert session.accept(0, 77)
    assert session.plan({A: at(5), B: at(0)}) == FetchPlan(77, 1, {A: at(5)})
    assert session.accept(0, 77)
    assert session.plan({A: at(5)}) == FetchPlan(77, 2, {}, {B: ZERO_UUID})


def test_a_topic_that_was_made_anew_is_named_anew() -> None:
    """The place is the same, the topic is not: what the broker has under the old id is no use any more."""
    old, new = FetchPosition(5, 1024, topic_id=b"1" * 16), FetchPosition(5, 1024, topic_id=b"2" * 16)
    session = FetchSessionHandler()
    session.plan({A: old, B: old})
    session.accept(0, 77)
    assert session.plan({A: new, B: old}) == FetchPlan(77, 1, {A: new}, {A: b"1" * 16})
    session.accept(0, 77)
    assert session.plan({A: new, B: old}) == FetchPlan(77, 2, {})


def test_a_lost_session_starts_over_with_a_full_fetch() -> None:
    for error in (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH):
        session = FetchSessionHandler()
        session.plan({A: at(0)})
        session.accept(0, 77)
        assert not session.accept(error, 0)
        assert session.plan({A: at(0)}) == FetchPlan(0, 0, {A: at(0)})


def test_a_broker_without_sessions_gets_full_fetches() -> None:
    session = FetchSessionHandler()
    for offset in range(3):
        assert session.plan({A: at(offset), B: at(0)}) == FetchPlan(0, 0, {A: at(offset), B: at(0)})
        assert session.accept(0, 0)


def test_the_epoch_wraps_to_one() -> None:
    session = FetchSessionHandler()
    session.plan({A: at(0)})
    session.accept(0, 5)
    session._epoch = MAX_INT32
    session.accept(0, 5)
    assert session.plan({A: at(0)}).epoch == 1
