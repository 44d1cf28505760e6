"""The rules of in-sync replicas and the high watermark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tidelog.broker.replication.isr import RemoteReplica, high_watermark, lagging, may_join


@given(
    leader=st.integers(0, 100),
    ends=st.dictionaries(st.integers(2, 6), st.integers(-1, 100), max_size=5),
    isr=st.sets(st.integers(1, 6)),
)
def test_the_high_watermark_is_what_every_in_sync_replica_has(leader, ends, isr):
    followers = {node: RemoteReplica(log_end_offset=end) for node, end in ends.items()}
    hw = high_watermark(leader, isr, followers)
    assert hw <= leader
    assert all(hw <= ends[node] for node in isr if node in ends)
    assert hw == leader or hw in ends.values()


def test_followers_join_and_fall_behind():
    follower = RemoteReplica(caught_up_at=0.0)
    follower.on_fetch(5, 0, leader_end=10, now=1.0)
    assert not may_join(follower, hw=8, epoch_start=0)
    assert lagging({2}, {2: follower}, 10, now=31.0, max_lag_seconds=30.0) == {2}
    follower.on_fetch(10, 0, leader_end=12, now=2.0)  # has what the leader had at its previous fetch
    assert follower.caught_up_at == 1.0
    follower.on_fetch(12, 0, leader_end=12, now=3.0)
    assert follower.caught_up_at == 3.0
    assert may_join(follower, hw=12, epoch_start=11)
    assert lagging({2}, {2: follower}, 12, now=99.0, max_lag_seconds=30.0) == set()
    assert lagging({2}, {2: follower}, 13, now=34.0, max_lag_seconds=30.0) == {2}
