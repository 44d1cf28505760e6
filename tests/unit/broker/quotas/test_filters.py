"""Questions about quotas: which entities they find, and which make no sense."""

from __future__ import annotations

import pytest

from tidelog.broker.quotas.filters import ANY, DEFAULT, EXACT, Component, check_filter, matches
from tidelog.common.errors import ErrorCode, KafkaError

ALICE, BOTH, EVERYBODY = {"user": "alice"}, {"user": "alice", "client-id": "c"}, {"user": None}


@pytest.mark.parametrize(
    ("component", "found"),
    [
        (Component("user", EXACT, "alice"), [ALICE, BOTH]),
        (Component("user", DEFAULT, None), [EVERYBODY]),
        (Component("user", ANY, None), [ALICE, BOTH, EVERYBODY]),
        (Component("client-id", ANY, None), [BOTH]),
    ],
)
def test_what_is_found(component, found):
    check_filter([component])
    assert [entity for entity in (ALICE, BOTH, EVERYBODY) if matches(entity, [component], strict=False)] == found


def test_a_strict_question_wants_these_types_and_no_others():
    component = Component("user", EXACT, "alice")
    assert [entity for entity in (ALICE, BOTH) if matches(entity, [component], strict=True)] == [ALICE]


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([Component("group", ANY, None)], ErrorCode.UNSUPPORTED_VERSION),
        ([Component("", ANY, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", ANY, None)] * 2, ErrorCode.INVALID_REQUEST),
        ([Component("user", EXACT, None)], ErrorCode.INVALID_REQUEST),
        ([Component("user", DEFAULT, "x")], ErrorCode.INVALID_REQUEST),
        ([Component("user", 3, None)], ErrorCode.INVALID_REQUEST),
        ([Component("ip", ANY, None), Component("user", ANY, None)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_makes_no_sense(components, code):
    with pytest.raises(KafkaError) as caught:
        check_filter(components)
    assert caught.value.code is code
