"""One session on the store, with ZooKeeper's semantics.

- **Versions.** Each node counts its changes of data (`Stat.version`, from 0). `set`, `delete` and `Check` take the
  version that the caller saw and fail with `BadVersionError` when it has moved on; `ANY_VERSION` does not look.
- **Multi.** A list of operations is applied as one, or not at all; the error says which one refused (`index`).
- **Durable before answered.** An operation that returned has been written through; reads see only such state.
- **Sessions and ephemeral nodes.** A node may belong to a session: it disappears when the session ends.
- **One-shot watches.** A watch given to `get`, `exists` or `children` is called once, at the next change of what that
  call looked at, after the change is durable and visible. Look again to watch again. A failed `get` leaves no watch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Protocol

from tidelog.broker.store.errors import NodeExistsError
from tidelog.common.named_tuple import NamedTuple

ANY_VERSION = -1


class Stat(NamedTuple):
    """What the store knows of a node besides its data."""

    created: int  # number of the transaction that made it (ZooKeeper's czxid)
    modified: int  # ... that last changed its data (mzxid)
    version: int  # changes of data
    child_version: int  # children made or removed (cversion)
    children: int
    ephemeral_owner: int  # session id, or 0


class Event(Enum):
    CREATED = "created"
    DELETED = "deleted"
    CHANGED = "changed"
    CHILD = "child"


class WatchEvent(NamedTuple):
    event: Event
    path: str


Watch = Callable[[WatchEvent], None]


class Create(NamedTuple):
    """Make a node. `sequential` appends ten digits to its name; `ephemeral` ties it to the session."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class SetData(NamedTuple):
    path: str
    data: bytes
    version: int = ANY_VERSION


class Delete(NamedTuple):
    path: str
    version: int = ANY_VERSION


class Check(NamedTuple):
    path: str
    version: int = ANY_VERSION


Operation = Create | SetData | Delete | Check
#: Create → the path made; SetData → the new Stat; Delete, Check → None.
Result = str | Stat | None


class Store(Protocol):
    """A session. Used from one event loop; every method may be called concurrently, operations keep their order."""

    @property
    def session_id(self) -> int: ...

    async def get(self, path: str, watch: Watch | None = None) -> tuple[bytes, Stat]: ...

    async def get_many(self, paths: Sequence[str]) -> list[tuple[bytes, Stat] | None]:
        """The data of many nodes at the price of one round trip; None for those that do not exist."""
        ...

    async def exists(self, path: str, watch: Watch | None = None) -> Stat | None: ...

    async def children(self, path: str, watch: Watch | None = None) -> list[str]:
        """Names (not paths) of the children, sorted."""
        ...

    async def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        make_parents: bool = False,
    ) -> str:
        """Make a node; returns its path. `sequential` appends ten digits that never repeat under this parent."""
        ...

    async def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> Stat: ...

    async def delete(self, path: str, version: int = ANY_VERSION) -> None: ...

    async def multi(self, operations: Sequence[Operation]) -> list[Result]: ...

    def on_lost(self, callback: Callable[[], None]) -> None:
        """Call back once when the session ends other than by `close`."""
        ...

    async def close(self) -> None:
        """End the session: its ephemeral nodes are removed."""
        ...


async def ensure_path(store: Store, path: str) -> None:
    """Make a persistent node and its parents where they are missing."""
    if await store.exists(path) is not None:
        return
    try:
        await store.create(path, make_parents=True)
    except NodeExistsError:
        return


async def delete_tree_operations(store: Store, path: str) -> list[Operation]:
    """The deletes, children first, that remove a node and all below it (nothing when it does not exist)."""
    if await store.exists(path) is None:
        return []
    operations: list[Operation] = []
    for name in await store.children(path):
        operations += await delete_tree_operations(store, f"{path}/{name}")
    operations.append(Delete(path))
    return operations


async def ensure_paths(store: Store, paths: Sequence[str]) -> None:
    """Make persistent nodes and their parents where they are missing: all in one step, so that a store that is begun
    is never found half made. Reads once and, on a store that has everything, writes nothing."""
    wanted = dict.fromkeys(
        "/".join(parts[:length]) for parts in (path.split("/") for path in paths) for length in range(2, len(parts) + 1)
    )
    found = await store.get_many(list(wanted))
    missing = [Create(path) for path, item in zip(wanted, found, strict=True) if item is None]
    if missing:
        await store.multi(missing)
