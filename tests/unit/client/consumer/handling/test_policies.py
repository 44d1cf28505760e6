"""What becomes of a record whose handler raised, as a value."""

from __future__ import annotations

from typing import Any

import pytest

from tidelog.client.consumer.handling import dead_letter, retry, skip, stop
from tidelog.client.consumer.handling.policies import Again, DeadLetter, Policy, Skip, Stop, decide
from tidelog.common.errors import UsageError

ERROR = ValueError("no")


def test_retries_wait_twice_as_long_each_time() -> None:
    policy = retry(4, backoff=1, backoff_max=5).then(dead_letter("dead"))
    assert [decide(policy, ERROR, attempt) for attempt in range(1, 6)] == [
        Again(1),
        Again(2),
        Again(4),
        Again(5),
        DeadLetter("dead"),
    ]


def test_only_the_errors_that_may_pass_are_tried_again() -> None:
    policy = retry(4, on=TimeoutError).then(skip())
    assert decide(policy, ERROR, 1) == Skip()
    assert decide(policy, TimeoutError(), 1) == Again(0.1)


@pytest.mark.parametrize(("policy", "end"), [(retry(0), Stop()), (stop(), Stop()), (skip(), Skip())])
def test_without_a_next_attempt(policy: Policy, end: object) -> None:
    assert decide(policy, ERROR, 1) == end


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError):
        retry(-1)
    with pytest.raises(UsageError):
        dead_letter("")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"times": "3"}, r"retry\('3'\): expected how many times"),
        ({"times": 3, "backoff": "1s"}, r"backoff='1s': a time-out is a number of seconds, as backoff=1$"),
        ({"times": 3, "backoff_max": -1}, r"backoff_max=-1: a time-out is not negative"),
        ({"times": 3, "backoff": 5, "backoff_max": 1}, r"nothing is negative, and the largest wait not the least"),
    ],
)
def test_what_a_retry_takes(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        retry(**given)
