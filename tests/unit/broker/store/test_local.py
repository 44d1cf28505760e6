"""What only the embedded store promises: durability in one plain file, group commit, a loud end when the disk fails."""

from __future__ import annotations

import asyncio
import os
import sqlite3

import pytest

from support.loop import async_test
from tidelog.broker.store.api import Create, Delete, SetData
from tidelog.broker.store.errors import StoreFullError, StoreLostError
from tidelog.broker.store.local import FILE_NAME, LocalStore


@async_test
async def test_everything_but_ephemerals_survives_a_restart(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    await session.multi([Create("/a", b"1"), Create("/a/b"), Create("/a/c"), SetData("/a", b"2"), Delete("/a/c")])
    await session.create("/a/me", ephemeral=True)
    before = await session.exists("/a/b")
    await store.close()
    assert os.listdir(tmp_path) == [FILE_NAME], "one plain file is left"

    again = LocalStore(tmp_path / FILE_NAME)
    session = again.session()
    data, stat = await session.get("/a")
    assert (data, stat.version, stat.children) == (b"2", 1, 1)
    assert await session.exists("/a/b") == before
    await session.create("/a/s", sequential=True)
    await again.close()


@async_test
async def test_an_answered_write_survives_a_crash(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    await store.session().create("/a", b"kept")
    for name in os.listdir(tmp_path):  # the disk as a crash would leave it
        (tmp_path / ("crash-" + name)).write_bytes((tmp_path / name).read_bytes())
    crashed = LocalStore(tmp_path / ("crash-" + FILE_NAME))
    assert (await crashed.session().get("/a"))[0] == b"kept"
    await crashed.close()
    await store.close()


@async_test
async def test_many_writes_share_commits(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    commits: list[int] = []
    write = store._write

    def counted(batch):
        commits.append(len(batch))
        return write(batch)

    store._write = counted
    await asyncio.gather(*(session.create(f"/n{i}") for i in range(200)))
    assert sum(commits) == 200
    assert len(commits) < 100
    await store.close()


@async_test
async def test_a_failed_commit_loses_the_store_for_good(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    lost: list[bool] = []
    session.on_lost(lambda: lost.append(True))
    await session.create("/a")
    store._write = lambda batch: sqlite3.OperationalError("disk I/O error")
    with pytest.raises(StoreLostError, match="disk I/O error"):
        await session.create("/b")
    assert lost == [True]
    with pytest.raises(StoreLostError):
        await store.session().get("/a")
    await store.close()


def fill(store):
    """No page more for the file."""
    pages = store._connection.execute("pragma page_count").fetchone()[0]
    store._connection.execute(f"pragma max_page_count = {pages}")


def make_room(store):
    store._connection.execute("pragma max_page_count = 1000000")


@async_test
async def test_a_full_disk_fails_one_change_and_takes_it_back(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    lost = []
    session.on_lost(lambda: lost.append(1))
    await session.multi([Create("/a", b"1"), Create("/a/b")])
    before = (await session.get("/a"), store.tree.transaction)
    seen = []
    await session.get("/a", watch=seen.append)
    fill(store)
    big = bytes(100_000)
    with pytest.raises(StoreFullError, match="no room"):
        await session.multi([SetData("/a", big), Delete("/a/b"), Create("/a/c"), Create("/e", ephemeral=True)])
    assert (await session.get("/a"), store.tree.transaction) == before
    assert await session.children("/") == ["a"]
    assert await session.children("/a") == ["b"]
    assert (seen, lost) == ([], [])
    await session.set("/a", b"2")  # what needs no page more
    make_room(store)
    await session.multi([SetData("/a", big), Create("/a/c")])
    assert len(seen) == 1
    await store.close()
    again = LocalStore(tmp_path / FILE_NAME)
    session = again.session()
    assert await session.children("/a") == ["b", "c"]
    data, stat = await session.get("/a")
    assert (data, stat.version) == (big, 2)
    await again.close()


@async_test
async def test_changes_built_on_one_that_found_no_room_fall_with_it(tmp_path):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    await session.create("/a")
    fill(store)
    first = asyncio.ensure_future(session.create("/a/big", bytes(100_000)))
    await asyncio.sleep(0)
    others = [asyncio.ensure_future(session.create(f"/a/big/{n}")) for n in range(20)]
    reader = asyncio.ensure_future(session.children("/a"))
    outcomes = await asyncio.gather(first, *others, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {StoreFullError}
    assert await reader == []
    make_room(store)
    await session.create("/a/later")
    await store.close()
    again = LocalStore(tmp_path / FILE_NAME)
    assert await again.session().children("/a") == ["later"]
    await again.close()


def test_a_second_owner_is_refused(tmp_path):
    async def main() -> None:
        store = LocalStore(tmp_path / FILE_NAME)
        await store.session().create("/a")
        with pytest.raises(StoreLostError, match="another broker"):
            LocalStore(tmp_path / FILE_NAME)
        await store.close()

    asyncio.run(main())


def test_a_damaged_file_says_so(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreLostError, match="damaged"):
        LocalStore(tmp_path / FILE_NAME)


def test_a_newer_format_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / FILE_NAME)
    connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(StoreLostError, match="newer"):
        LocalStore(tmp_path / FILE_NAME)


@async_test
async def test_a_watch_that_fails_keeps_nobody_from_an_answer(tmp_path, caplog):
    store = LocalStore(tmp_path / FILE_NAME)
    session = store.session()
    await session.create("/a")
    heard = []

    def fail(event):
        heard.append(event.path)
        raise RuntimeError("a watch's own bug")

    await session.get("/a", watch=fail)
    await session.exists("/b", watch=heard.append)
    await asyncio.gather(session.set("/a", b"1"), session.create("/b"), session.create("/c"))
    await session.set("/a", b"2")
    assert (heard[0], heard[1].path) == ("/a", "/b")
    assert "a watch of /a failed" in caplog.text
    await store.close()
