"""Sweeps look at everything, some at a time."""

from __future__ import annotations

import asyncio

from support.coordinator import GroupHarness
from tidelog.broker.coordinator.sweep import SLICE, sweep
from tidelog.protocol import messages as m


def commit(group: str, topic: str) -> m.OffsetCommitRequest:
    partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [m.OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    return m.OffsetCommitRequest(group_id=group, topics=topics)


def harness_of(groups: int) -> GroupHarness:
    harness = GroupHarness()
    for number in range(groups):
        request = commit(f"g{number}", "a")
        harness.write(f"g{number}", lambda machine, request=request: machine.commit(request, 9))
    return harness


def test_all_names_have_their_turn_in_slices() -> None:
    harness = harness_of(2 * SLICE + 1)
    slices, turns = [], 0

    async def main() -> None:
        nonlocal turns
        task = asyncio.ensure_future(
            sweep(
                harness.runtime,
                asyncio.get_running_loop(),
                lambda machine: list(machine.state.groups),
                lambda machine, groups: slices.append(len(groups)),
            )
        )
        while not task.done():
            turns += 1
            await asyncio.sleep(0)

    asyncio.run(main())
    assert slices == [SLICE, SLICE, 1]
    assert turns > len(slices)


def test_offsets_of_a_new_topic_with_the_name_of_a_deleted_one_stay() -> None:
    harness = harness_of(1)
    deleted_ms = harness.clock.time_ms()
    harness.clock.advance(1)
    harness.write("new", lambda machine: machine.commit(commit("new", "a"), 9))
    harness.write("g0", lambda machine: machine.commit(commit("g0", "b"), 9))

    async def main() -> None:
        await sweep(
            harness.runtime,
            asyncio.get_running_loop(),
            lambda machine: machine.state.offsets.group_ids,
            lambda machine, groups: machine.forget_topics(["a"], groups, deleted_ms),
        )

    asyncio.run(main())
    harness.scheduler.run()
    offsets = harness.machine().state.offsets
    assert offsets.get("g0", ("a", 0)) is None
    assert offsets.get("g0", ("b", 0)).offset == 1
    assert offsets.get("new", ("a", 0)).offset == 1
