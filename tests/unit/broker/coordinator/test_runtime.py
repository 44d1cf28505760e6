"""The shards of an internal topic: which has a key, when they are loaded, loaded again and dropped."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.group.machine import GroupMachine
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.shard import ShardState
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def commit(machine: Any) -> Result:
    entry = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="a", partitions=[entry])
    result: Result = machine.commit(m.OffsetCommitRequest(group_id="g", topics=[topic]), 9)
    return result


def test_an_older_epoch_changes_nothing() -> None:
    harness = GroupHarness()
    shard = harness.runtime.shards[0]
    harness.runtime.on_elected(0, shard.epoch)
    harness.runtime.on_resigned(0, shard.epoch - 1)
    assert harness.runtime.shards[0] is shard
    harness.runtime.on_elected(0, shard.epoch + 1)
    assert harness.runtime.shards[0] is not shard
    assert shard.state is ShardState.CLOSED


def test_no_topic_no_coordinator() -> None:
    harness = GroupHarness()
    harness.runtime._partitions = lambda: None
    assert harness.write("g", commit).code is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_record_that_cannot_be_replayed_is_tried_again_ever_more_rarely(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the exception: the shard must not stay in LOADING, where nobody would try again."""
    harness = GroupHarness()
    harness.write("g", commit)
    tries = []

    def broken(self: GroupMachine, record: Any, producer_id: int = -1) -> None:
        tries.append(harness.clock.monotonic())
        raise RuntimeError("nobody foresaw this")

    with monkeypatch.context() as patch:
        patch.setattr(GroupMachine, "replay", broken)
        harness.runtime.on_resigned(0)
        harness.runtime.on_elected(0, 9)
        assert harness.runtime.shards[0].state is ShardState.CLOSED
        assert not harness.runtime.loading
        harness.scheduler.advance(200_000)
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert gaps == pytest.approx([0.1 * 2**number for number in range(10)] + [60.0] * (len(gaps) - 10), rel=0.01)
    assert "nobody foresaw this" in caplog.text
    harness.scheduler.advance(60_000)
    assert harness.runtime.shards[0].state is ShardState.ACTIVE
    assert harness.machine().state.offsets.get("g", ("a", 0)).offset == 1


def test_after_the_stop_nobody_is_elected() -> None:
    """Leadership may still be told while the broker's parts stop one after the other."""
    harness = GroupHarness()
    shard = harness.runtime.shards[0]
    harness.runtime.stop()
    assert shard.state is ShardState.CLOSED
    harness.runtime.on_elected(0, shard.epoch + 1)
    harness.scheduler.run()
    assert harness.runtime.shards == {}
    assert harness.write("g", commit).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
