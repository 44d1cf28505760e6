"""A model of a disk that knows what is durable: what a machine finds after its power failed.

Names and bytes become durable separately, as POSIX allows and file systems do:

- a file's bytes (and its size) when the file is synced;
- a name that was created, renamed or removed when its directory is synced.

`Survival` names the mixtures of lost and kept that a recovery must cope with. Time goes forward by `apply`; at any
moment `materialise` writes what would survive into a real directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from tidelog.testing.fs_hooks import Operation


class Survival(Enum):
    """What is found after the crash, of what was not synced."""

    #: Nothing: the strictest disk.
    SYNCED = "only synced bytes and names"
    #: Everything: the process was killed, the machine lives on.
    ALL = "everything"
    #: Names but no bytes: files exist, cut to what was synced.
    NAMES = "all names, only synced bytes"
    #: Names and sizes, but unsynced bytes read as zeros, as after delayed allocation.
    ZEROS = "all names and sizes, unsynced bytes are zeros"
    #: Everything but the second half of the write that was under way.
    TORN = "everything, the last write is cut in half"


@dataclass
class _FileNode:
    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    mtime_ms: int | None = None
    #: The last write's (position, size), for `TORN`.
    last_write: tuple[int, int] | None = None

    def surviving(self, survival: Survival, torn: bool) -> bytes:
        if survival in (Survival.SYNCED, Survival.NAMES):
            return self.synced
        if survival is Survival.ZEROS:
            kept = self.synced[: len(self.data)]
            return kept + bytes(len(self.data) - len(kept))
        if survival is Survival.TORN and torn and self.last_write is not None:
            position, size = self.last_write
            return bytes(self.data[: position + size // 2])
        return bytes(self.data)


@dataclass
class _DirNode:
    entries: dict[str, _FileNode | _DirNode] = field(default_factory=dict)
    synced: dict[str, _FileNode | _DirNode] = field(default_factory=dict)


class CrashDisk:
    """The state of the tree below `root` (a directory that is durable itself)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._tree = _DirNode()
        self._last_written: _FileNode | None = None

    def load(self) -> None:
        """Take what lies below `root` now as durable."""
        self._tree = _load(self.root)

    def apply(self, operation: Operation) -> None:
        """Let one operation happen. Operations outside `root` are not ours."""
        if not operation.path.is_relative_to(self.root):
            return
        self._last_written = None
        getattr(self, f"_{operation.kind}", self._ignore)(operation)

    def materialise(self, survival: Survival, target: Path) -> None:
        """Write what survives a crash at this moment below `target`, which must not exist yet."""
        self._write_tree(self._tree, survival, target)

    # --- operations ---------------------------------------------------------------------------------------------

    def _ignore(self, operation: Operation) -> None:
        """open and read change nothing."""

    def _create(self, operation: Operation) -> None:
        self._parent(operation.path).entries[operation.path.name] = _FileNode()

    def _write(self, operation: Operation) -> None:
        node = self._file(operation.path)
        end = operation.position + len(operation.data)
        if len(node.data) < end:
            node.data.extend(bytes(end - len(node.data)))
        node.data[operation.position : end] = operation.data
        node.last_write = (operation.position, len(operation.data))
        self._last_written = node

    def _truncate(self, operation: Operation) -> None:
        node = self._file(operation.path)
        size = operation.position
        del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))

    def _sync(self, operation: Operation) -> None:
        node = self._file(operation.path)
        node.synced = bytes(node.data)

    def _set_mtime(self, operation: Operation) -> None:
        node = self._node(operation.path)
        if isinstance(node, _FileNode):
            node.mtime_ms = operation.position

    def _rename(self, operation: Operation) -> None:
        if operation.target is None:
            raise ValueError("a rename has a target")
        node = self._parent(operation.path).entries.pop(operation.path.name)
        self._parent(operation.target).entries[operation.target.name] = node

    def _unlink(self, operation: Operation) -> None:
        del self._parent(operation.path).entries[operation.path.name]

    def _rmdir(self, operation: Operation) -> None:
        self._unlink(operation)

    def _mkdir(self, operation: Operation) -> None:
        node = self._tree
        for name in operation.path.relative_to(self.root).parts:
            child = node.entries.setdefault(name, _DirNode())
            if not isinstance(child, _DirNode):
                raise ValueError(f"{operation.path} passes through a file")
            node = child

    def _sync_dir(self, operation: Operation) -> None:
        node = self._node(operation.path)
        if isinstance(node, _DirNode):
            node.synced = dict(node.entries)

    # --- the tree -----------------------------------------------------------------------------------------------

    def _node(self, path: Path) -> _FileNode | _DirNode:
        node: _FileNode | _DirNode = self._tree
        for name in path.relative_to(self.root).parts:
            if not isinstance(node, _DirNode):
                raise ValueError(f"{path} passes through a file")
            node = node.entries[name]
        return node

    def _parent(self, path: Path) -> _DirNode:
        node = self._node(path.parent)
        if not isinstance(node, _DirNode):
            raise ValueError(f"{path.parent} is no directory")
        return node

    def _file(self, path: Path) -> _FileNode:
        node = self._node(path)
        if not isinstance(node, _FileNode):
            raise ValueError(f"{path} is a directory")
        return node

    def _write_tree(self, node: _DirNode, survival: Survival, target: Path) -> None:
        target.mkdir(parents=True)
        entries = node.synced if survival is Survival.SYNCED else node.entries
        for name, child in entries.items():
            if isinstance(child, _DirNode):
                self._write_tree(child, survival, target / name)
                continue
            (target / name).write_bytes(child.surviving(survival, child is self._last_written))
            if child.mtime_ms is not None:
                _set_mtime(target / name, child.mtime_ms)


def _load(path: Path) -> _DirNode:
    node = _DirNode()
    for child in path.iterdir():
        if child.is_dir():
            node.entries[child.name] = _load(child)
        else:
            data = child.read_bytes()
            node.entries[child.name] = _FileNode(bytearray(data), data, child.stat().st_mtime_ns // 1_000_000)
    node.synced = dict(node.entries)
    return node


def _set_mtime(path: Path, mtime_ms: int) -> None:
    os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))


@dataclass(frozen=True)
class CrashPoint:
    """A place where the power failed: before operation number `index` was begun."""

    index: int
    last: Operation | None

    def __str__(self) -> str:
        return (
            f"crash after operation {self.index} ({self.last.kind} {self.last.path.name})" if self.last else "no crash"
        )


def crashes(disk: CrashDisk, journal: list[Operation]) -> Iterator[CrashPoint]:
    """Apply the journal one operation at a time; at each yield `disk` stands at that crash point."""
    yield CrashPoint(0, None)
    for index, operation in enumerate(journal, 1):
        disk.apply(operation)
        yield CrashPoint(index, operation)
