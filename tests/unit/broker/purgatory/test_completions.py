"""Completions: in order, never nested, some per turn of the loop, each by itself."""

from __future__ import annotations

import logging

from tidelog.broker.purgatory.completions import TURN, Completions


class Loop:
    """What is asked for is called by `turn`."""

    def __init__(self):
        self.asked = []

    def call_later(self, delay, callback):
        assert delay == 0
        self.asked.append(callback)

    def turn(self):
        asked, self.asked = self.asked, []
        for callback in asked:
            callback()


def test_one_that_comes_alone_is_carried_out_at_once():
    loop, done = Loop(), []
    completions = Completions(loop)
    completions.add([lambda: done.append(1)])
    assert done == [1]
    assert loop.asked == []


def test_what_comes_about_meanwhile_waits_for_its_turn():
    loop, seen = Loop(), []
    completions = Completions(loop)

    def first():
        completions.add([lambda: seen.append("third")])
        seen.append("first")

    completions.add([first, lambda: seen.append("second")])
    assert seen == ["first", "second", "third"]


def test_a_long_chain_lets_the_loop_go_round():
    loop, done = Loop(), []
    completions = Completions(loop)

    def step():
        done.append(1)
        if len(done) < 3 * TURN:
            completions.add([step])

    completions.add([step])
    for turn in (1, 2, 3):
        assert len(done) == turn * TURN
        assert len(loop.asked) == (turn < 3)
        loop.turn()
    assert len(completions) == 0


def test_what_is_added_between_two_turns_keeps_its_place():
    loop, done = Loop(), []
    completions = Completions(loop)
    completions.add([lambda number=number: done.append(number) for number in range(TURN + 1)])
    completions.add([lambda: done.append("late")])
    assert done[-1] == TURN - 1
    loop.turn()
    assert done[-2:] == [TURN, "late"]


def test_later_means_the_next_turn():
    loop, done = Loop(), []
    completions = Completions(loop)
    with completions.later():
        completions.add([lambda: done.append(1)])
    assert done == []
    loop.turn()
    assert done == [1]
    with completions.later():
        pass
    assert loop.asked == []


def test_one_that_fails_is_logged_and_the_others_go_on(caplog):
    loop, done = Loop(), []
    completions = Completions(loop)

    def broken():
        raise RuntimeError("no")

    with caplog.at_level(logging.ERROR):
        completions.add([broken, lambda: done.append(1)])
    assert done == [1]
    assert "could not be completed" in caplog.text
