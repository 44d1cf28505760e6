"""A model of a disk that knows what is durable: what a machine finds after its power failed.

Names and bytes become durable separately, as POSIX allows and file systems do:

- a file's bytes (and its size) when the file is synced;
- a name that was created, renamed or removed when its directory is synced;
- all of both when the file system is synced as a whole.

`survival.py` has the mixtures of lost and kept that a recovery must cope with. Time goes forward by `apply`; at any
moment `materialise` writes what would survive into a real directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tidelog.common.rng import Rng
from tidelog.testing.fs_hooks import Operation
from tidelog.testing.survival import PowerLoss, Survival


@dataclass
class _FileNode:
    """A file: what a reader sees now, and what was there at its last sync. It has no name: names belong to directories,
    and one that is renamed keeps its bytes, synced or not."""

    data: bytearray = field(default_factory=bytearray)
    synced: bytes = b""
    mtime_ms: int | None = None
    #: The last write's (position, size), for `TORN`.
    last_write: tuple[int, int] | None = None

    def surviving(self, survival: Survival | PowerLoss, torn: bool, rng: Rng | None) -> bytes:
        """Its bytes after the power failed. `torn`: it was the one being written to at that moment."""
        if isinstance(survival, PowerLoss) and rng is not None:
            return survival.bytes_of(self.data, self.synced, rng)
        if survival in (Survival.SYNCED, Survival.NAMES):
            return self.synced
        if survival is Survival.ZEROS:
            kept = self.synced[: len(self.data)]
            return kept + bytes(len(self.data) - len(kept))
        if survival is Survival.TORN and torn and self.last_write is not None:
            position, size = self.last_write
            return bytes(self.data[: position + size // 2])
        return bytes(self.data)

    def sync(self) -> None:
        self.synced = bytes(self.data)


@dataclass
class _DirNode:
    """A directory: names now, names at its last sync, and the changes in between one by one. A file system may have
    written any of them by itself, in any mixture: a power loss keeps some and loses others."""

    entries: dict[str, _FileNode | _DirNode] = field(default_factory=dict)
    synced: dict[str, _FileNode | _DirNode] = field(default_factory=dict)
    #: The changes since `synced`, oldest first: name → what it stands for from then on (None: nothing).
    changes: list[dict[str, _FileNode | _DirNode | None]] = field(default_factory=list)

    def change(self, names: dict[str, _FileNode | _DirNode | None]) -> None:
        """Change names in one step."""
        _rename(self.entries, names)
        self.changes.append(names)

    def sync(self) -> None:
        self.synced = dict(self.entries)
        self.changes.clear()

    def surviving(self, survival: Survival | PowerLoss, rng: Rng | None) -> dict[str, _FileNode | _DirNode]:
        if survival is Survival.SYNCED:
            return self.synced
        if rng is None:
            return self.entries
        found = dict(self.synced)
        for names in self.changes:
            if rng.random() < 0.5:
                _rename(found, names)
        return found


def _rename(entries: dict[str, _FileNode | _DirNode], names: dict[str, _FileNode | _DirNode | None]) -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


class CrashDisk:
    """The state of the tree below `root` (a directory that is durable itself)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._tree = _DirNode()
        self._last_written: _FileNode | None = None
        self._applied = 0

    def load(self) -> None:
        """Take what lies below `root` now as durable."""
        self._tree = _load(self.root)

    def apply(self, operation: Operation) -> None:
        """Let one operation happen. Operations outside `root` are not ours."""
        self._applied += 1
        if operation.kind == "sync_fs":  # wherever in the file system it was asked for
            _sync_all(self._tree)
        if not operation.path.is_relative_to(self.root):
            return
        self._last_written = None
        getattr(self, f"_{operation.kind}", self._ignore)(operation)

    def materialise(self, survival: Survival | PowerLoss, target: Path) -> None:
        """Write what survives a crash at this moment below `target`, which must not exist yet."""
        rng = survival.rng(self._applied) if isinstance(survival, PowerLoss) else None
        self._write_tree(self._tree, survival, target, rng)

    # --- operations ---------------------------------------------------------------------------------------------

    def _ignore(self, operation: Operation) -> None:
        """open and read change nothing."""

    def _create(self, operation: Operation) -> None:
        self._parent(operation.path).change({operation.path.name: _FileNode()})

    def _write(self, operation: Operation) -> None:
        """A hole before the position reads as zeros, as on any file system."""
        node = self._file(operation.path)
        end = operation.position + len(operation.data)
        if len(node.data) < end:
            node.data.extend(bytes(end - len(node.data)))
        node.data[operation.position : end] = operation.data
        node.last_write = (operation.position, len(operation.data))
        self._last_written = node

    def _write_back(self, operation: Operation) -> None:
        self._write(operation)

    def _truncate(self, operation: Operation) -> None:
        """`position` is the new size; what is longer than before reads as zeros."""
        node = self._file(operation.path)
        size = operation.position
        del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))

    def _sync(self, operation: Operation) -> None:
        self._file(operation.path).sync()

    def _set_mtime(self, operation: Operation) -> None:
        node = self._node(operation.path)
        if isinstance(node, _FileNode):
            node.mtime_ms = operation.position

    def _rename(self, operation: Operation) -> None:
        """Within one directory it is one change: after a crash the file has either name, never both or none. Between
        two directories it is two, and a crash may find both names or neither, until both directories are synced."""
        if operation.target is None:
            raise ValueError("a rename has a target")
        source, target = self._parent(operation.path), self._parent(operation.target)
        node = source.entries[operation.path.name]
        if source is target:
            source.change({operation.path.name: None, operation.target.name: node})
        else:
            source.change({operation.path.name: None})
            target.change({operation.target.name: node})

    def _unlink(self, operation: Operation) -> None:
        self._parent(operation.path).change({operation.path.name: None})

    def _rmdir(self, operation: Operation) -> None:
        self._unlink(operation)

    def _mkdir(self, operation: Operation) -> None:
        """With its parents, as `mkdir -p`: each is a name to be synced by itself."""
        node = self._tree
        for name in operation.path.relative_to(self.root).parts:
            if name not in node.entries:
                node.change({name: _DirNode()})
            child = node.entries[name]
            if not isinstance(child, _DirNode):
                raise ValueError(f"{operation.path} passes through a file")
            node = child

    def _sync_dir(self, operation: Operation) -> None:
        node = self._node(operation.path)
        if isinstance(node, _DirNode):
            node.sync()

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

    def _write_tree(self, node: _DirNode, survival: Survival | PowerLoss, target: Path, rng: Rng | None) -> None:
        target.mkdir(parents=True)
        for name, child in sorted(node.surviving(survival, rng).items()):
            if isinstance(child, _DirNode):
                self._write_tree(child, survival, target / name, rng)
                continue
            (target / name).write_bytes(child.surviving(survival, child is self._last_written, rng))
            if child.mtime_ms is not None:
                _set_mtime(target / name, child.mtime_ms)


def _sync_all(node: _DirNode) -> None:
    """syncfs(2): every name and every byte, at the price of one wait."""
    node.sync()
    for child in node.entries.values():
        if isinstance(child, _DirNode):
            _sync_all(child)
        else:
            child.sync()


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
