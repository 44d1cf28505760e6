"""The cleaners' traffic is held to its rate, over intervals."""

from __future__ import annotations

import pytest

from tidelog.log.cleaner.throttler import CHECK_INTERVAL_SECONDS, Throttler
from tidelog.testing.clock import ManualClock


def test_a_burst_within_an_interval_is_let_be_and_made_up_for_after_it() -> None:
    clock = ManualClock()
    throttler = Throttler(clock, 1000)
    throttler.spend(200)
    assert clock.sleeps == []
    throttler.spend(400)
    assert clock.sleeps == pytest.approx([0.6])
    clock.advance(CHECK_INTERVAL_SECONDS)
    throttler.spend(200)
    assert clock.sleeps == pytest.approx([0.6])


def test_without_a_limit_nobody_sleeps() -> None:
    clock = ManualClock()
    Throttler(clock).spend(1 << 40)
    assert clock.sleeps == []
