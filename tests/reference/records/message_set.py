"""Message sets of magic 0 and 1, read message by message: the plain form of `records/kernel/_messages.pyx`."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from tidelog.common.errors import CorruptRecordError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64, NO_TIMESTAMP
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import CODEC_MASK, MAGIC_V0, MAGIC_V1, TIMESTAMP_TYPE_BIT, Codec
from tidelog.records.format.layout import LOG_OVERHEAD
from tidelog.records.kernel._record import Record

Buffer = bytes | bytearray | memoryview

ENTRY = struct.Struct(">qi")
#: crc, magic, attributes; then the timestamp since magic 1; then key and value with their lengths.
PREFIX = struct.Struct(">Ibb")
TIMESTAMP = struct.Struct(">q")
LENGTH = struct.Struct(">i")
#: A message without key and value.
OVERHEAD = {MAGIC_V0: 14, MAGIC_V1: 22}
CRC_SIZE = 4


class Message(NamedTuple):
    """One entry. `position` is where it starts in the buffer that it was read from."""

    position: int
    offset: int
    magic: int
    attributes: int
    timestamp: int
    key: memoryview | None
    value: memoryview | None

    @property
    def codec(self) -> Codec:
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise CorruptRecordError(f"codec {self.attributes & CODEC_MASK}: expected 0 to 3", self.position) from None

    @property
    def is_log_append_time(self) -> bool:
        return self.magic == MAGIC_V1 and bool(self.attributes & TIMESTAMP_TYPE_BIT)

    def record(self, offset: int, timestamp: int) -> Record:
        return Record(offset, timestamp, _copy(self.key), _copy(self.value))


def _copy(data: memoryview | None) -> bytes | None:
    return None if data is None else bytes(data)


def iter_messages(buffer: Buffer, *, check_crc: bool = False) -> Iterator[Message]:
    """The entries of a message set, wrappers as they are; an entry that is cut off at the end is left out."""
    view = memoryview(buffer)
    position = 0
    while len(view) - position >= LOG_OVERHEAD:
        offset, size = ENTRY.unpack_from(view, position)
        if size < OVERHEAD[MAGIC_V0]:
            raise CorruptRecordError(f"a message of {size} bytes: expected at least {OVERHEAD[MAGIC_V0]}", position)
        if size > len(view) - position - LOG_OVERHEAD:
            return
        yield _parse(view, position, offset, size, check_crc)
        position += LOG_OVERHEAD + size


def _parse(view: memoryview, position: int, offset: int, size: int, check_crc: bool) -> Message:
    start = position + LOG_OVERHEAD
    end = start + size
    crc, magic, attributes = PREFIX.unpack_from(view, start)
    if magic not in OVERHEAD:
        raise CorruptRecordError(f"the message has magic {magic}: expected 0 or 1", position)
    if size < OVERHEAD[magic]:
        raise CorruptRecordError(f"a message of {size} bytes: magic {magic} needs {OVERHEAD[magic]}", position)
    if check_crc and (found := zlib.crc32(view[start + CRC_SIZE : end])) != crc:
        raise CorruptRecordError(f"the message's checksum is {found:#010x}: its header says {crc:#010x}", position)
    cursor = start + PREFIX.size
    timestamp = NO_TIMESTAMP
    if magic == MAGIC_V1:
        (timestamp,) = TIMESTAMP.unpack_from(view, cursor)
        cursor += TIMESTAMP.size
    key, cursor = _field(view, cursor, end - LENGTH.size, position)
    value, cursor = _field(view, cursor, end, position)
    if cursor != end:
        raise CorruptRecordError(f"the message's fields end {end - cursor} bytes before it does", position)
    return Message(position, offset, magic, attributes, timestamp, key, value)


def _field(view: memoryview, cursor: int, end: int, position: int) -> tuple[memoryview | None, int]:
    """A nullable field and where it ends; `end` is the last byte that it may reach."""
    (length,) = LENGTH.unpack_from(view, cursor)
    cursor += LENGTH.size
    if length < 0:
        return None, cursor
    if length > end - cursor:
        raise CorruptRecordError(f"a field of {length} bytes runs {length - end + cursor} past its message", position)
    return view[cursor : cursor + length], cursor + length


def read_entry(entry: Buffer, *, limit: int = DEFAULT_LIMIT, check_crc: bool = False) -> list[Record]:
    """The records of exactly one entry: the message itself, or what the wrapper wraps."""
    message = next(iter_messages(entry, check_crc=check_crc), None)
    if message is None:
        raise CorruptRecordError("the message is cut off", 0)
    return records_of(message, limit=limit, check_crc=check_crc)


def records_of(wrapper: Message, *, limit: int = DEFAULT_LIMIT, check_crc: bool = False) -> list[Record]:
    """The same of an entry that was read before."""
    if not wrapper.attributes & CODEC_MASK:
        return [wrapper.record(wrapper.offset, wrapper.timestamp)]
    inner = unwrap(wrapper, limit=limit, check_crc=check_crc)
    base = 0
    if wrapper.magic == MAGIC_V1 and wrapper.offset:  # some old librdkafka sent wrappers with offset 0
        base = wrapper.offset - inner[-1].offset
    if base < 0 or not all(0 <= base + message.offset <= MAX_INT64 for message in inner):
        raise CorruptRecordError(
            f"offsets of a wrapper with offset {wrapper.offset} are out of range", wrapper.position
        )
    if wrapper.is_log_append_time:
        return [message.record(base + message.offset, wrapper.timestamp) for message in inner]
    return [message.record(base + message.offset, message.timestamp) for message in inner]


def check_entry(entry: Buffer, position: int, *, crc: bool, records: bool) -> None:
    """Raise CorruptRecordError unless the one entry is sound; `position` is where it lies in the caller's buffer."""
    try:
        if records:
            read_entry(entry, check_crc=crc)
        else:
            next(iter_messages(entry, check_crc=crc))
    except CorruptRecordError as error:
        raise CorruptRecordError(f"magic {entry[16]} message: {error.message}", position) from error


def unwrap(wrapper: Message, *, limit: int = DEFAULT_LIMIT, check_crc: bool = False) -> list[Message]:
    """The inner messages of a wrapper, as they lie in it: at least one, of the same magic, none packed again."""
    if wrapper.value is None:
        raise CorruptRecordError("the wrapper message has no value", wrapper.position)
    plain = decompress(wrapper.codec, wrapper.value, limit=limit, magic=wrapper.magic)
    inner: list[Message] = []
    for message in iter_messages(plain, check_crc=check_crc):
        if message.magic != wrapper.magic:
            raise CorruptRecordError(f"a message of magic {message.magic} in a wrapper of magic {wrapper.magic}")
        if message.attributes & CODEC_MASK:
            raise CorruptRecordError("a packed message inside a packed message set")
        inner.append(message)
    if not inner:
        raise CorruptRecordError(f"the wrapper at byte {wrapper.position} holds {len(plain)} bytes of no message")
    return inner
