"""Stopping in order: each part says how it is stopped when it begins, and a broker stops whatever has begun.

A start can fail anywhere: a port is taken, a directory belongs to another node, a disk is full. What has begun by then
must end, and nothing else can. So nobody asks at the end which parts there are: whoever starts a part adds its stopping
here first, under the stage to which it belongs, and `stop` carries out what was added.

The order is not the mere reverse of the start. Coordinators begin when the first request needs them, long after the
listeners, and must outlive them: a request that is answered while its coordinator is gone would be lost. The stages
say what must hold:

    HTTP           nobody looks at parts that are on their way out
    LISTENERS      no new request comes, those under way are given up
    CHANGES        what was begun in the store is carried out on the logs, too: memory and store agree at the end
    COORDINATORS   their last appends go to logs that are still led
    PEERS          nobody asks other brokers any more: coordinators and replicas did
    BACKGROUND     cleaners, retention and moves leave the logs alone from here on
    TASKS          whatever else was spawned
    REPLICAS       nobody leads any more, waiting requests are dropped, syncs under way have ended
    LOGS           flushed, checkpointed, marked clean: only now does nobody write
    STORE          the session ends, and with it this node's registration; the file is folded
    SIGNALS        the process takes SIGTERM as it did before

Within one stage, what began last stops first.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from enum import IntEnum, auto

from tidelog.common.errors import TidelogError

logger = logging.getLogger(__name__)

Stop = Callable[[], Awaitable[None] | None]


class StopStage(IntEnum):
    """When a part is stopped: the smaller, the earlier."""

    HTTP = auto()
    LISTENERS = auto()
    CHANGES = auto()
    COORDINATORS = auto()
    PEERS = auto()
    BACKGROUND = auto()
    TASKS = auto()
    REPLICAS = auto()
    LOGS = auto()
    STORE = auto()
    SIGNALS = auto()


class Closers:
    """What is to be stopped, by stage. Any number of times: what has been stopped is forgotten. Who stops while another
    does waits for that one: two at a time would not keep to the order. Who is cancelled meanwhile has stopped a part
    half: whoever stops next begins with that part, so a `stop` may be called again before it has returned."""

    def __init__(self) -> None:
        self._stops: list[tuple[StopStage, str, Stop]] = []
        self._stopping = asyncio.Lock()

    def add(self, stage: StopStage, name: str, stop: Stop) -> None:
        """Have `stop` called (and awaited, if it returns something to await) when its stage comes."""
        self._stops.append((stage, name, stop))

    async def stop(self) -> None:
        """Stop everything. A part that cannot stop in order does not keep the others from it: the logs come late, and
        what they have not flushed and marked as clean is recovered record by record at the next start.

        An error that a broken disk or a lost store explains is logged. Any other is a bug: the first such is raised
        when everything else has stopped.
        """
        async with self._stopping:
            await self._stop_all()

    async def _stop_all(self) -> None:
        unforeseen: Exception | None = None
        while self._stops:
            stage = min(stage for stage, _, _ in self._stops)
            place = max(place for place, (found, _, _) in enumerate(self._stops) if found is stage)
            part = self._stops.pop(place)
            _, name, stop = part
            try:
                pending = stop()
                if inspect.isawaitable(pending):
                    await pending
            except (TidelogError, OSError) as error:
                logger.error("Stopping %s failed: %s", name, error)
            except Exception as error:  # raised below, when the others have stopped
                logger.error("Stopping %s failed", name, exc_info=error)
                unforeseen = unforeseen or error
            except BaseException:  # cancelled: it has not stopped, and is the first whom the next one stops
                self._stops.append(part)
                raise
        if unforeseen is not None:
            raise unforeseen
