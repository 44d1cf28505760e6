"""What every store promises (`tidelog.broker.store.api`), one sentence of it per test."""

from __future__ import annotations

import asyncio

import pytest

from support.loop import async_test
from tidelog.broker.store import errors
from tidelog.broker.store.api import (
    Check,
    Create,
    Delete,
    Event,
    SetData,
    WatchEvent,
    delete_tree_operations,
    ensure_path,
)


class Seen:
    """A watch that can be waited for."""

    def __init__(self) -> None:
        self.events: asyncio.Queue[WatchEvent] = asyncio.Queue()

    def __call__(self, event: WatchEvent) -> None:
        self.events.put_nowait(event)

    async def next(self) -> WatchEvent:
        return await asyncio.wait_for(self.events.get(), 60)


@async_test
async def test_create_then_get_gives_the_data_at_version_zero(start_server):
    server = await start_server()
    store = await server.session()
    assert await store.create("/a", b"one") == "/a"
    data, stat = await store.get("/a")
    assert (data, stat.version, stat.children, stat.ephemeral_owner) == (b"one", 0, 0, 0)
    await server.close()


@async_test
async def test_create_needs_the_parent_unless_asked_to_make_it(start_server):
    server = await start_server()
    store = await server.session()
    with pytest.raises(errors.NoNodeError):
        await store.create("/a/b")
    assert await store.create("/a/b/c", make_parents=True) == "/a/b/c"
    assert await store.children("/a") == ["b"]
    await server.close()


@async_test
async def test_create_twice_is_refused(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/a", b"one")
    with pytest.raises(errors.NodeExistsError):
        await store.create("/a", b"two")
    assert (await store.get("/a"))[0] == b"one"
    await server.close()


@async_test
async def test_set_counts_versions_and_refuses_a_stale_one(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/a")
    assert (await store.set("/a", b"1")).version == 1
    assert (await store.set("/a", b"2", 1)).version == 2
    with pytest.raises(errors.BadVersionError):
        await store.set("/a", b"3", 1)
    data, stat = await store.get("/a")
    assert (data, stat.version) == (b"2", 2)
    with pytest.raises(errors.NoNodeError):
        await store.set("/none", b"")
    await server.close()


@async_test
async def test_delete_checks_version_and_children(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/a/b", make_parents=True)
    with pytest.raises(errors.NotEmptyError):
        await store.delete("/a")
    with pytest.raises(errors.BadVersionError):
        await store.delete("/a/b", 3)
    await store.delete("/a/b", 0)
    await store.delete("/a")
    assert await store.exists("/a") is None
    with pytest.raises(errors.NoNodeError):
        await store.delete("/a")
    await server.close()


@async_test
async def test_children_are_names_in_order_and_counted(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/t")
    for name in ("b", "c", "a"):
        await store.create(f"/t/{name}")
    assert await store.children("/t") == ["a", "b", "c"]
    stat = await store.exists("/t")
    assert stat is not None
    assert stat.children == 3
    with pytest.raises(errors.NoNodeError):
        await store.children("/none")
    await server.close()


@async_test
async def test_get_many_keeps_the_order_and_says_none_for_the_missing(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/a", b"1")
    await store.create("/b", b"2")
    found = await store.get_many(["/b", "/none", "/a"])
    assert [item and item[0] for item in found] == [b"2", None, b"1"]
    await server.close()


@async_test
async def test_multi_applies_all_or_nothing_and_names_the_culprit(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/a", b"old")
    with pytest.raises(errors.BadVersionError) as caught:
        await store.multi([SetData("/a", b"new"), Create("/b"), Delete("/a", 7)])
    assert caught.value.index == 2
    assert (await store.get("/a"))[0] == b"old"
    assert await store.exists("/b") is None
    results = await store.multi([Check("/a", 0), SetData("/a", b"new"), Create("/b"), Delete("/a")])
    assert results[2] == "/b"
    assert await store.exists("/a") is None
    assert await store.exists("/b") is not None
    await server.close()


@async_test
async def test_multi_sees_its_own_earlier_operations(start_server):
    server = await start_server()
    store = await server.session()
    await store.multi([Create("/a"), Create("/a/b", b"x"), SetData("/a/b", b"y", 0), Check("/a/b", 1)])
    assert (await store.get("/a/b"))[0] == b"y"
    await server.close()


@async_test
async def test_sequential_nodes_never_repeat_a_number(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/q")
    first = await store.create("/q/n_", sequential=True)
    await store.delete(first)
    second = await store.create("/q/n_", sequential=True)
    assert first < second
    assert len(second) == len("/q/n_") + 10
    await server.close()


@async_test
async def test_ephemeral_nodes_go_with_their_session(start_server):
    server = await start_server()
    one, two = await server.session(), await server.session()
    await one.create("/live")
    await one.create("/live/1", b"me", ephemeral=True)
    _, stat = await two.get("/live/1")
    assert stat.ephemeral_owner != 0
    with pytest.raises(errors.NoChildrenForEphemeralsError):
        await one.create("/live/1/x")
    gone = Seen()
    await two.get("/live/1", gone)
    await one.close()
    assert await gone.next() == WatchEvent(Event.DELETED, "/live/1")
    assert await two.children("/live") == []
    await server.close()


@async_test
async def test_an_expired_session_is_told_and_refused(start_server):
    server = await start_server()
    one, two = await server.session(), await server.session()
    lost: list[bool] = []
    one.on_lost(lambda: lost.append(True))
    await one.create("/me", ephemeral=True)
    await server.expire(one)
    assert lost == [True]
    assert await two.exists("/me") is None
    with pytest.raises(errors.SessionExpiredError):
        await one.get("/")
    await server.close()


@async_test
async def test_a_data_watch_fires_once(start_server):
    server = await start_server()
    store, other = await server.session(), await server.session()
    await store.create("/a")
    seen = Seen()
    await store.get("/a", seen)
    await other.set("/a", b"1")
    await other.set("/a", b"2")
    assert await seen.next() == WatchEvent(Event.CHANGED, "/a")
    await store.get("/a")
    assert seen.events.empty()
    await server.close()


@async_test
async def test_exists_watches_a_node_that_is_not_there_yet(start_server):
    server = await start_server()
    store = await server.session()
    seen = Seen()
    assert await store.exists("/a", seen) is None
    await store.create("/a")
    assert await seen.next() == WatchEvent(Event.CREATED, "/a")
    await server.close()


@async_test
async def test_a_failed_get_leaves_no_watch(start_server):
    server = await start_server()
    store = await server.session()
    seen = Seen()
    with pytest.raises(errors.NoNodeError):
        await store.get("/a", seen)
    await store.create("/a")
    await store.get("/a")
    assert seen.events.empty()
    await server.close()


@async_test
async def test_a_child_watch_sees_children_come_and_go_but_not_data(start_server):
    server = await start_server()
    store = await server.session()
    await store.create("/t")
    seen = Seen()
    await store.children("/t", seen)
    await store.set("/t", b"data")
    await store.create("/t/x")
    assert await seen.next() == WatchEvent(Event.CHILD, "/t")
    await store.children("/t", seen)
    await store.delete("/t/x")
    assert await seen.next() == WatchEvent(Event.CHILD, "/t")
    await store.children("/t", seen)
    await store.delete("/t")
    assert await seen.next() == WatchEvent(Event.DELETED, "/t")
    await server.close()


@async_test
async def test_a_watch_fires_when_the_change_is_visible(start_server):
    server = await start_server()
    store, other = await server.session(), await server.session()
    await store.create("/a")
    looked: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
    tasks: list[asyncio.Task[None]] = []

    async def look() -> None:
        looked.set_result((await store.get("/a"))[0])

    await store.get("/a", lambda event: tasks.append(asyncio.ensure_future(look())))
    await other.set("/a", b"new")
    assert await asyncio.wait_for(looked, 60) == b"new"
    await server.close()


@async_test
async def test_concurrent_compare_and_set_has_one_winner(start_server):
    server = await start_server()
    sessions = [await server.session() for _ in range(8)]
    await sessions[0].create("/n", b"0")
    attempts = [session.set("/n", str(i).encode(), 0) for i, session in enumerate(sessions)]
    results = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(not isinstance(result, BaseException) for result in results) == 1
    assert all(isinstance(r, errors.BadVersionError) for r in results if isinstance(r, BaseException))
    await server.close()


@pytest.mark.parametrize("path", ["", "a", "/a/", "//a", "/a/../b", "/a//b"])
@async_test
async def test_bad_paths_are_refused(start_server, path):
    server = await start_server()
    store = await server.session()
    with pytest.raises(errors.InvalidPathError):
        await store.create(path)
    await server.close()


@async_test
async def test_helpers_make_and_remove_whole_branches(start_server):
    server = await start_server()
    store = await server.session()
    await ensure_path(store, "/a/b/c")
    await ensure_path(store, "/a/b/c")
    await store.create("/a/d")
    await store.multi(await delete_tree_operations(store, "/a"))
    assert await store.exists("/a") is None
    assert await delete_tree_operations(store, "/a") == []
    await server.close()
