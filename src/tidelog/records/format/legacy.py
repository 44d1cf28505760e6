"""Message sets of magic 0 and 1, written message by message: the old half of `BatchBuilder`.

Reading, checking and converting them is the kernel's work (`_messages.pyx`, which also describes the formats, and
`_convert.pyx`). A broker never writes them this way.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

from tidelog.common.types import NO_TIMESTAMP
from tidelog.records.codec.compression import compress
from tidelog.records.format.attributes import MAGIC_V0, MAGIC_V1, TIMESTAMP_TYPE_BIT, Codec
from tidelog.records.format.layout import LOG_OVERHEAD, MESSAGE_OVERHEAD_V0, MESSAGE_OVERHEAD_V1

Buffer = bytes | bytearray | memoryview

ENTRY = struct.Struct(">qi")
TIMESTAMP = struct.Struct(">q")
LENGTH = struct.Struct(">i")
#: A message without key and value.
OVERHEAD = {MAGIC_V0: MESSAGE_OVERHEAD_V0, MAGIC_V1: MESSAGE_OVERHEAD_V1}
CRC_SIZE = 4


def size_of(magic: int, key: Buffer | None, value: Buffer | None) -> int:
    """Bytes of an entry with these fields.

    What a message costs on the wire and on disk: 26 or 34 bytes, and its key and value.
    """
    return LOG_OVERHEAD + OVERHEAD[magic] + len(key or b"") + len(value or b"")


def encode_message(
    magic: int, offset: int, attributes: int, timestamp: int, key: Buffer | None, value: Buffer | None
) -> bytes:
    """One entry.

    A message's checksum covers everything behind itself, magic and attributes included, but not offset and size.
    """
    body = bytearray((magic, attributes))
    if magic == MAGIC_V1:
        body += TIMESTAMP.pack(timestamp)
    for field in (key, value):
        if field is None:
            body += LENGTH.pack(-1)
        else:
            body += LENGTH.pack(len(field))
            body += field
    return ENTRY.pack(offset, len(body) + CRC_SIZE) + zlib.crc32(body).to_bytes(CRC_SIZE, "big") + body


class MessageSetWriter:
    """A message set in the making, or one wrapper of it if there is a codec; the magic 0 and 1 half of BatchBuilder."""

    def __init__(
        self, magic: int, codec: Codec, level: int | None, base_offset: int = 0, log_append_time: int | None = None
    ) -> None:
        if magic not in OVERHEAD:
            raise ValueError(f"magic {magic}: expected 0 or 1")
        self.magic = magic
        self.codec = codec
        self.level = level
        self.base_offset = base_offset
        self.next_offset = base_offset
        self.max_timestamp = NO_TIMESTAMP
        self.count = 0
        self.log_append_time = log_append_time
        self._attributes = TIMESTAMP_TYPE_BIT if magic == MAGIC_V1 and log_append_time is not None else 0
        self._entries = bytearray()

    @property
    def size_estimate(self) -> int:
        return len(self._entries) + (0 if self.codec == Codec.NONE else LOG_OVERHEAD + OVERHEAD[self.magic])

    def append(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
        offset: int | None = None,
    ) -> int:
        """Add a record after the others, or at `offset`; return its offset. Headers need magic 2.

        Inside a wrapper magic 1 counts from 0 (the broker then sets the wrapper's offset alone), and magic 0 has the
        offsets themselves.
        """
        if headers:
            raise ValueError(f"magic {self.magic} has no record headers")
        place = self.next_offset if offset is None else offset
        if place < self.next_offset:
            raise ValueError(f"offset {place} does not lie after {self.next_offset - 1}")
        if self.log_append_time is not None:
            timestamp = self.log_append_time
        relative = self.codec != Codec.NONE and self.magic == MAGIC_V1
        written = place - self.base_offset if relative else place
        self._entries += encode_message(self.magic, written, self._attributes, timestamp, key, value)
        self.max_timestamp = max(self.max_timestamp, timestamp)
        self.next_offset = place + 1
        self.count += 1
        return place

    def build(self) -> bytes:
        """The messages one after the other; or, with a codec, one message without a key whose value is all of them
        packed.
        """
        if self.count == 0:
            raise ValueError("a message set needs at least one message")
        if self.codec == Codec.NONE:
            return bytes(self._entries)
        packed = compress(self.codec, self._entries, level=self.level, magic=self.magic)
        attributes = self._attributes | self.codec
        return encode_message(self.magic, self.next_offset - 1, attributes, self.max_timestamp, None, packed)
