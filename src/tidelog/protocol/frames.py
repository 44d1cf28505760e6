"""Splitting a byte stream into frames: an int32 length, then that many bytes. No I/O.

`scan` looks at bytes that somebody else has received; `FrameReader` keeps what has not become a frame yet.

The limit on a frame is all that a stranger can make a reader keep: `socket.request.max.bytes` for a broker. A length
that cannot be right is the end of the connection, because there is no mark in the stream by which the next frame could
be found.
"""

from __future__ import annotations

import struct

from tidelog.common.errors import ProtocolError
from tidelog.protocol.message import Buffer

LENGTH_BYTES = 4
_LENGTH = struct.Struct(">i")


def scan(buffer: Buffer, start: int, end: int, limit: int) -> tuple[list[tuple[int, int]], int]:
    """The whole frames in [start, end) as (start, end) of their contents, and where the first partial one begins.

    ProtocolError when a length is negative or above `limit`: the stream cannot be trusted any further.
    """
    frames = []
    while end - start >= LENGTH_BYTES:
        (size,) = _LENGTH.unpack_from(buffer, start)
        if not 0 <= size <= limit:
            raise ProtocolError(f"a frame of {size} bytes; 0 to {limit} are accepted")
        stop = start + LENGTH_BYTES + size
        if stop > end:
            break
        frames.append((start + LENGTH_BYTES, stop))
        start = stop
    return frames, start


class FrameReader:
    """Bytes in, frames out."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._pending = bytearray()

    def feed(self, data: Buffer) -> list[bytes]:
        """Add received bytes; return the contents of every frame that is now complete."""
        self._pending += data
        found, rest = scan(self._pending, 0, len(self._pending), self.limit)
        with memoryview(self._pending) as view:
            frames = [bytes(view[start:stop]) for start, stop in found]
        del self._pending[:rest]
        return frames

    @property
    def pending(self) -> int:
        """Bytes of a frame that is not complete yet."""
        return len(self._pending)
