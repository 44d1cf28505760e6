"""One user at a time: a consumer that is used from two threads (or tasks) refuses and names both calls.

Why refuse and not wait: a consumer has one position per partition. Two threads that polled in turns would each get some
of the records, commit each other's unfinished ones, and find out in production. Java's consumer refuses, too.

The same thread or task may come again while it is inside: a rebalance listener commits from within `poll`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any

from tidelog.client.consumer.errors import ConcurrentUseError


class Guard:
    """A context manager per call: `with guard("poll"):`. `whom` tells who calls."""

    def __init__(self, whom: Callable[[], Any], name: Callable[[Any], str]) -> None:
        self._whom = whom
        self._name = name
        self._lock = threading.Lock()
        self._user: Any = None
        self._depth = 0
        self._methods: list[str] = []
        self._process = os.getpid()

    def __call__(self, method: str) -> Guard:
        me = self._whom()
        with self._lock:
            if self._depth and self._user != me and not self._is_forked():
                raise ConcurrentUseError(method, self._methods[-1], self._name(self._user))
            self._user = me
            self._depth += 1
            self._methods.append(method)
        return self

    def _is_forked(self) -> bool:
        """Whether whoever is inside stayed behind in the parent: then nobody is, and the caller has other worries,
        which the call itself tells of.
        """
        if os.getpid() == self._process:
            return False
        self._process, self._depth = os.getpid(), 0
        self._methods.clear()
        return True

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._depth -= 1
            self._methods.pop()
            if not self._depth:
                self._user = None


def of_threads() -> Guard:
    """For the blocking face."""
    return Guard(threading.current_thread, lambda thread: f"thread {thread.name}")


def of_tasks() -> Guard:
    """For the asyncio face: its tasks share a thread."""
    return Guard(asyncio.current_task, lambda task: f"task {task.get_name() if task else '?'}")
