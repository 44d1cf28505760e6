"""A piece of a segment's file that somebody is about to send.

A fetch answer names bytes in a file instead of carrying them; the connection sends them by `sendfile` when the socket
takes them, perhaps seconds later. Meanwhile the segment may be rolled, deleted or pushed out of the budget of open
files. So a slice counts as a use of the file: it stays open until the last slice of it is released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tidelog.log.segment.data_file import DataFile


class FileSlice:
    """`size` bytes of a file from `position` on. Starts with one reference; `release` it exactly once per reference."""

    __slots__ = ("_data", "_references", "position", "size")

    def __init__(self, data: DataFile, position: int, size: int) -> None:
        data.pin()
        self._data = data
        self._references = 1
        self.position = position
        self.size = size

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"FileSlice({self._data.path.name}, position={self.position}, size={self.size})"

    def fileno(self) -> int:
        """The file's descriptor, valid until the last reference is released."""
        if self._references == 0:
            raise ValueError("the slice was released")
        return self._data.fileno()

    def read(self) -> bytes:
        """The bytes (fewer if the file was truncated below the slice's end meanwhile)."""
        if self._references == 0:
            raise ValueError("the slice was released")
        return self._data.read_at(self.position, self.size)

    def part(self, start: int, size: int) -> FileSlice:
        """A slice of the slice, with a reference of its own."""
        return FileSlice(self._data, self.position + start, min(size, self.size - start))

    def retain(self) -> FileSlice:
        self._references += 1
        return self

    def release(self) -> None:
        if self._references == 0:
            raise ValueError("the slice was released before")
        self._references -= 1
        if self._references == 0:
            self._data.unpin()
