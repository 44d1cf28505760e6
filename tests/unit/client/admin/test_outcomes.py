"""Outcomes of batches: what succeeded and what failed, side by side."""

from __future__ import annotations

import pytest

from tidelog.admin import Outcomes, PartialError
from tidelog.common.errors import ErrorCode, KafkaError


def test_values_and_errors_stand_side_by_side() -> None:
    error = KafkaError(ErrorCode.INVALID_PARTITIONS)
    found: Outcomes[str, int] = Outcomes({"a": 1, "b": error})
    assert (found.ok, found.failed) == ({"a": 1}, {"b": error})
    assert found.of("a") == 1
    with pytest.raises(KafkaError) as raised:
        found.of("b")
    assert raised.value is error
    assert Outcomes({"a": 1}).result() == {"a": 1}


def test_the_first_error_is_raised_and_tells_of_the_others() -> None:
    first, second = KafkaError(ErrorCode.INVALID_PARTITIONS), KafkaError(ErrorCode.INVALID_CONFIG)
    with pytest.raises(KafkaError) as raised:
        Outcomes({"a": 1, "b": first, "c": second}).result()
    assert raised.value is first
    assert raised.value.__notes__ == ["2 of 3 failed: `failed` of the outcomes has them all"]


def test_a_partial_answer_has_what_was_found() -> None:
    error = PartialError("listing", ["a"], {3: KafkaError(ErrorCode.NETWORK_EXCEPTION, "gone")})
    assert (error.found, error.code, list(error.failed)) == (["a"], ErrorCode.NETWORK_EXCEPTION, [3])
    assert "broker 3 did not answer (gone)" in error.message
