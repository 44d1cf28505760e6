"""The embedded store: the tree, made durable by one SQLite file in the first log directory.

Who does what:

- The event loop owns the tree. A write is applied to it at once (so that the next operation is checked against it) and
  its changed rows are queued.
- A thread writes everything that is queued in one SQLite transaction and commits: **group commit**, one fsync for as
  many writes as came together. Only then are the writes answered, and only then do their watches fire. What comes
  meanwhile is the next batch. The thread is reached by the loop's `run_in_executor`, the seam to threads: a loop that
  does such work in place (`tidelog.testing.loop`) has a store without threads, whose order is the same each time.
- A read waits for the commit of all writes queued before it: it never shows what a crash could still take back.

Ephemeral nodes are not written: the file has one owner process, so its sessions end with it.

A commit that finds the disk full did not happen (`StoreFullError`): the tree takes it back, and every change after it
that was made in the belief that it would be there. Any other failed commit is final (`StoreLostError` for everything
after it, `on_lost` to all sessions): nobody can tell what is on disk, so the broker stops.

The journal is SQLite's write-ahead log (one fsync per commit), with exclusive locking: no shared-memory file, and no
second process on the same store. A clean `close` folds it back, so that one plain file remains.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidelog.broker.store.api import Create, Delete, Event, Operation, Result, SetData, Stat, Watch, WatchEvent
from tidelog.broker.store.errors import SessionExpiredError, StoreFullError, StoreLostError
from tidelog.broker.store.tree import Applied, NodeRow, Tree, ancestors, check_path
from tidelog.common.named_tuple import NamedTuple

logger = logging.getLogger(__name__)

FILE_NAME = "tidelog.store"
FORMAT_VERSION = 1

_SCHEMA = """
create table node (
    path text primary key, data blob not null, created integer not null, modified integer not null,
    version integer not null, child_version integer not null
) without rowid;
create table store (name text primary key, value integer not null) without rowid;
"""
_UPSERT = "insert or replace into node values (?, ?, ?, ?, ?, ?)"


class _Commit(NamedTuple):
    """Rows to write and whom to tell when they are durable."""

    rows: list[NodeRow]
    gone: list[str]
    transaction: int
    applied: Applied
    done: asyncio.Future[None]


class _Watches:
    """A session's watches. One is spent when it fires; who wants to hear of the next change looks again, and so cannot
    miss what happened in between: looking and watching are one step."""

    def __init__(self) -> None:
        self.data: dict[str, list[Watch]] = {}
        self.children: dict[str, list[Watch]] = {}

    def take(self, event: WatchEvent) -> list[Watch]:
        """The watches that this event fires; they are spent."""
        if event.event is Event.CHILD:
            return self.children.pop(event.path, [])
        fired = self.data.pop(event.path, [])
        if event.event is Event.DELETED:
            fired = fired + self.children.pop(event.path, [])
        return fired


class LocalStore:
    """The shared tree. Make one per file (or none: `path=None` keeps it in memory), then one `session()` per broker."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._connection = _open(path) if path is not None else None
        self._tree = _load(self._connection) if self._connection is not None else Tree()
        self._sessions: dict[int, LocalSession] = {}
        self._next_session = 1
        #: What was applied to the tree and is not known to be on disk yet, oldest first.
        self._pending: deque[_Commit] = deque()
        #: The end of it that no write has been given yet.
        self._queue: list[_Commit] = []
        self._writing: asyncio.Future[sqlite3.Error | None] | None = None
        self._executor: ThreadPoolExecutor | None = None
        self._lost: StoreLostError | None = None

    def session(self) -> LocalSession:
        """A session of its own for each broker: its ephemeral nodes and watches end with it, and with nobody else's."""
        session = LocalSession(self, self._next_session)
        self._sessions[self._next_session] = session
        self._next_session += 1
        return session

    def expire(self, session_id: int) -> asyncio.Future[None] | None:
        """End a session as a ZooKeeper does that heard nothing of it: what fault tests use."""
        session = self._sessions.get(session_id)
        return session.end(lost=True) if session is not None else None

    async def close(self) -> None:
        """End every session, write what is queued, fold the journal back into the file."""
        for session in list(self._sessions.values()):
            await session.close()
        while self._writing is not None:
            await asyncio.wait([self._writing])
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # -- what sessions call ------------------------------------------------------------------------------------------

    @property
    def tree(self) -> Tree:
        return self._tree

    async def settled(self) -> None:
        """Wait until every write so far is durable, or taken back.

        Reads wait here. The tree in memory is ahead of the disk: whoever acted on what it shows (told a client that
        its topic is there) would have lied if the power failed before the commit.
        """
        if self._pending:
            await asyncio.wait([self._pending[-1].done])
        if self._lost is not None:
            raise self._lost

    def commit(self, applied: Applied) -> asyncio.Future[None]:
        """Queue the durable form of what the tree just applied; the future is done when it is on disk."""
        if self._lost is not None:
            raise self._lost
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        rows, gone = [], []
        for path in applied.touched:
            row = self._tree.row(path)
            if row is not None:
                rows.append(row)
            elif path not in self._tree.nodes:
                gone.append(path)
        commit = _Commit(rows, gone, self._tree.transaction, applied, done)
        self._pending.append(commit)
        if self._connection is None:
            loop.call_soon(self._committed, [commit])
            return done
        self._queue.append(commit)
        if self._writing is None:
            self._write_queued(loop)
        return done

    def forget(self, session_id: int) -> None:
        """A session has ended: no event is for it any more."""
        self._sessions.pop(session_id, None)

    # -- writing -----------------------------------------------------------------------------------------------------

    def _write_queued(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give everything that is queued to the thread: one write at a time, so that they follow one another."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(1, "tidelog-store")
        batch, self._queue = self._queue, []
        self._writing = loop.run_in_executor(self._executor, self._write, batch)
        self._writing.add_done_callback(lambda written: self._written(loop, batch, written))

    def _write(self, batch: list[_Commit]) -> sqlite3.Error | None:
        """On the thread. Nothing of the batch is on disk when an error is returned."""
        connection = self._connection
        assert connection is not None
        try:
            try:
                self._execute(connection, batch)
            except sqlite3.Error:
                if connection.in_transaction:
                    connection.execute("rollback")
                raise
        except sqlite3.Error as error:
            return error
        return None

    def _execute(self, connection: sqlite3.Connection, batch: list[_Commit]) -> None:
        """In the order of the commits: a path that one of them removes may be made again by the next. `begin immediate`
        takes the lock now, where a lock that is taken late could fail half way."""
        connection.execute("begin immediate")
        for commit in batch:
            connection.executemany("delete from node where path = ?", [(path,) for path in commit.gone])
            connection.executemany(_UPSERT, commit.rows)
        connection.execute("update store set value = ? where name = 'transaction'", (batch[-1].transaction,))
        connection.execute("commit")

    # -- back on the loop --------------------------------------------------------------------------------------------

    def _written(
        self, loop: asyncio.AbstractEventLoop, batch: list[_Commit], written: asyncio.Future[sqlite3.Error | None]
    ) -> None:
        self._writing = None
        error = written.exception() or written.result()
        if error is None:
            self._committed(batch)
        else:
            self._fail(error)
        if self._queue and self._writing is None:  # a watch that has just fired may have begun the next write
            self._write_queued(loop)

    def _committed(self, batch: list[_Commit]) -> None:
        """Durable: commit by commit, let who asked for it go on, and call who watches what it changed."""
        for commit in batch:
            self._pending.popleft()
            if not commit.done.done():
                commit.done.set_result(None)
            for event in commit.applied.events:
                for session in list(self._sessions.values()):
                    session.fire(event)

    def _fail(self, error: BaseException) -> None:
        """Answer everything that waits: what was applied after the failed commit was built on it, queued or not."""
        pending, self._pending = list(self._pending), deque()
        self._queue.clear()
        reason: StoreFullError | StoreLostError
        if _disk_full(error):
            reason = StoreFullError(f"{self.path} has no room for the change: {error}")
            logger.error("%s", reason.message)
            for commit in reversed(pending):
                self._tree.take_back(commit.applied)
        else:
            reason = self._lost = StoreLostError(str(self.path), f"commit failed: {error}")
        for commit in pending:
            if not commit.done.done():
                commit.done.set_exception(reason)
                commit.done.exception()  # whoever awaits it sees it; nobody has to
        if self._lost is not None:
            for session in list(self._sessions.values()):
                session.lose()


class LocalSession:
    """A session on a `LocalStore`; see `api.Store` for what each method promises.

    ZooKeeper expires a session of which it hears nothing for some seconds. This one lives in the same process as its
    store, so it ends when it is closed, when the store is lost, or when a test ends it as ZooKeeper would (`expire`).
    """

    def __init__(self, store: LocalStore, session_id: int) -> None:
        self.session_id = session_id
        self._store = store
        self._watches = _Watches()
        self._lost_callbacks: list[Callable[[], None]] = []
        self._over = False

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]:
        await self._readable()
        node = self._store.tree.node(path)
        if watch is not None:
            self._watches.data.setdefault(path, []).append(watch)
        return node.data, node.stat

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """One wait for all of them: a start reads every partition's state, and there may be ten thousand."""
        await self._readable()
        nodes = [self._store.tree.nodes.get(path) for path in paths]
        return [None if node is None else (node.data, node.stat) for node in nodes]

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None:
        check_path(path)
        await self._readable()
        if watch is not None:
            self._watches.data.setdefault(path, []).append(watch)
        node = self._store.tree.nodes.get(path)
        return None if node is None else node.stat

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """Sorted, where ZooKeeper promises no order: what is done for each is then done in the same order each time."""
        await self._readable()
        names = sorted(self._store.tree.node(path).children)
        if watch is not None:
            self._watches.children.setdefault(path, []).append(watch)
        return names

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
    ) -> str:
        operations: list[Operation] = []
        if make_parents:
            operations += [Create(parent) for parent in ancestors(path) if parent not in self._store.tree.nodes]
        operations.append(Create(path, data, ephemeral, sequential))
        result = (await self.multi(operations))[-1]
        assert isinstance(result, str)
        return result

    async def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        result = (await self.multi([SetData(path, data, version)]))[0]
        assert isinstance(result, Stat)
        return result

    async def delete(self, path: str, version: int = -1) -> None:
        await self.multi([Delete(path, version)])

    async def multi(self, operations: Sequence[Operation]) -> list[Result]:
        """Applied to the tree at once, answered when it is on disk. Who is cancelled while waiting has made the change
        all the same, and does not know it: callers that must know run as a `Change`, which nobody cancels."""
        self._check_alive()
        applied = self._store.tree.apply(operations, self.session_id)
        await self._store.commit(applied)
        return applied.results

    def on_lost(self, callback: Callable[[], None]) -> None:
        self._lost_callbacks.append(callback)

    async def close(self) -> None:
        ended = self.end(lost=False)
        if ended is not None:
            await ended

    # -- what the store calls ----------------------------------------------------------------------------------------

    def end(self, *, lost: bool) -> asyncio.Future[None] | None:
        """Give up the ephemeral nodes; what to wait for until that is durable. Nothing can be asked of it any more."""
        if self._over:
            return None
        self._over = True
        self._store.forget(self.session_id)
        applied = self._store.tree.end_session(self.session_id)
        try:
            ended = self._store.commit(applied) if applied.touched else None
        except StoreLostError:  # its disk is gone, and with it everything that the session could still say
            ended = None
        if lost:
            self.lose()
        return ended

    def lose(self) -> None:
        """Tell whoever holds the session that it is over: a broker then ends, as others may hold what was its own."""
        self._over = True
        callbacks, self._lost_callbacks = self._lost_callbacks, []
        for callback in callbacks:
            callback()

    def fire(self, event: WatchEvent) -> None:
        """Each session has its own watches, and hears of every change, its own included. One that fails is its owner's
        bug: those who wait for this commit, and for the next, have nothing to do with it."""
        for watch in self._watches.take(event):
            try:
                watch(event)
            except Exception:
                logger.exception("a watch of %s failed", event.path)

    async def _readable(self) -> None:
        self._check_alive()
        await self._store.settled()

    def _check_alive(self) -> None:
        if self._over:
            raise SessionExpiredError(f"session {self.session_id}")


def _disk_full(error: BaseException) -> bool:
    """By the primary code, the low byte: SQLite's extended codes tell of where it was noticed."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_FULL


def _open(path: Path) -> sqlite3.Connection:
    """Any thread may use the connection, but one at a time: the loop opens and closes it, the writer writes. Who finds
    it locked is told so at once: another broker has it for as long as it runs."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
    try:
        _prepare(connection)
    except sqlite3.Error as error:
        connection.close()
        if isinstance(error, sqlite3.OperationalError):
            hint = f"cannot be opened: {error} (is another broker using it?)"
        else:
            hint = f"is damaged: {error}; restore it, or move it away to adopt the logs anew"
        raise StoreLostError(str(path), hint) from error
    version = int(connection.execute("pragma user_version").fetchone()[0])
    if version != FORMAT_VERSION:
        connection.close()
        raise StoreLostError(str(path), f"format {version} is newer than this Tidelog knows ({FORMAT_VERSION})")
    return connection


def _prepare(connection: sqlite3.Connection) -> None:
    """`synchronous = full` syncs the log at every commit: what was answered survives a power loss. The schema is made
    in one transaction, so that a crash leaves a store or none."""
    connection.execute("pragma locking_mode = exclusive")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("pragma cache_size = -1024")
    if connection.execute("pragma user_version").fetchone()[0] == 0:
        connection.executescript(
            f"begin immediate; {_SCHEMA} insert into store values ('transaction', 0);"
            f" pragma user_version = {FORMAT_VERSION}; commit;"
        )


def _load(connection: sqlite3.Connection) -> Tree:
    """By path: a parent's is a prefix of its children's, and so comes first."""
    transaction = int(connection.execute("select value from store where name = 'transaction'").fetchone()[0])
    return Tree(map(NodeRow._make, connection.execute("select * from node order by path")), transaction)
