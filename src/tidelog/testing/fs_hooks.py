"""A file system that reports every operation before and after it happens: what the disk doubles are built on.

`HookedFileSystem` does the real work through another `FileSystem` (so doubles nest: record what a failing disk does)
and calls two methods that a subclass overrides:

- `before(operation)` may raise `OSError`: then the operation did not happen. For a write it may also return how many
  bytes still fit; that many are written and then the error is raised, as a full disk does.
- `after(operation)` sees what did happen.

Maps are held in plain memory here, not in the page cache: a real map would change its file behind the double's back.
Their changed pages reach the file, each by a write of its own, when the map is synced, resized or closed, when the
whole file system is synced, and whenever `flush_maps` is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

from tidelog.common.fs import Buffer, File, FileLock, FileStat, FileSystem, LocalFileSystem, MappedFile, Volume
from tidelog.common.named_tuple import NamedTuple

T = TypeVar("T")

PAGE = 4096


class Operation(NamedTuple):
    """One thing that was asked of the disk. `kind` is the method's name: open, write, truncate, sync, rename, ..."""

    kind: str
    path: Path
    target: Path | None = None
    position: int = 0
    data: bytes = b""
    #: Of what is reserved.
    size: int = 0


class HookedFile(File):
    """A file whose changes pass through its file system's hooks."""

    __slots__ = ("__weakref__", "_fs", "_inner")

    def __init__(self, fs: HookedFileSystem, inner: File) -> None:
        super().__init__(inner.path, inner.fileno())
        self._fs = fs
        self._inner = inner
        fs.files.add(self)

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        data = b"".join(buffers)
        operation = Operation("write", self.path, position=position, data=data)
        try:
            self._fs.before(operation)
        except ShortWriteError as error:
            kept = data[: error.fits]
            if kept:
                self._inner.write_at(position, [kept])
                self._fs.after(operation._replace(data=kept))
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        written = self._inner.write_at(position, [data])
        self._fs.after(operation)
        return written

    def truncate(self, size: int) -> None:
        self._fs.run(Operation("truncate", self.path, position=size), lambda: self._inner.truncate(size))

    def reserve(self, position: int, size: int) -> None:
        operation = Operation("reserve", self.path, position=position, size=size)
        self._fs.run(operation, lambda: self._inner.reserve(position, size))

    def write_back(self, position: int, data: bytes) -> None:
        """A page of a map reaches the file: no write that anybody asked for, and it takes no room."""
        inner = self._inner

        def act() -> None:
            if isinstance(inner, HookedFile):
                inner.write_back(position, data)
            else:
                inner.write_at(position, [data])

        self._fs.run(Operation("write_back", self.path, position=position, data=data), act)

    def sync(self) -> None:
        self._fs.run(Operation("sync", self.path), self._inner.sync)

    def read_at(self, position: int, size: int) -> bytes:
        self._fs.before(Operation("read", self.path, position=position))
        return self._inner.read_at(position, size)

    def read_into(self, position: int, buffer: bytearray | memoryview) -> int:
        self._fs.before(Operation("read", self.path, position=position))
        return self._inner.read_into(position, buffer)

    def close(self) -> None:
        self._inner.close()
        self._fd = -1


class ShortWriteError(OSError):
    """Raised by `before` to let `fits` bytes of a write through before it fails."""

    def __init__(self, errno: int, strerror: str, fits: int) -> None:
        super().__init__(errno, strerror)
        self.fits = fits


class BusError(Exception):
    """A page of a map was touched that may not be had: on a real disk, when it is full, the process ends (SIGBUS)."""


class HookedMap(MappedFile):
    """A map in plain memory. `written_back` is what the file holds of it.

    A page can be had when the file held bytes there, or room for it was reserved; the first write to any other is a
    `BusError` when it is written back, whether or not the disk is full at that time.
    """

    __slots__ = ("_file", "_fs", "_had", "_released", "written_back")

    def __init__(self, fs: HookedFileSystem, file: HookedFile, size: int, writable: bool) -> None:
        self.path = file.path
        self.size = size
        self._fs = fs
        self._file = file
        self._writable = writable
        self._released = False
        self.written_back = file.read_at(0, size)
        self.data = bytearray(self.written_back)
        self._had = {start for start, page in _pages(self.written_back) if any(page)}

    def write_back(self) -> None:
        """Bring changed pages into the file, as the kernel may do at any time."""
        if self._released or bytes(self.data) == self.written_back:
            return
        if not self._writable:
            raise BusError(f"{self.path}: written to, though it is mapped to be read")
        before, self.written_back = self.written_back, bytes(self.data)
        for start, page in _pages(self.written_back):
            if page != before[start : start + PAGE]:
                if start not in self._had:
                    raise BusError(f"{self.path}: the page at {start} was touched before there was room for it")
                self._file.write_back(start, page)

    def resize(self, size: int) -> None:
        """What was cut off is gone; what is new reads as zeros, and is not to be had yet (`reserve`)."""
        self.write_back()
        self._file.truncate(size)
        self.size = size
        self.written_back = self._file.read_at(0, size)
        self.data = bytearray(self.written_back)
        self._had = {start for start in self._had if start < size}

    def seal(self, size: int) -> None:
        """No more changes: the index of a segment that is full. Writing to it later is a fault that shows here."""
        self.resize(size)
        self._writable = False

    def reserve(self, position: int, size: int) -> None:
        self._file.reserve(position, size)
        self._had.update(range(position - position % PAGE, position + size, PAGE))

    def sync(self) -> None:
        self.write_back()
        self._file.sync()

    def close(self) -> None:
        if self._released:
            return
        self.write_back()
        self._released = True
        self._fs.maps.remove(self)
        self._file.close()
        self.data = bytearray()


def _pages(data: bytes) -> Iterator[tuple[int, bytes]]:
    for start in range(0, len(data), PAGE):
        yield start, data[start : start + PAGE]


class HookedVolume(Volume):
    """A file system as a whole; syncing it is one operation, `sync_fs`."""

    __slots__ = ("_fs", "_inner")

    def __init__(self, fs: HookedFileSystem, inner: Volume) -> None:
        super().__init__(inner.path, -1)
        self._fs = fs
        self._inner = inner

    def holds(self, path: Path) -> bool:
        return self._inner.holds(path)

    def sync(self) -> None:
        self._fs.flush_maps()
        self._fs.run(Operation("sync_fs", self.path), self._inner.sync)

    def close(self) -> None:
        self._inner.close()


class HookedFileSystem:
    """A `FileSystem` with hooks; by itself it changes nothing.

    Everything that the seam (`tidelog.common.fs`) offers passes here, so that a double misses nothing. What is made of
    several operations, as an atomic write is, is shown as those: a crash may fall between any two of them.
    """

    def __init__(self, inner: FileSystem | None = None) -> None:
        self.inner: FileSystem = inner or LocalFileSystem()
        self.maps: list[HookedMap] = []
        #: Those that are open: a rename of their directory gives them another path.
        self.files: WeakSet[HookedFile] = WeakSet()

    def before(self, operation: Operation) -> None:
        """Called before an operation; raise to make it fail."""

    def after(self, operation: Operation) -> None:
        """Called once the operation has happened."""

    def run(self, operation: Operation, act: Callable[[], T]) -> T:
        """`after` is not called for what failed, whether the double or the real disk refused it."""
        self.before(operation)
        result = act()
        self.after(operation)
        return result

    def flush_maps(self) -> None:
        """As the kernel does when it likes: a crash test calls it to have pages reach the disk early."""
        for mapped in list(self.maps):
            mapped.write_back()

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> HookedFile:
        kind = "create" if create and not self.inner.exists(path) else "open"
        return HookedFile(
            self, self.run(Operation(kind, path), lambda: self.inner.open(path, create=create, write=write))
        )

    def map(self, path: Path, *, size: int | None = None, write: bool = True) -> MappedFile:
        file = self.open(path, create=size is not None, write=write)
        try:
            if size is None:
                size = file.size()
            elif file.size() != size:
                file.truncate(size)
            mapped = HookedMap(self, file, size, write)
        except BaseException:
            file.close()
            raise
        self.maps.append(mapped)
        return mapped

    def lock(self, path: Path) -> FileLock | None:
        kind = "open" if self.inner.exists(path) else "create"
        return self.run(Operation(kind, path), lambda: self.inner.lock(path))

    def read_bytes(self, path: Path) -> bytes:
        self.before(Operation("read", path))
        return self.inner.read_bytes(path)

    # The composite keeps its steps visible: a crash can fall between any two of them.
    write_atomic = LocalFileSystem.write_atomic

    def rename(self, source: Path, target: Path) -> None:
        self.run(Operation("rename", source, target), lambda: self.inner.rename(source, target))
        for file in list(self.files):
            if file.path.is_relative_to(source):
                file.path = target / file.path.relative_to(source)

    def unlink(self, path: Path, *, missing_ok: bool = False) -> None:
        if missing_ok and not self.inner.exists(path):
            return
        self.run(Operation("unlink", path), lambda: self.inner.unlink(path))

    def truncate(self, path: Path, size: int) -> None:
        self.run(Operation("truncate", path, position=size), lambda: self.inner.truncate(path, size))

    def mkdir(self, path: Path) -> bool:
        if self.inner.exists(path):
            return False
        self.run(Operation("mkdir", path), lambda: self.inner.mkdir(path))
        return True

    def rmdir(self, path: Path) -> None:
        self.run(Operation("rmdir", path), lambda: self.inner.rmdir(path))

    def listdir(self, path: Path) -> list[str]:
        self.before(Operation("read", path))
        return self.inner.listdir(path)

    def subdirectories(self, path: Path) -> list[str]:
        """Counts as one read: a directory that cannot be listed fails as a whole."""
        self.before(Operation("read", path))
        return self.inner.subdirectories(path)

    def sizes(self, path: Path) -> dict[str, int]:
        """Counts as one read, of the directory. A map's file has its size already; only its bytes may lag behind."""
        self.before(Operation("read", path))
        return self.inner.sizes(path)

    def exists(self, path: Path) -> bool:
        return self.inner.exists(path)

    def stat(self, path: Path) -> FileStat:
        self.before(Operation("read", path))
        return self.inner.stat(path)

    def set_mtime(self, path: Path, mtime_ms: int) -> None:
        self.run(Operation("set_mtime", path, position=mtime_ms), lambda: self.inner.set_mtime(path, mtime_ms))

    def sync_dir(self, path: Path) -> None:
        self.run(Operation("sync_dir", path), lambda: self.inner.sync_dir(path))

    def volume(self, path: Path) -> Volume | None:
        inner = self.inner.volume(path)
        return None if inner is None else HookedVolume(self, inner)

    def disk_usage(self, path: Path) -> tuple[int, int]:
        return self.inner.disk_usage(path)
