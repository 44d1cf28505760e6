"""How a request handler waits for its shard: not at all, when the answer is known at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from support.coordinator import GroupHarness
from support.loop import async_test
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.service import PendingAnswer, Service
from tidelog.common.errors import ErrorCode, KafkaError


def first_step(coroutine: Any) -> Any:
    """What a coroutine gives when it is run without a loop: the future that it waits for, or its end."""
    try:
        return coroutine.send(None)
    except StopIteration as end:
        return end.value


@async_test
async def test_a_read_of_what_is_committed_waits_for_nothing() -> None:
    service = Service(GroupHarness().runtime)
    assert first_step(service.read("g", lambda machine: "answer")) == "answer"


@async_test
async def test_a_reply_that_is_given_at_once_waits_for_nothing() -> None:
    service = Service(GroupHarness().runtime)
    assert first_step(service.request("g", lambda machine, reply: reply("answer"))) == "answer"


@async_test
async def test_a_refusal_is_raised_at_once() -> None:
    service = Service(GroupHarness().runtime)

    def refuse(machine: Any) -> Result:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        first_step(service.write("g", refuse))


@async_test
async def test_a_reply_that_comes_later_is_waited_for() -> None:
    service, replies = Service(GroupHarness().runtime), []
    waiting = asyncio.ensure_future(service.request("g", lambda machine, reply: replies.append(reply)))
    await asyncio.sleep(0)
    assert not waiting.done()
    replies[0]("at last")
    assert await waiting == "at last"


@async_test
async def test_an_answer_to_somebody_who_is_gone_is_dropped() -> None:
    outcome = PendingAnswer()
    future = outcome.wait(asyncio.get_running_loop().create_future())
    future.cancel()
    outcome("too late")
    outcome(None, KafkaError(ErrorCode.NOT_COORDINATOR))
    assert future.cancelled()
