"""A file of a segment that is read and appended to: `.log`, and `.txnindex`.

`size` is where the data ends. It is not the file's length while the file is preallocated, nor after an append that
failed half-way: bytes behind `size` do not exist for a reader, and the next append overwrites them.

The owner appends and cuts; any thread may read and sync. Each operation pins the file for its duration, so that the
budget of open files cannot close it under a system call that has released the interpreter lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tidelog.common.fs import Buffer, File
from tidelog.log.names import file_name
from tidelog.log.segment._handles import Handle
from tidelog.log.segment.file_slice import FileSlice
from tidelog.log.segment.home import Home


class DataFile(Handle):
    """Opened on demand, closed when the budget needs the room; pinned while in use."""

    __slots__ = ("_file", "base_offset", "home", "kind", "size", "suffix")

    def __init__(self, home: Home, base_offset: int, kind: str, suffix: str = "", size: int = 0) -> None:
        super().__init__(home.files)
        self.home = home
        self.base_offset = base_offset
        self.kind = kind
        self.suffix = suffix
        self.size = size
        self._file: File | None = None

    @property
    def path(self) -> Path:
        """Where the file is now: its directory may be renamed, and its suffix changes with the segment's state."""
        return self.home.file(file_name(self.base_offset, self.kind, self.suffix))

    def create(self, length: int = 0, *, fresh: bool = False) -> None:
        """Make the file anew, empty (`length`: the size that is reserved for it; `fresh`: no such file is there)."""
        path = self.path
        if not fresh:
            self.home.fs.unlink(path, missing_ok=True)
        file = self.home.fs.open(path, create=True)
        if length:
            file.truncate(length)
        self._file = file
        self.size = 0
        self.ensure_open()

    def _open(self) -> None:
        if self._file is None:
            self._adopt(self.home.fs.open(self.path))

    def _adopt(self, file: File) -> None:
        """Keep a file that was just opened. Opening releases the interpreter lock, so two threads may get here."""
        if self._file is None:
            self._file = file
        else:  # another thread was faster
            file.close()

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def fileno(self) -> int:
        """For `sendfile`. Valid while the caller holds a pin."""
        assert self._file is not None, "the file is not pinned"
        return self._file.fileno()

    def append(self, buffers: Sequence[Buffer], size: int) -> None:
        """Write all of `buffers` (`size` bytes) behind the data."""
        self.pin()
        try:
            assert self._file is not None
            self._file.write_at(self.size, buffers)
        finally:
            self.unpin()
        self.size += size

    def read_at(self, position: int, size: int) -> bytes:
        """Up to `size` bytes, never behind the data's end. Any thread."""
        if position + size > self.size:
            size = max(0, self.size - position)
        self.pin()
        try:
            assert self._file is not None
            return self._file.read_at(position, size)
        finally:
            self.unpin()

    def read_into(self, position: int, buffer: bytearray | memoryview) -> int:
        """Fill `buffer`; return how many bytes there were. Any thread."""
        self.pin()
        try:
            assert self._file is not None
            return self._file.read_into(position, memoryview(buffer)[: max(0, self.size - position)])
        finally:
            self.unpin()

    def slice(self, position: int, size: int) -> FileSlice:
        """Bytes to be sent later; the slice holds a pin until it is released."""
        return FileSlice(self, position, size)

    def truncate(self, size: int) -> int:
        """Cut the data to `size` bytes (and the file with it); return how many bytes went.

        A slice that a connection is still to send may lie behind the cut. It sends what is there then: fewer bytes, or
        those that were written since.
        """
        self.pin()
        try:
            assert self._file is not None
            self._file.truncate(size)
        finally:
            self.unpin()
        cut, self.size = self.size - size, size
        return cut

    def trim(self) -> None:
        """Give back what was preallocated behind the data."""
        self.truncate(self.size)

    def sync(self) -> None:
        """Make the bytes durable. Any thread."""
        self.pin()
        try:
            assert self._file is not None
            self._file.sync()
        finally:
            self.unpin()
