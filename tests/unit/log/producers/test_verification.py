from __future__ import annotations

import pytest

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.log.producers.verification import VerificationGuard, Verifications


def refusal(guards: Verifications, sequence: int, guard: VerificationGuard | None) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        guards.check(1, sequence, guard)
    return refused.value.code


def test_only_the_guard_that_was_given_out_is_accepted() -> None:
    guards = Verifications(required=True)
    assert refusal(guards, 0, None) == ErrorCode.INVALID_TXN_STATE
    guard = guards.start(1, 0, 0, 0)
    guards.check(1, 0, guard)
    assert refusal(guards, 0, VerificationGuard()) == ErrorCode.INVALID_TXN_STATE
    guards.clear(1)
    assert refusal(guards, 0, guard) == ErrorCode.INVALID_TXN_STATE


def test_the_write_with_the_smallest_sequence_goes_first() -> None:
    guards = Verifications(required=True)
    guard = guards.start(1, 5, 0, 0)
    assert guards.start(1, 3, 0, 0) is guard
    assert refusal(guards, 5, guard) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    guards.check(1, 3, guard)


def test_a_log_that_takes_anothers_place_knows_its_guards() -> None:
    old, new = Verifications(required=True), Verifications(required=True)
    guard = old.start(1, 0, 0, 0)
    new.take_over(old)
    assert new.accepts(1, guard)
    Verifications().clear(1)  # nothing was given out


def test_a_guard_that_nobody_used_goes_in_time() -> None:
    """Anybody can have one given out, for any producer id, and then be refused by the coordinator or leave."""
    guards = Verifications(required=True)
    assert guards.expire(1000) == 0
    old, young = guards.start(1, 0, 0, 1000), guards.start(2, 0, 0, 1001)
    assert guards.expire(999) == 0
    assert guards.expire(1000) == 1
    assert not guards.accepts(1, old)
    assert guards.accepts(2, young)
    assert guards.start(1, 0, 0, 1002) is not old
