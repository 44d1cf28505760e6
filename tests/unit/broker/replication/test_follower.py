"""The follower's side: clients are refused, a fetcher is told from where on, and logs are compared by epochs."""

from __future__ import annotations

import pytest

from support.appending import append
from support.logs import LogBench, fill
from support.wire import batch, connected, run, serving
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.fetcher import NoFetchers
from tidelog.broker.replication.follower import FollowerState, follow, truncation_offset
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition

TP = TopicPartition("t", 0)


def test_a_leader_that_is_to_follow_stops_appends_and_asks_for_a_fetcher(tmp_path):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", leader_epoch=3)
            await client.produce("t", batch(b"a", b"b"))
            assert broker.fetchers.asked == []
            broker.create_topic("t", leader=2, leader_epoch=4, replicas=(1, 2), isr=(1, 2))
            partition = broker.replicas.partition(TP)
            assert (partition.leading, partition.following) == (None, FollowerState(2, 4, 2, 3))
            assert broker.fetchers.asked == [(TP, partition.following)]
            assert (await client.produce("t", batch(b"c"))).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
            broker.create_topic("t", leader=2, leader_epoch=4, replicas=(1, 2), isr=(2,))
            assert len(broker.fetchers.asked) == 1, "in the same epoch it goes on"
            broker.create_topic("t", leader=3, leader_epoch=5, replicas=(1, 2, 3), isr=(2, 3))
            assert broker.fetchers.asked[1:] == [(TP, FollowerState(3, 5, 2, 3))]
            broker.create_topic("t", leader=-1, leader_epoch=6, replicas=(1, 2, 3), isr=(3,))
            assert broker.fetchers.asked[2:] == [(TP, None)], "there is nobody to follow"
            broker.create_topic("t", leader=2, leader_epoch=7, replicas=(1, 2, 3), isr=(2,))
            broker.create_topic("t", leader=1, leader_epoch=8, replicas=(1, 2, 3), isr=(1,))
            assert broker.fetchers.asked[4:] == [(TP, None)], "who leads fetches from nobody"
            assert (partition.leading.epoch_start, partition.following) == (2, None)
            await append(broker.replicas, TP, batch(b"d"))
            assert list(partition.log.leader_epochs.entries) == [(3, 0), (8, 2)]

    run(main())


@pytest.mark.parametrize("delete", [True, False])
def test_a_follower_that_is_stopped_fetches_no_more(tmp_path, delete):
    async def main():
        async with serving(tmp_path) as broker:
            broker.create_topic("t", leader=2, replicas=(1, 2), isr=(2,))
            broker.replicas.stop_replicas([TP], delete=delete)
            assert broker.fetchers.asked == [(TP, FollowerState(2, 0, 0, -1)), (TP, None)]

    run(main())


def test_a_log_without_epochs_is_fetched_from_its_high_watermark(tmp_path):
    log = LogBench(tmp_path).open()
    assert follow(log, 2, 9) == FollowerState(2, 9, 0, -1)
    log.assign_epoch(4, 0)
    fill(log, 2, epoch=4)
    assert follow(log, 2, 9) == FollowerState(2, 9, 6, 4)


def test_a_log_is_cut_where_it_parts_from_the_leaders(tmp_path):
    """As in follower.py: epochs 1 (0-4) and 2 (5-7) here, 1 (0-4) and 3 (5-9) there."""
    log = LogBench(tmp_path).open()
    for epoch, batches in ((1, 5), (2, 3)):
        log.assign_epoch(epoch, log.log_end_offset)
        fill(log, batches, records=1, epoch=epoch)
    assert list(log.leader_epochs.entries) == [(1, 0), (2, 5)]
    assert truncation_offset(log, 1, 5) == 5
    assert truncation_offset(log, 2, 6) == 6, "the leader has less of the same epoch"
    assert truncation_offset(log, 2, 99) == 8, "the leader has more of it"
    assert truncation_offset(log, 1, 99) == 5, "it has more of an epoch that ended earlier here"
    assert truncation_offset(log, -1, 3) == 3, "it knows no epoch: its end is what there is"


def test_a_broker_that_cannot_follow_says_so(caplog):
    state = PartitionState("t", 0, bytes(16), 2, 1, (2,), (1, 2))
    NoFetchers().begin(state.tp, FollowerState(2, 1, 0, -1))
    NoFetchers().end(state.tp)
    assert caplog.messages == ["t-0 is to follow broker 2, which this version cannot: it stays behind"]
