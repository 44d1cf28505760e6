"""What a leader knows: its followers, who is in sync, and which set counts while a wish is under way."""

from __future__ import annotations

from tidelog.broker.replication.leader import LeaderState


def leader(replicas: tuple[int, ...], isr: tuple[int, ...]) -> LeaderState:
    state = LeaderState(1, epoch_start=5)
    state.assign(replicas, isr, now=10.0)
    return state


def test_alone_is_who_is_the_whole_isr_and_expects_nobody():
    assert leader((1,), (1,)).alone
    assert leader((1, 2), (1,)).alone
    assert not leader((1, 2), (1, 2)).alone
    state = leader((1, 2), (1,))
    state.propose((1, 2))
    assert not state.alone
    state.settle()
    assert state.alone


def test_while_a_wish_is_open_the_larger_set_counts():
    joining = leader((1, 2), (1,))
    joining.followers[2].on_fetch(3, 0, leader_end=9, now=11.0)
    assert joining.committed_end(9) == 9
    joining.propose((1, 2))
    assert joining.committed_end(9) == 3, "it may be in the set already"
    leaving = leader((1, 2), (1, 2))
    leaving.followers[2].on_fetch(3, 0, leader_end=9, now=11.0)
    leaving.propose((1,))
    assert leaving.committed_end(9) == 3, "it may not have left"
    leaving.assign((1, 2), (1,), now=12.0)
    assert leaving.committed_end(9) == 9


def test_followers_that_stay_are_remembered():
    state = leader((1, 2, 3), (1, 2, 3))
    state.followers[2].on_fetch(7, 2, leader_end=7, now=11.0)
    before = state.followers[2]
    state.assign((1, 2, 4), (1, 2), now=20.0)
    assert state.followers.keys() == {2, 4}
    assert state.followers[2] is before
    assert (state.followers[4].log_end_offset, state.followers[4].caught_up_at) == (-1, 20.0)
    assert state.low_watermark(5) == -1, "nobody knows where the new one starts"
