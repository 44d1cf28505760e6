"""The timing wheel against a sorted list, and its memory."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.broker.purgatory.timing_wheel import TimingWheel


@settings(max_examples=150, deadline=None)
@given(
    start=st.integers(0, 10**12),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.integers(0, 200_000)),
            st.tuples(st.just("cancel"), st.integers(0, 50)),
            st.tuples(st.just("advance"), st.integers(0, 30_000)),
        ),
        max_size=60,
    ),
)
def test_entries_fire_once_never_early_and_never_late(start, steps):
    wheel = TimingWheel(start)
    now = start
    entries = []
    fired = []
    for step, amount in steps:
        if step == "add":
            number = len(entries)
            entries.append([wheel.schedule(now + amount, lambda n=number: fired.append(n)), now + amount, now, "waits"])
        elif step == "cancel" and amount < len(entries):
            entry = entries[amount]
            entry[0].cancel()
            if entry[3] == "waits":
                entry[3] = "cancelled"
        elif step == "advance":
            now += amount
            before = len(fired)
            count = wheel.advance(now)
            assert count == len(fired) - before
            for number in fired[before:]:
                assert entries[number][3] == "waits"
                assert entries[number][1] <= now
                entries[number][3] = "fired"
            late = [entry for entry in entries if entry[3] == "waits" and entry[1] <= now and entry[2] < now]
            assert not late
        assert len(wheel) == sum(entry[3] == "waits" for entry in entries)


def test_the_next_look_is_never_after_the_next_deadline():
    wheel = TimingWheel(0)
    wheel.schedule(45, lambda: None)
    assert wheel.next_due() == 40
    assert wheel.advance(40) == 0
    assert wheel.next_due() == 45
    assert wheel.advance(44) == 0
    assert wheel.advance(45) == 1
    assert wheel.next_due() is None


def test_cancelled_entries_leave_no_trace():
    wheel = TimingWheel(0)
    for number in range(10_000):
        wheel.schedule(500 + number % 100, lambda: None).cancel()
    assert len(wheel) == 0
    assert wheel.next_due() is None


def test_a_callback_may_set_another_deadline():
    wheel = TimingWheel(0)
    fired = []

    def again():
        fired.append("first")
        wheel.schedule(12, lambda: fired.append("second"))

    wheel.schedule(10, again)
    wheel.advance(10)
    assert fired == ["first"]
    wheel.advance(12)
    assert fired == ["first", "second"]


def test_a_callback_may_cancel_its_neighbour():
    wheel = TimingWheel(0)
    fired = []
    entries = []
    entries.append(wheel.schedule(10, lambda: (fired.append(0), entries[1].cancel())))
    entries.append(wheel.schedule(10, lambda: fired.append(1)))
    entries.append(wheel.schedule(10, lambda: fired.append(2)))
    assert wheel.advance(10) == 2
    assert fired == [0, 2]
