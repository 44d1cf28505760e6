"""The five codecs in Kafka's own framings.

    gzip     one or more members, as Java's GZIPInputStream reads them
    snappy   xerial's block stream (what Java writes) or one bare block (what librdkafka writes); the first bytes tell
    lz4      a frame of independent blocks: Kafka refuses linked ones. Magic 0 hashed the frame's header wrongly
             (see `lz4_frame`), and those bytes are still on people's disks
    zstd     plain frames; magic 2 only

Decompression is bounded three times: by `limit`, by what so few compressed bytes can possibly hold, so that a length
field that lies costs nothing, and by `MOST_PIECES` members or blocks, as tiny ones take time without being much. All
failures are CorruptRecordError. The codecs' C code releases the GIL. Each library is imported when its codec is first
used: a broker should not pay for those that nobody sends.

A batch's records are packed as one block, all of them: the header stays readable, so that a broker, a follower or an
index needs no codec to know offsets and times. The price is that one record cannot be had without unpacking all.

Why the bounds come first: a megabyte of gzip can hold a gigabyte of zeros, and a broker has to unpack what it is sent
in order to check it. A producer that is honest never comes near the limits; one that is not pays for its own bytes and
for nothing else.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from itertools import islice

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.records.codec import lz4_frame
from tidelog.records.codec.lz4_frame import MalformedError
from tidelog.records.format.attributes import CURRENT_MAGIC, MAGIC_V2, Codec

__all__ = ["DEFAULT_LIMIT", "Codec", "UnpackedTooLargeError", "compress", "decompress"]

Buffer = bytes | bytearray | memoryview

#: A batch that unpacks to more than this is taken for a bomb, unless the caller allows more. (A producer measures its
#: batches before they are packed: none comes near.)
DEFAULT_LIMIT = 128 << 20
#: Members or blocks of one batch. Producers write one member, and blocks of 32 KiB or more.
MOST_PIECES = 10_000

XERIAL_MAGIC = b"\x82SNAPPY\x00"
XERIAL_HEADER = XERIAL_MAGIC + b"\x00\x00\x00\x01" + b"\x00\x00\x00\x01"
XERIAL_BLOCK = 32 * 1024
#: A snappy copy element makes at most 64 bytes of 2, so no honest block claims more.
SNAPPY_RATIO = 32

GZIP_MAGIC = b"\x1f\x8b"
GZIP_WINDOW = 31  # zlib's number for "a gzip header, the largest window"
GZIP_DEFAULT_LEVEL = 6  # what zlib means by its -1, which is Kafka's default
LZ4_DEFAULT_LEVEL = 9  # Kafka's number for the fast compressor; any other level asks for the slow one
ZSTD_DEFAULT_LEVEL = 3
ZSTD_WINDOW = 8 << 20  # what every decoder must take, however little the frame holds
CHUNK = 64 * 1024
GZIP_STEP = 1024  # what the second and later members get to begin with


def compress(codec: Codec, data: Buffer, *, level: int | None = None, magic: int = CURRENT_MAGIC) -> bytes:
    """The packed bytes, as Kafka's own clients would frame them. `level` None is the codec's default; each has a scale
    of its own. `magic` matters to two of them: zstd came with magic 2, and the old lz4 framing goes with magic 0.
    """
    if codec == Codec.ZSTD and magic < MAGIC_V2:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs magic 2; this batch has magic {magic}")
    return _COMPRESSORS[codec](data, level, magic)


def decompress(codec: Codec, data: Buffer, *, limit: int = DEFAULT_LIMIT, magic: int = CURRENT_MAGIC) -> bytes:
    """The plain bytes, or CorruptRecordError when there are more than `limit` of them or `data` is not of the codec."""
    if codec == Codec.ZSTD and magic < MAGIC_V2:
        raise CorruptRecordError(f"zstd needs magic 2; this batch has magic {magic}")
    try:
        return _DECOMPRESSORS[codec](memoryview(data), limit, magic)
    except MalformedError as error:
        raise CorruptRecordError(f"{len(data)} bytes are no {codec.label} data: {error}") from error


class UnpackedTooLargeError(CorruptRecordError):
    """More than the limit comes out: with a larger one it might be taken.

    Told apart from other damage, because a broker tries with little room on its event loop first, and on a thread with
    more.
    """


def _too_large(codec: Codec, limit: int) -> CorruptRecordError:
    return UnpackedTooLargeError(f"{codec.label} data unpacks to more than {limit} bytes")


def _plain(data: Buffer, level: int | None, magic: int) -> bytes:
    return bytes(data)


def _bounded_plain(data: memoryview, limit: int, magic: int) -> bytes:
    if len(data) > limit:
        raise _too_large(Codec.NONE, limit)
    return bytes(data)


def _gzip(data: Buffer, level: int | None, magic: int) -> bytes:
    """One member. Packing is most of what a broker does with such a batch, and this library makes as few bytes as zlib
    in about two thirds of its time."""
    import cramjam

    return bytes(cramjam.gzip.compress(data, GZIP_DEFAULT_LEVEL if level is None or level < 0 else level))


def _gunzip(data: memoryview, limit: int, magic: int) -> bytes:
    """All members. The first gets all bytes at once, as it is mostly the only one; the others get them by and by."""
    parts: list[bytes] = []
    room = limit
    position, step = 0, len(data)
    while True:
        room, position = _gunzip_member(data, position, step, room, parts)
        if room < 0:
            raise _too_large(Codec.GZIP, limit)
        if bytes(data[position : position + 2]) != GZIP_MAGIC:  # Java's reader ignores what follows the last one, too
            return b"".join(parts) if len(parts) != 1 else parts[0]
        if len(parts) >= MOST_PIECES:
            raise MalformedError(f"more than {MOST_PIECES} gzip members")
        step = GZIP_STEP


def _gunzip_member(data: memoryview, position: int, step: int, room: int, parts: list[bytes]) -> tuple[int, int]:
    """Unpack one member into a new part; the room that is left (below 0: there was too little) and the member's end.

    zlib hands back, as a copy, what it was given behind a member's end: so it is given little, and ever more.
    """
    member = zlib.decompressobj(GZIP_WINDOW)
    pieces: list[bytes] = []
    while not member.eof:
        given = data[position : position + step]
        if not given:
            raise MalformedError("the gzip member is cut off")
        try:
            piece = member.decompress(given, room + 1)
        except zlib.error as error:
            raise MalformedError(error) from error
        room -= len(piece)
        if room < 0:
            return room, position
        pieces.append(piece)
        position += len(given) - len(member.unused_data)
        step *= 2
    parts.append(pieces[0] if len(pieces) == 1 else b"".join(pieces))
    return room, position


def _snappy(data: Buffer, level: int | None, magic: int) -> bytes:
    """Xerial's stream: a header of 16 bytes, then blocks of 32 KiB, each with its packed size in front. Snappy itself
    has no framing; this is the one that the Java library has, and all clients read it.
    """
    import cramjam

    view = memoryview(data)
    out = bytearray(XERIAL_HEADER)
    for start in range(0, len(view), XERIAL_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + XERIAL_BLOCK]))
        out += len(block).to_bytes(4, "big")
        out += block
    return bytes(out)


def _unsnappy(data: memoryview, limit: int, magic: int) -> bytes:
    """Either form. Each block says how long it will be: all claims are compared with what so few bytes can hold, and
    their sum with the limit, before the first of them is unpacked.
    """
    import cramjam

    blocks = list(islice(_xerial_blocks(data), MOST_PIECES + 1)) if data[:8] == XERIAL_MAGIC else [data]
    if len(blocks) > MOST_PIECES:
        raise MalformedError(f"more than {MOST_PIECES} xerial blocks")
    try:
        claims = [int(cramjam.snappy.decompress_raw_len(block)) for block in blocks]
        for block, claim in zip(blocks, claims, strict=True):
            if claim > len(block) * SNAPPY_RATIO:
                raise MalformedError(f"a snappy block of {len(block)} bytes claims {claim}")
        if sum(claims) > limit:
            raise _too_large(Codec.SNAPPY, limit)
        parts = [bytes(cramjam.snappy.decompress_raw(block)) for block in blocks]
    except cramjam.DecompressionError as error:
        raise MalformedError(error) from error
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _xerial_blocks(data: memoryview) -> Iterator[memoryview]:
    """The packed blocks, without copying them. Empty ones are passed over."""
    position = len(XERIAL_HEADER)
    if len(data) < position:
        raise MalformedError("the xerial header is cut off")
    while position < len(data):
        size = int.from_bytes(data[position : position + 4], "big")
        position += 4
        if position + size > len(data):
            raise MalformedError(f"a xerial block of {size} bytes is cut off at {len(data) - position}")
        if size:
            yield data[position : position + size]
        position += size


def _lz4(data: Buffer, level: int | None, magic: int) -> bytes:
    """Blocks of 64 KiB that do not refer to each other, without the content's size: what Kafka's own writer
    produces.
    """
    import lz4.frame

    frame: bytes = lz4.frame.compress(
        data,
        compression_level=0 if level is None or level == LZ4_DEFAULT_LEVEL else max(level, 3),
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return lz4_frame.with_header_checksum(frame, broken=True) if magic == 0 else frame


def _unlz4(data: memoryview, limit: int, magic: int) -> bytes:
    """The library allocates what it is told to expect; that is the lesser of the limit and of what the frame's blocks
    can make, so a few bytes never cost more than a few.
    """
    import lz4.frame

    bound = lz4_frame.output_bound(data, MOST_PIECES)
    source: Buffer = lz4_frame.with_header_checksum(data, broken=False) if magic == 0 else data
    reader = lz4.frame.LZ4FrameDecompressor()
    try:
        out: bytes = reader.decompress(source, min(bound, limit) + 1)
    except RuntimeError as error:
        raise MalformedError(error) from error
    if len(out) > limit:
        raise _too_large(Codec.LZ4, limit)
    if not reader.eof:
        raise MalformedError("the lz4 frame is cut off")
    return out


def _zstd(data: Buffer, level: int | None, magic: int) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor(level=ZSTD_DEFAULT_LEVEL if level is None else level).compress(data)


def _unzstd(data: memoryview, limit: int, magic: int) -> bytes:
    """Read in growing pieces until the end or the limit. A frame may name a window of gigabytes, which a decoder has to
    set aside: more than the limit is refused, but the 8 MiB that every frame may ask for are granted.
    """
    import zstandard

    context = zstandard.ZstdDecompressor(max_window_size=max(limit, ZSTD_WINDOW))
    parts: list[bytes] = []
    room = limit
    chunk = max(CHUNK, len(data) * 8)
    try:
        with context.stream_reader(data, read_across_frames=True) as reader:
            while part := reader.read(min(chunk, room + 1)):
                if len(part) > room:
                    raise _too_large(Codec.ZSTD, limit)
                parts.append(part)
                room -= len(part)
                chunk *= 2
        claimed = zstandard.frame_content_size(data)
    except zstandard.ZstdError as error:
        raise MalformedError(error) from error
    if claimed > limit - room:  # the stream reader takes a cut-off input for its end
        raise MalformedError(f"the zstd frame claims {claimed} bytes and holds {limit - room}")
    return parts[0] if len(parts) == 1 else b"".join(parts)


_COMPRESSORS: dict[Codec, Callable[[Buffer, int | None, int], bytes]] = {
    Codec.NONE: _plain,
    Codec.GZIP: _gzip,
    Codec.SNAPPY: _snappy,
    Codec.LZ4: _lz4,
    Codec.ZSTD: _zstd,
}
_DECOMPRESSORS: dict[Codec, Callable[[memoryview, int, int], bytes]] = {
    Codec.NONE: _bounded_plain,
    Codec.GZIP: _gunzip,
    Codec.SNAPPY: _unsnappy,
    Codec.LZ4: _unlz4,
    Codec.ZSTD: _unzstd,
}
