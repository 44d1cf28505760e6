"""Delayed operations: completed once, at once, and gone afterwards."""

from __future__ import annotations

from tidelog.broker.purgatory.completions import Completions
from tidelog.broker.purgatory.delayed import DelayedOperation, Purgatory
from tidelog.broker.purgatory.timer import LoopTimer


class HandClock:
    def __init__(self):
        self.now = 100.0
        self.armed = []

    def monotonic(self):
        return self.now

    def time_ms(self):
        return int(self.now * 1000)

    def sleep(self, seconds):
        raise AssertionError("nothing here blocks")

    def call_later(self, delay, callback):
        handle = Handle(self.now + delay, callback)
        self.armed.append(handle)
        return handle

    def move(self, seconds):
        self.now += seconds
        for handle in [one for one in self.armed if one.at <= self.now]:
            self.armed.remove(handle)
            if not handle.cancelled:
                handle.callback()


class Handle:
    def __init__(self, at, callback):
        self.at, self.callback, self.cancelled = at, callback, False

    def cancel(self):
        self.cancelled = True


class Wait(DelayedOperation):
    __slots__ = ("log", "satisfied")

    def __init__(self, log):
        super().__init__()
        self.satisfied = False
        self.log = log

    def is_satisfied(self, key=None):
        return self.satisfied

    def on_complete(self):
        self.log.append("expired" if self.expired else "satisfied")


def purgatory():
    clock = HandClock()
    return clock, Purgatory("Test", LoopTimer(clock, clock), Completions(clock))


def test_a_satisfied_operation_never_waits():
    _, waiting = purgatory()
    log = []
    operation = Wait(log)
    operation.satisfied = True
    assert waiting.try_or_watch(operation, ["a"], 1000)
    assert log == ["satisfied"]
    assert len(waiting) == 0


def test_any_key_completes_it_once_and_frees_all_of_them():
    clock, waiting = purgatory()
    log = []
    operation = Wait(log)
    assert not waiting.try_or_watch(operation, ["a", "b", "a"], 1000)
    assert waiting.check("a") == 0
    operation.satisfied = True
    assert waiting.check("b") == 1
    assert waiting.check("a") == 0
    clock.move(2.0)
    assert log == ["satisfied"]
    assert len(waiting) == waiting.watched_keys == 0


def test_it_expires_at_its_deadline():
    clock, waiting = purgatory()
    log = []
    waiting.try_or_watch(Wait(log), ["a"], 500)
    clock.move(0.4)
    assert log == []
    for _ in range(12):
        clock.move(0.01)
    assert log == ["expired"]
    assert not waiting
    assert waiting.watched_keys == 0


def test_a_cancelled_operation_is_never_called():
    clock, waiting = purgatory()
    log = []
    operation = Wait(log)
    waiting.try_or_watch(operation, ["a"], 500)
    assert operation.cancel()
    assert not operation.cancel()
    operation.satisfied = True
    assert waiting.check("a") == 0
    clock.move(1)
    assert log == []
    assert waiting.watched_keys == 0


def test_no_time_to_wait_is_an_expiry_at_once():
    _, waiting = purgatory()
    log = []
    assert waiting.try_or_watch(Wait(log), ["a"], 0)
    assert log == ["expired"]
