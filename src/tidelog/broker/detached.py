"""Tasks that go on when whoever waits for them leaves.

A request is given up when its client hangs up, at whatever it awaits. What must not be cut off there (a change of the
cluster, a sync, the making of a topic that several wait for) is a task of its own, and the request only waits for it.
asyncio would cancel the task together with its waiter, and would complain of errors that nobody came to hear.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, TypeVar

from tidelog.common.errors import KafkaError

logger = logging.getLogger(__name__)

T = TypeVar("T")


async def outcome_of(task: asyncio.Task[T]) -> T:
    """Wait for a task. Whoever is cancelled here stops waiting; the task goes on, and `unheard` sees how it ends."""
    try:
        return await asyncio.shield(task)
    finally:
        if not task.done():
            task.add_done_callback(unheard)


def unheard(task: asyncio.Task[Any]) -> None:
    """A task has ended and nobody waits for it. That it was refused concerns nobody then; what it did not foresee is
    logged."""
    if task.cancelled():
        return
    error = task.exception()
    if error is not None and not isinstance(error, KafkaError):
        logger.error("%s failed", task.get_name(), exc_info=error)
