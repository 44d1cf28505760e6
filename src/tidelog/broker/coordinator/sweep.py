"""A look at everything that the shards of an internal topic know, in slices: others get their turn in between.

Expired offsets, expired transactional ids and the offsets of deleted topics are found this way. None of them is urgent,
and a shard may know a hundred thousand groups: a sweep in one piece would stop the broker for as long.

What is looked at is listed when a shard's turn comes; what is gone by the time of its slice is passed over, and what
has come since then waits for the next sweep.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.shard import ShardState
from tidelog.broker.coordinator.timers import pause
from tidelog.common.scheduler import Scheduler

#: How many groups or ids one slice looks at.
SLICE = 200


async def sweep(
    runtime: Runtime,
    scheduler: Scheduler,
    names: Callable[[Any], list[str]],
    step: Callable[[Any, list[str]], Result | None],
) -> None:
    """Have every active shard take `step(machine, some of its names)`, as writes, until all names had their turn."""
    for shard in list(runtime.active_shards()):
        await pause(scheduler)
        known = names(shard.machine)
        for start in range(0, len(known), SLICE):
            if shard.state is not ShardState.ACTIVE:
                break
            part = known[start : start + SLICE]
            shard.write(lambda machine, part=part: step(machine, part), lambda response, error: None)  # type: ignore[misc]  # bound default
            await pause(scheduler)
