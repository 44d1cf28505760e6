"""A client of asyncio belongs to one loop: on another one, or on none, it refuses instead of hanging."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from tidelog import aio
from tidelog.client.home_loop import HomeLoop
from tidelog.common.errors import UsageError
from tidelog.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("t")
        yield broker


def test_the_first_loop_is_home_for_good() -> None:
    home = HomeLoop("consumer")

    async def here() -> asyncio.AbstractEventLoop:
        return home.here()

    with pytest.raises(UsageError, match="no event loop runs here: this consumer is for asyncio"):
        home.here()
    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(here()) is loop
    assert loop.run_until_complete(here()) is loop
    with pytest.raises(UsageError, match="this consumer belongs to another event loop"):
        asyncio.run(here())
    with pytest.raises(UsageError, match="no event loop"):
        home.here()
    loop.close()


def test_posting_is_a_call_at_home_and_a_message_from_elsewhere() -> None:
    home, calls = HomeLoop("producer"), []
    home.post(calls.append, "nobody is at home yet")

    async def main() -> None:
        home.here()
        home.post(calls.append, threading.get_ident())
        assert calls == [threading.get_ident()]
        await asyncio.to_thread(home.post, lambda: calls.append(threading.get_ident()))
        await asyncio.sleep(0)

    asyncio.run(main())
    assert calls == [threading.get_ident()] * 2


async def _produce(client: Any) -> None:
    await client.send("t", b"x")


async def _flush(client: Any) -> None:
    await client.flush()


async def _poll(client: Any) -> None:
    await client.poll(0.01)


@pytest.mark.parametrize(
    ("kind", "use"),
    [(aio.Producer, _produce), (aio.Producer, _flush), (aio.Consumer, _poll)],
    ids=["send", "flush", "poll"],
)
def test_a_client_refuses_another_loop_and_goes_on_at_home(
    broker: Broker, kind: Any, use: Callable[[Any], Coroutine[Any, Any, None]]
) -> None:
    client = kind(bootstrap_servers=broker.address, **({"group_id": "g"} if kind is aio.Consumer else {}))
    loop = asyncio.new_event_loop()
    if kind is aio.Consumer:
        loop.run_until_complete(client.subscribe(["t"]))
    loop.run_until_complete(use(client))
    with pytest.raises(UsageError, match="belongs to another event loop"):
        asyncio.run(use(client))
    loop.run_until_complete(use(client))
    loop.run_until_complete(client.close())
    loop.close()
