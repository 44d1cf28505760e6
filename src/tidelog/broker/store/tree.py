"""The tree in memory: ZooKeeper's data model as a pure structure.

`Tree.apply` takes the operations of one multi and applies all of them or none: each step notes how to undo itself,
and a refusal walks the notes backwards. What happened comes back as `Applied`: the results, the watch events in
the order in which they arose, and the paths whose durable form changed. No I/O, no clock, no threads: `local.py` has
those.

Each multi is a transaction with a number of its own, as in ZooKeeper (zxid): it is what `created` and `modified` hold.
One that was refused or taken back gives its number back, so that numbers count what really happened.

Paths are absolute (`/a/b`), without empty, `.` or `..` parts, and without a slash at the end; the root always exists.
A sequential node gets its parent's child version, as ten digits: it never repeats, even after deletions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tidelog.broker.store.api import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    Event,
    Operation,
    Result,
    SetData,
    Stat,
    WatchEvent,
)
from tidelog.broker.store.errors import (
    BadVersionError,
    InvalidPathError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    StoreError,
)
from tidelog.common.named_tuple import NamedTuple


class DataNode:
    """One node. Its path is the key under which the tree keeps it; `children` are names, not paths."""

    __slots__ = ("child_version", "children", "created", "data", "ephemeral_owner", "modified", "version")

    def __init__(
        self, data: bytes, created: int, modified: int, version: int = 0, child_version: int = 0, owner: int = 0
    ) -> None:
        self.data = data
        self.created = created
        self.modified = modified
        self.version = version
        self.child_version = child_version
        self.ephemeral_owner = owner
        self.children: set[str] = set()

    @property
    def stat(self) -> Stat:
        return Stat(
            self.created, self.modified, self.version, self.child_version, len(self.children), self.ephemeral_owner
        )


class Applied(NamedTuple):
    """What one multi did. `undo` holds a step per change, to be walked backwards: later changes stand on earlier ones.
    It is kept until the change is on disk, as a full disk takes back what memory has believed already."""

    results: list[Result]
    events: list[WatchEvent]
    touched: set[str]
    undo: list[Callable[[], object]]


class NodeRow(NamedTuple):
    """A node's durable form."""

    path: str
    data: bytes
    created: int
    modified: int
    version: int
    child_version: int


class Tree:
    def __init__(self, rows: Iterable[NodeRow] = (), transaction: int = 0) -> None:
        """Rebuild from rows, in any order that has parents before children (sorted by path does)."""
        self.transaction = transaction
        self.nodes: dict[str, DataNode] = {"/": DataNode(b"", 0, 0)}
        self.ephemerals: dict[int, set[str]] = {}
        for row in rows:
            node = DataNode(row.data, row.created, row.modified, row.version, row.child_version)
            if row.path == "/":
                self.nodes["/"] = node
                continue
            self.nodes[row.path] = node
            parent, name = split(row.path)
            self.nodes[parent].children.add(name)

    def node(self, path: str) -> DataNode:
        """Raises NoNodeError, or InvalidPathError for what could never be there: the cheap look comes first."""
        try:
            return self.nodes[path]
        except KeyError:
            check_path(path)
            raise NoNodeError(path) from None

    def row(self, path: str) -> NodeRow | None:
        """The durable form of a path: None when it is gone, or lives only as long as its session."""
        node = self.nodes.get(path)
        if node is None or node.ephemeral_owner:
            return None
        return NodeRow(path, node.data, node.created, node.modified, node.version, node.child_version)

    def apply(self, operations: Sequence[Operation], session: int) -> Applied:
        """All of it or nothing. Each operation sees what those before it did: a parent may be made and filled in one
        multi, and a check may hold what an earlier step wrote. The error that is raised says which one was refused."""
        self.transaction += 1
        applied = Applied([], [], set(), [])
        for index, operation in enumerate(operations):
            try:
                applied.results.append(self._apply(operation, session, applied))
            except StoreError as error:
                self.take_back(applied)
                error.index = index
                raise
        return applied

    def take_back(self, applied: Applied) -> None:
        """Undo what was applied last. Only ever the last: two that are taken back go in the opposite order."""
        for step in reversed(applied.undo):
            step()
        self.transaction -= 1

    def end_session(self, session: int) -> Applied:
        """Remove the session's ephemeral nodes, in one transaction: who looks at several of them (a broker's
        registration and its being the controller) never sees one gone and the other there."""
        return self.apply([Delete(path) for path in sorted(self.ephemerals.get(session, ()))], session)

    def _apply(self, operation: Operation, session: int, applied: Applied) -> Result:
        """A check changes nothing: it makes the whole multi depend on a version of a node that it does not write."""
        if isinstance(operation, SetData):
            return self._set(operation, applied)
        if isinstance(operation, Create):
            return self._create(operation, session, applied)
        if isinstance(operation, Delete):
            self._delete(operation, applied)
            return None
        _check_version(operation.path, self.node(operation.path), operation)
        return None

    def _create(self, operation: Create, session: int, applied: Applied) -> str:
        """The path, which for a sequential node is known only now. ZooKeeper's rules: the parent must be there, and
        must not be ephemeral, as a child would outlive it."""
        path = operation.path
        # The name of a sequential node may be empty: its digits are the name.
        check_path(path + "0" if operation.sequential else path)
        parent_path, name = split(path)
        parent = self.nodes.get(parent_path)
        if parent is None:
            raise NoNodeError(path, f"its parent {parent_path} does not exist")
        if parent.ephemeral_owner:
            raise NoChildrenForEphemeralsError(path)
        if operation.sequential:
            digits = f"{parent.child_version:010d}"
            path, name = path + digits, name + digits
        if path in self.nodes:
            raise NodeExistsError(path)
        owner = session if operation.ephemeral else 0
        self.nodes[path] = DataNode(operation.data, self.transaction, self.transaction, owner=owner)
        if owner:
            self.ephemerals.setdefault(owner, set()).add(path)
        self._link(parent, name)
        applied.undo.append(lambda: self._remove(path, owner, parent, name, child_version_step=-1))
        applied.events.extend((WatchEvent(Event.CREATED, path), WatchEvent(Event.CHILD, parent_path)))
        applied.touched.update((path, parent_path))
        return path

    def _set(self, operation: SetData, applied: Applied) -> Stat:
        """Compare and set: with a version, the write succeeds only if nobody has written since that version was read.
        That is all that two who believe themselves to be the controller have between them."""
        node = self.node(operation.path)
        _check_version(operation.path, node, operation)
        before = (node.data, node.version, node.modified)

        def restore() -> None:
            node.data, node.version, node.modified = before

        applied.undo.append(restore)
        node.data, node.version, node.modified = operation.data, node.version + 1, self.transaction
        applied.events.append(WatchEvent(Event.CHANGED, operation.path))
        applied.touched.add(operation.path)
        return node.stat

    def _delete(self, operation: Delete, applied: Applied) -> None:
        """Leaves only: whoever deletes a tree names its nodes children first (`api.delete_tree_operations`)."""
        path = operation.path
        node = self.node(path)
        if path == "/":
            raise InvalidPathError(path, "the root cannot be deleted")
        _check_version(path, node, operation)
        if node.children:
            raise NotEmptyError(path)
        parent_path, name = split(path)
        parent = self.nodes[parent_path]
        self._remove(path, node.ephemeral_owner, parent, name, child_version_step=1)

        def restore() -> None:
            self.nodes[path] = node
            if node.ephemeral_owner:
                self.ephemerals.setdefault(node.ephemeral_owner, set()).add(path)
            self._link(parent, name, child_version_step=-1)

        applied.undo.append(restore)
        applied.events.extend((WatchEvent(Event.DELETED, path), WatchEvent(Event.CHILD, parent_path)))
        applied.touched.update((path, parent_path))

    def _link(self, parent: DataNode, name: str, child_version_step: int = 1) -> None:
        """Undoing a deletion steps back: the child version counts what happened, and names sequential nodes."""
        parent.children.add(name)
        parent.child_version += child_version_step

    def _remove(self, path: str, owner: int, parent: DataNode, name: str, child_version_step: int) -> None:
        """Deletes a node, or undoes its making: then the parent's child version steps back, as if it had never been."""
        del self.nodes[path]
        parent.children.discard(name)
        parent.child_version += child_version_step
        if owner:
            owned = self.ephemerals[owner]
            owned.discard(path)
            if not owned:
                del self.ephemerals[owner]


def split(path: str) -> tuple[str, str]:
    """`/a/b` → (`/a`, `b`)."""
    parent, _, name = path.rpartition("/")
    return parent or "/", name


def check_path(path: str) -> None:
    """Raise InvalidPathError for what ZooKeeper would refuse: a store on it is to take the same paths."""
    if path == "/":
        return
    if not path.startswith("/") or any(part in ("", ".", "..") for part in path[1:].split("/")) or "\0" in path:
        raise InvalidPathError(path)


def ancestors(path: str) -> Iterator[str]:
    """The parents of a path, top down, without the root: `/a/b/c` → `/a`, `/a/b`."""
    position = path.find("/", 1)
    while position > 0:
        yield path[:position]
        position = path.find("/", position + 1)


def _check_version(path: str, node: DataNode, operation: SetData | Delete | Check) -> None:
    if operation.version not in (ANY_VERSION, node.version):
        raise BadVersionError(path, f"expected version {operation.version}, it is {node.version}")
