"""The Admin for code that is not asynchronous: every method of `aio.Admin`, waited for.

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topic("orders", partitions=3)

The methods are derived from those of `aio.Admin` when this is imported: one by one they have the same name, parameters
and text, and return what the other's await. Type checkers read `blocking.pyi`, which tools/render_blocking_admin.py
renders from the same source. Any thread may use it, several at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any, Self, Unpack

from tidelog.client.admin import aio
from tidelog.client.durations import seconds
from tidelog.client.loop_thread import LoopThread
from tidelog.client.unclosed import warn_unclosed

if TYPE_CHECKING:
    from tidelog.client.config.typed import AdminKeywords


class Admin:
    """Everything about a cluster that is not records.

    Settings are Kafka's, in a dict and as keywords with underscores. Every call takes `timeout` in seconds, in the
    place of `default.api.timeout.ms`, retries included. What fails is a `KafkaError`; a call for many items answers
    with `Outcomes`, in which each has its own.
    """

    def __init__(self, config: Mapping[str, object] | None = None, **keywords: Unpack[AdminKeywords]) -> None:
        self._core = aio.Admin(config, **keywords)
        self._core._is_owned = True
        self._thread = LoopThread("tidelog-admin")

    def close(self, timeout: float | None = None) -> None:
        """Close the connections; calls of other threads fail. Closing twice is no error, nor in a forked child."""
        timeout = seconds(timeout)
        if not self._thread.is_closed and not self._thread.is_of_parent:
            try:
                self._thread.run(self._core.close(), timeout)
            finally:
                self._thread.close(timeout)

    def __repr__(self) -> str:
        return repr(self._core)

    def __del__(self) -> None:
        """Dropped: connections and thread go with it."""
        thread = self.__dict__.get("_thread")
        if thread is not None and thread.is_begun:
            warn_unclosed(self, "its connections were open")
            thread.abandon(self._core.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _waited_for(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of the blocking Admin for one of the other."""

    @wraps(method)
    def call(self: Admin, *arguments: Any, **named: Any) -> Any:
        return self._thread.run(method(self._core, *arguments, **named))

    return call


for _name, _method in inspect.getmembers(aio.Admin, inspect.iscoroutinefunction):
    if not _name.startswith("_") and _name not in vars(Admin):
        setattr(Admin, _name, _waited_for(_method))
