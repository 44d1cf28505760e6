"""What a broker cannot do without, and what happens when it dies: the broker ends, and says why.

A log that is silently no longer cleaned fills the disk; a checkpoint that is no longer written makes the next recovery
long; a lost session on the store leaves a node that others believe dead. None of them shows in an answer to a client.
So tasks of this kind are spawned here. One that fails takes the broker with it: `failure` says what it was, and whoever
waits in `wait_ended` (the `serve` command, an embedding program) stops the broker and exits with an error. Whatever
runs it (systemd, a container) starts it again, and the start recovers.

The broker does not stop itself from within: a part that fails is in the middle of something, and stopping takes time.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger(__name__)


class Supervisor:
    def __init__(self) -> None:
        #: Why the broker cannot go on; the first reason counts, what follows is mostly its consequence.
        self.failure: BaseException | None = None
        #: The broker is about to stop: what fails from now on fails because of that.
        self.stopping = False
        self._ended = asyncio.Event()
        # A dictionary, not a set: they are cancelled in the order in which they began, the same in every run.
        self._tasks: dict[asyncio.Task[None], None] = {}

    def spawn(self, name: str, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a task that must not die: its failure is the broker's. It may end, and may be cancelled by its owner."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._task_ended)
        return task

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            error.add_note(f"in the background task {task.get_name()}")
            self.fatal(error)

    def fatal(self, error: BaseException) -> None:
        """Something died without which the broker cannot go on: say so, remember it, end."""
        if self.failure is None and not self.stopping:
            self.failure = error
            logger.critical("The broker cannot go on and stops: %s", error, exc_info=error)
            self.end()

    def end(self) -> None:
        """Let `wait_ended` return: somebody wishes the end, or it has come."""
        self._ended.set()

    async def wait_ended(self) -> None:
        """Until somebody stops the broker, asks for its end, or it fails (then `failure` says why)."""
        await self._ended.wait()

    async def stop(self) -> None:
        """Cancel what is left and wait for it."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
