"""Clients that leave while their request is under way: at every await of its handler, and at every use of the store.

    await ask(broker, request, version)                  # as a client that waits for its answer
    await ask(broker, request, version, Leave(2))        # one that is gone when the handler awaits for the third time

The request goes through the broker's dispatcher, as from a connection; `Leave` tells the dispatcher that the connection
is lost, just as a closed socket does, only at a moment that can be counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import partial
from typing import Any

from support.loop import until
from tidelog.broker.network.dispatcher import ApiRoute
from tidelog.broker.requests._session import Session
from tidelog.broker.server import Broker
from tidelog.protocol.api import spec_of
from tidelog.protocol.headers import encode_request
from tidelog.protocol.message import Message

#: What the controller and the handlers use of the store.
STORE_CALLS = ("get", "get_many", "exists", "children", "create", "set", "delete", "multi")


class Leave:
    """When the client goes: at the handler's await of that number, or at the store's use of that number."""

    def __init__(self, at: int, *, in_store: bool = False) -> None:
        self.at = at
        self.in_store = in_store
        self.left = False
        self._seen = 0

    def step(self) -> bool:
        """Count; whether it is time to go."""
        due = self._seen == self.at and not self.left
        self._seen += 1
        self.left = self.left or due
        return due


class _Counted:
    """Awaits a coroutine and calls `on_await` each time that it waits for something."""

    def __init__(self, inner: Any, on_await: Any) -> None:
        self._inner = inner
        self._on_await = on_await

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._inner.__await__()
        advance = partial(next, steps)
        while True:
            try:
                waited = advance()
            except StopIteration as end:
                return end.value
            self._on_await()
            try:
                yield waited
                advance = partial(next, steps)
            except BaseException as error:  # cancelled, or what it waited for failed: as if nobody stood between
                advance = partial(steps.throw, error)


class Connection:
    """What the dispatcher and the handlers see of a connection."""

    def __init__(self, broker: Broker) -> None:
        self.peer = "127.0.0.1"
        self.session = Session(broker.endpoints[0].name, "PLAINTEXT", self.peer)
        self.busy = False
        self.state: Any = None
        self.answered = asyncio.Event()

    def begin(self) -> None:
        self.busy = True

    def finish(self, parts: Any = None) -> None:
        self.busy = False
        self.answered.set()

    def write(self, parts: Any) -> None:
        self.answered.set()

    def close(self, reason: str | None = None) -> None:
        self.answered.set()


async def ask(broker: Broker, request: Message, version: int, leave: Leave | None = None) -> Any:
    """The answer, or None for a client that was gone before. Returns when all that was begun has come to rest."""
    dispatcher, connection = broker.network.dispatcher, Connection(broker)
    key = spec_of(request).key
    loop = asyncio.get_running_loop()
    answers: list[Any] = []

    def go() -> None:
        connection.answered.set()
        dispatcher.on_lost(connection)  # type: ignore[arg-type]  # the part of a connection that it uses

    def on_await() -> None:
        if leave is not None and not leave.in_store and leave.step():
            loop.call_soon(go)

    route = ApiRoute.of(key, broker.services)

    def handle(services: Any, ctx: Any, message: Any) -> Any:
        result = route.handle(services, ctx, message)
        if isinstance(result, Message) or not hasattr(result, "__await__"):
            answers.append(result)
            return result

        async def counted() -> Any:
            answers.append(await _Counted(result, on_await))
            return answers[0]

        return counted()

    dispatcher._routes[key] = route._replace(handle=handle)
    restore = _watch_store(broker, leave, lambda: loop.call_soon(go))
    try:
        frame = encode_request(key, version, 1, "test", request)
        dispatcher.on_request(connection, bytearray(frame[4:]))  # type: ignore[arg-type]  # as above
        await asyncio.wait_for(connection.answered.wait(), 60)
        await until(lambda: not broker.changes)
        if leave is not None and leave.left:
            await broker.store.exists("/")  # behind every write so far
        await until(lambda: not (broker.network.workers or broker.changes or broker.replicas.appends))
    finally:
        restore()
        dispatcher._routes.pop(key, None)
    return answers[0] if answers else None


def _watch_store(broker: Broker, leave: Leave | None, go: Any) -> Any:
    """Count the uses of the store from now on; returns how to stop that."""
    if leave is None or not leave.in_store:
        return lambda: None
    store: Any = broker.store

    def call(inner: Any, *arguments: Any, **keywords: Any) -> Any:
        if leave.step():
            go()
        return inner(*arguments, **keywords)

    for name in STORE_CALLS:
        setattr(store, name, partial(call, getattr(store, name)))

    def restore() -> None:
        for name in STORE_CALLS:
            delattr(store, name)

    return restore
