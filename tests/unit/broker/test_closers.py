"""Stopping: by stages, the last to begin first, and nobody keeps the others from it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from support.disks import broker_on, create
from support.loop import async_test
from tidelog.broker.closers import Closers, StopStage
from tidelog.common.errors import StorageError, TidelogError


def closers_of(*parts: tuple[StopStage, str], seen: list[str]) -> Closers:
    closers = Closers()
    for stage, name in parts:
        closers.add(stage, name, lambda name=name: seen.append(name))
    return closers


def test_stages_come_in_order_and_the_last_to_begin_stops_first() -> None:
    seen: list[str] = []
    parts = [
        (StopStage.LOGS, "logs"),
        (StopStage.STORE, "store"),
        (StopStage.STORE, "session"),
        (StopStage.LISTENERS, "listeners"),
        (StopStage.COORDINATORS, "coordinators"),
    ]
    asyncio.run(closers_of(*parts, seen=seen).stop())
    assert seen == ["listeners", "coordinators", "logs", "session", "store"]


def test_what_has_stopped_is_not_stopped_again() -> None:
    seen: list[str] = []

    async def main() -> None:
        closers = closers_of((StopStage.LOGS, "logs"), seen=seen)
        await closers.stop()
        await closers.stop()

    asyncio.run(main())
    assert seen == ["logs"]


def test_a_part_that_cannot_stop_does_not_keep_the_others(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    async def fail() -> None:
        raise StorageError("the disk is gone")

    async def main() -> None:
        closers = closers_of((StopStage.STORE, "store"), seen=seen)
        closers.add(StopStage.LOGS, "logs", fail)
        await closers.stop()

    asyncio.run(main())
    assert seen == ["store"]
    assert "Stopping logs failed: " in caplog.text


def test_a_bug_shows_when_everything_has_stopped() -> None:
    seen: list[str] = []

    def fail() -> None:
        raise ZeroDivisionError

    async def main() -> None:
        closers = closers_of((StopStage.STORE, "store"), seen=seen)
        closers.add(StopStage.LOGS, "logs", fail)
        with pytest.raises(ZeroDivisionError):
            await closers.stop()

    asyncio.run(main())
    assert seen == ["store"]


def test_who_stops_while_another_does_waits_for_it() -> None:
    seen: list[str] = []

    async def main() -> None:
        slow = asyncio.Event()
        closers = closers_of((StopStage.LOGS, "logs"), seen=seen)
        closers.add(StopStage.CHANGES, "changes", slow.wait)  # type: ignore[arg-type]
        first, second = (asyncio.create_task(closers.stop()) for _ in range(2))
        for _ in range(100):  # turns of the loop: nothing here waits for anything else
            await asyncio.sleep(0)
        assert seen == []
        assert not second.done()
        slow.set()
        await asyncio.gather(first, second)

    asyncio.run(main())
    assert seen == ["logs"]


@async_test
async def test_a_broker_that_is_stopped_before_it_has_started_does_not_serve(tmp_path) -> None:
    broker = broker_on(tmp_path)
    starting = asyncio.create_task(broker.start())
    await broker.stop()
    with pytest.raises(TidelogError, match="stopped while it started"):
        await starting
    async with broker_on(tmp_path):  # nothing of it is left
        pass


@async_test
async def test_whoever_waits_for_the_end_hears_of_it_although_a_part_fails(tmp_path) -> None:
    def fail() -> None:
        raise ZeroDivisionError

    broker = broker_on(tmp_path)
    await broker.start()
    broker._closers.add(StopStage.HTTP, "bug", fail)
    with pytest.raises(ZeroDivisionError):
        await broker.stop()
    await asyncio.wait_for(broker.wait_ended(), 10)


@async_test
async def test_a_broker_stops_in_the_order_that_its_page_says(tmp_path, caplog) -> None:
    seen: list[str] = []

    def watched(name: str, stop: Callable[[], object]) -> Callable[[], object]:
        def call() -> object:
            seen.append(name)
            return stop()

        return call

    broker = broker_on(tmp_path, tidelog_http_listener="127.0.0.1:0")
    await broker.start()
    await create(broker, "t")
    assert broker.coordinators.group is not None  # they begin now, last of all
    stops = broker._closers._stops
    stops[:] = [(stage, name, watched(name, stop)) for stage, name, stop in stops]
    with caplog.at_level(logging.INFO, "tidelog"):
        await broker.stop()
    assert seen == [
        *("http", "listeners", "changes", "coordinators", "peers", "moves", "background", "tasks"),
        *("replicas", "purgatories", "logs", "session", "store"),
    ]
    assert "Node 1 has stopped" in caplog.text


@async_test
async def test_a_start_that_fails_at_its_last_step_leaves_nothing_open(tmp_path) -> None:
    async with broker_on(tmp_path / "one", tidelog_http_listener="127.0.0.1:0") as broker:
        assert broker.http is not None
        taken = broker_on(tmp_path / "two", tidelog_http_listener=f"127.0.0.1:{broker.http.port}")
        with pytest.raises(Exception, match=r"tidelog\.http\.listener"):
            await taken.start()
        async with broker_on(tmp_path / "two"):  # its directory is unlocked, its store closed
            pass


def test_what_a_cancelled_stop_was_at_is_stopped_by_the_next() -> None:
    """A stop with a time limit: changes under way have not ended, and the logs must not be closed before they have."""
    seen: list[str] = []

    async def main() -> None:
        ended = asyncio.Event()

        async def wait_for_changes() -> None:
            await ended.wait()
            seen.append("changes")

        closers = closers_of((StopStage.LOGS, "logs"), (StopStage.LISTENERS, "listeners"), seen=seen)
        closers.add(StopStage.CHANGES, "changes", wait_for_changes)
        first = asyncio.create_task(closers.stop())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        again = asyncio.create_task(closers.stop())
        await asyncio.sleep(0)
        assert seen == ["listeners"]
        ended.set()
        await again

    asyncio.run(main())
    assert seen == ["listeners", "changes", "logs"]
