"""The seam to the disk: every file, map, rename and fsync of Tidelog goes through a `FileSystem`.

`LocalFileSystem` is the real one. `tidelog.testing` wraps it with doubles: one records every operation, so that a
crash can be replayed at each of them with unsynced bytes forgotten; one fails on demand (full disk, I/O error).

Rules that callers rely on:

- Errors are plain `OSError`s. Who owns the directory (the log manager) decides that it goes offline.
- Nothing is durable before `sync` returned; a created, renamed or removed name not before `sync_dir` of its directory.
  `Volume.sync` does both for everything at once: cheaper than thousands of files, dearer than a few.
- A failed sync is never retried: the kernel may have dropped the dirty pages and would report success the second time.
- A `File` is closed exactly once, by its owner; `fileno` stays valid until then (zero-copy reads rely on it).

What a power loss may take, for whoever writes: a file's bytes without `sync`; its size, too; a new name whose directory
was not synced, although the file's own bytes were; and the old name may still be there after a rename. It takes them in
any mixture, page by page. So "write, sync, rename, sync the directory" is one idiom (`write_atomic`), and anything
shorter is an assumption about a file system.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import mmap
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from stat import S_ISDIR
from typing import Protocol

from tidelog.common.named_tuple import NamedTuple

Buffer = bytes | bytearray | memoryview

#: The most buffers that one writev may take (Linux: 1,024).
IOV_MAX = min(os.sysconf("SC_IOV_MAX"), 1024)
_READ_AT_ONCE = 1 << 16


class FileStat(NamedTuple):
    """What one `stat` tells, in Kafka's units."""

    size: int
    mtime_ms: int
    is_dir: bool


class File:
    """An open file. Reads and writes name their position or append; no hidden file pointer is relied on."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> int:
        """Write all of `buffers` one after the other from `position` on; return the bytes written.

        A short write (full disk, signal) is continued; an error leaves whatever was written before it.
        """
        total = sum(map(len, buffers))
        if len(buffers) <= IOV_MAX:
            written = os.pwritev(self._fd, buffers, position)
            if written == total:
                return total
        else:
            written = 0
        return self._write_rest(position, buffers, written)

    def _write_rest(self, position: int, buffers: Sequence[Buffer], written: int) -> int:
        skip = written
        for buffer in buffers:
            view = memoryview(buffer).cast("B")
            if skip >= len(view):
                skip -= len(view)
                continue
            view, skip = view[skip:], 0
            while view:
                count = os.pwrite(self._fd, view, position + written)
                written += count
                view = view[count:]
        return written

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        data = os.pread(self._fd, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        have = len(data)
        while have < size and (more := os.pread(self._fd, size - have, position + have)):
            parts.append(more)
            have += len(more)
        return b"".join(parts)

    def read_into(self, position: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer` from `position`; return how many bytes the file had."""
        view = memoryview(buffer)
        have = 0
        while have < len(view) and (count := os.preadv(self._fd, [view[have:]], position + have)):
            have += count
        return have

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def reserve(self, position: int, size: int) -> None:
        """Make the disk keep room for these bytes, which were never written to."""
        _reserve(self._fd, position, size)

    def sync(self) -> None:
        """Make the file's bytes and size durable."""
        os.fsync(self._fd)

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


def _reserve(fd: int, position: int, size: int) -> None:
    """Room that was promised by the disk: a later write there cannot fail for want of it."""
    try:
        os.posix_fallocate(fd, position, size)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        # A file system without this call: zeros that are written take room as well.
        written = 0
        while written < size:
            written += os.pwrite(fd, bytes(size - written), position + written)


class MappedFile:
    """A file mapped into memory, writable or not: what the offset and time indexes live in.

    `data` changes identity on `resize` and `seal`; never keep slices of it across one. Before a byte of a sparse file
    is written, its page must be had: `reserve` it. On a full disk that fails as any write does; touching a page that
    cannot be had would end the process instead (SIGBUS).
    """

    __slots__ = ("_fd", "_writable", "data", "path", "size")

    def __init__(self, path: Path, fd: int, size: int, writable: bool) -> None:
        self.path = path
        self.size = size
        self._fd = fd
        self._writable = writable
        self.data: mmap.mmap | bytearray = self._map()

    def _map(self) -> mmap.mmap | bytearray:
        if self.size == 0:  # an empty file cannot be mapped
            return bytearray()
        access = mmap.ACCESS_WRITE if self._writable else mmap.ACCESS_READ
        data = mmap.mmap(self._fd, self.size, access=access)
        # Without this the first touch of a preallocated index reads ahead: milliseconds, and megabytes of zeros.
        data.madvise(mmap.MADV_RANDOM)
        return data

    def resize(self, size: int) -> None:
        """Cut or grow the file (new bytes are zero) and map it anew."""
        os.ftruncate(self._fd, size)
        self._unmap()
        self.size = size
        self.data = self._map()

    def seal(self, size: int) -> None:
        """Cut the file to `size` and map it anew without permission to write."""
        self._writable = False
        self.resize(size)

    def reserve(self, position: int, size: int) -> None:
        """Make the disk keep room for these bytes, which were never written to."""
        _reserve(self._fd, position, size)

    def sync(self) -> None:
        # Linux writes a shared map's pages with the file's own; mmap.flush would hold the interpreter lock for it.
        if isinstance(self.data, mmap.mmap) and sys.platform != "linux":
            self.data.flush()
        os.fsync(self._fd)

    def close(self) -> None:
        self._unmap()
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def _unmap(self) -> None:
        if isinstance(self.data, mmap.mmap):
            self.data.close()
        self.data = bytearray()


class FileLock:
    """An exclusive lock on a file, held by this process until `release`.

    The lock file stays when the lock is released: to remove it would let two processes lock two files of one name.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class Volume:
    """The file system that holds a directory, to be synced as a whole.

    An error of any write since `volume` was called is reported by `sync` (Linux 5.8 and later), once: so it is opened
    before the first write, and an error means that something in it was lost, whichever file it belonged to.
    """

    __slots__ = ("_fd", "path")

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    def holds(self, path: Path) -> bool:
        """Whether a directory lies in this file system: it may be a link to another one, or a mount of its own."""
        return os.stat(path).st_dev == os.fstat(self._fd).st_dev

    def sync(self) -> None:
        """Make every byte and every name durable. Any thread; the interpreter lock is not held."""
        import ctypes  # only at a stop or after a crash, and a start has better things to do

        libc = ctypes.CDLL(None, use_errno=True)
        if libc.syncfs(self._fd) != 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), str(self.path))

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class FileSystem(Protocol):
    """What Tidelog asks of a disk."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File: ...
    def map(self, path: Path, *, size: int | None = None, write: bool = True) -> MappedFile: ...
    def lock(self, path: Path) -> FileLock | None: ...
    def read_bytes(self, path: Path) -> bytes: ...
    def write_atomic(self, path: Path, data: bytes) -> None: ...
    def rename(self, source: Path, target: Path) -> None: ...
    def unlink(self, path: Path, *, missing_ok: bool = False) -> None: ...
    def truncate(self, path: Path, size: int) -> None: ...
    def mkdir(self, path: Path) -> bool: ...
    def rmdir(self, path: Path) -> None: ...
    def listdir(self, path: Path) -> list[str]: ...
    def subdirectories(self, path: Path) -> list[str]: ...
    def sizes(self, path: Path) -> dict[str, int]: ...
    def exists(self, path: Path) -> bool: ...
    def stat(self, path: Path) -> FileStat: ...
    def set_mtime(self, path: Path, mtime_ms: int) -> None: ...
    def sync_dir(self, path: Path) -> None: ...
    def volume(self, path: Path) -> Volume | None: ...
    def disk_usage(self, path: Path) -> tuple[int, int]: ...


def _leads_nowhere(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and not os.path.exists(entry.path)


class LocalFileSystem:
    """The machine's own file system."""

    def open(self, path: Path, *, create: bool = False, write: bool = True) -> File:
        """Open a file; `create` makes it when missing (an existing one keeps its bytes)."""
        flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return File(path, os.open(path, flags, 0o644))

    def map(self, path: Path, *, size: int | None = None, write: bool = True) -> MappedFile:
        """Map a file. With `size`, create it if missing and cut or grow it to that size first."""
        flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC | (os.O_CREAT if size is not None else 0)
        fd = os.open(path, flags, 0o644)
        try:
            if size is not None:
                if os.fstat(fd).st_size != size:
                    os.ftruncate(fd, size)
            else:
                size = os.fstat(fd).st_size
            return MappedFile(path, fd, size, write)
        except BaseException:
            os.close(fd)
            raise

    def lock(self, path: Path) -> FileLock | None:
        """Take the lock, or return None when another process (or another broker in this one) holds it."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Java's FileChannel.lock is a POSIX record lock: taking that one too keeps Apache Kafka out as well.
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return FileLock(path, fd)

    def read_bytes(self, path: Path) -> bytes:
        """All of a small file. Python's own `open` would make four more system calls, and there may be thousands."""
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            parts = []
            while part := os.read(fd, _READ_AT_ONCE):
                parts.append(part)
                if len(part) < _READ_AT_ONCE:  # a plain file gives less only at its end
                    break
            return b"".join(parts)
        finally:
            os.close(fd)

    def write_atomic(self, path: Path, data: bytes) -> None:
        """Replace a small file so that a crash leaves the old or the new one: temp, sync, rename, sync directory."""
        temporary = path.with_name(path.name + ".tmp")
        file = self.open(temporary, create=True)
        try:
            file.truncate(0)
            file.write_at(0, [data])
            file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        self.sync_dir(path.parent)

    def rename(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def unlink(self, path: Path, *, missing_ok: bool = False) -> None:
        with contextlib.suppress(FileNotFoundError) if missing_ok else contextlib.nullcontext():
            os.unlink(path)

    def truncate(self, path: Path, size: int) -> None:
        """Cut or grow a file that is not open."""
        os.truncate(path, size)

    def mkdir(self, path: Path) -> bool:
        """Make a directory and its missing parents; False when it is there already."""
        try:
            os.mkdir(path)
        except FileNotFoundError:
            os.makedirs(path)
        except FileExistsError:
            if not os.path.isdir(path):
                raise
            return False
        return True

    def rmdir(self, path: Path) -> None:
        """Remove an empty directory; of a link to one, the link."""
        if os.path.islink(path):
            os.unlink(path)
        else:
            os.rmdir(path)

    def listdir(self, path: Path) -> list[str]:
        return sorted(os.listdir(path))

    def subdirectories(self, path: Path) -> list[str]:
        """The names of the directories in a directory (and of links to such), sorted; nothing is looked at twice.

        A link that leads nowhere counts as one: its disk may not be mounted, and who enters it finds that out.
        """
        with os.scandir(path) as found:
            return sorted(entry.name for entry in found if entry.is_dir() or _leads_nowhere(entry))

    def sizes(self, path: Path) -> dict[str, int]:
        """The names in a directory, sorted, with the size of each. A link that leads nowhere has its own, which is not
        0: it is not to be taken for an empty file."""
        with os.scandir(path) as found:
            entries = list(found)
        try:
            sizes = [(entry.name, entry.stat().st_size) for entry in entries]
        except FileNotFoundError:  # there is such a link, or a file has just gone; looking each time would take longer
            sizes = [(entry.name, entry.stat(follow_symlinks=not _leads_nowhere(entry)).st_size) for entry in entries]
        return dict(sorted(sizes))

    def exists(self, path: Path) -> bool:
        return os.path.exists(path)

    def stat(self, path: Path) -> FileStat:
        info = os.stat(path)
        return FileStat(info.st_size, info.st_mtime_ns // 1_000_000, S_ISDIR(info.st_mode))

    def set_mtime(self, path: Path, mtime_ms: int) -> None:
        os.utime(path, ns=(mtime_ms * 1_000_000, mtime_ms * 1_000_000))

    def sync_dir(self, path: Path) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def volume(self, path: Path) -> Volume | None:
        """What holds this directory, as a whole; None where the platform can only sync file by file."""
        if sys.platform != "linux":
            return None
        return Volume(path, os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))

    def disk_usage(self, path: Path) -> tuple[int, int]:
        """(total, free) bytes of the file system that holds `path`."""
        info = os.statvfs(path)
        return info.f_blocks * info.f_frsize, info.f_bavail * info.f_frsize


LOCAL_FS = LocalFileSystem()
