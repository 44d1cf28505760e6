"""The codecs in Kafka's framings: round trips, other writers' bytes, bounds and refusals."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
import zlib
from types import SimpleNamespace
from typing import Any

import cramjam
import lz4.frame
import pytest

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.records.codec import compression, lz4_frame
from tidelog.records.codec.compression import XERIAL_HEADER, Codec, compress, decompress

PACKING = [codec for codec in Codec if codec]
SAMPLES = {
    "empty": b"",
    "byte": b"a",
    "zeros": bytes(300_000),
    "random": random.Random(1).randbytes(200_000),
    "text": b'{"user": 12, "page": "/tide"}' * 4000,
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(
    ("codec", "magic"), [(codec, magic) for codec in Codec for magic in (0, 1, 2) if codec != Codec.ZSTD or magic == 2]
)
def test_round_trip(codec: Codec, magic: int, sample: str) -> None:
    data = SAMPLES[sample]
    packed = compress(codec, data, magic=magic)
    assert decompress(codec, packed, magic=magic) == data
    assert decompress(codec, memoryview(b"xx" + packed)[2:], magic=magic) == data


@pytest.mark.parametrize(("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.LZ4, (1, 9, 17)), (Codec.ZSTD, (-5, 22))])
def test_levels(codec: Codec, levels: tuple[int, ...]) -> None:
    for level in levels:
        assert decompress(codec, compress(codec, SAMPLES["text"], level=level)) == SAMPLES["text"]


def test_names() -> None:
    assert [Codec.from_name(codec.label) for codec in Codec] == list(Codec)
    assert Codec.from_name("uncompressed") is Codec.NONE
    with pytest.raises(ValueError, match="none, gzip, snappy, lz4, zstd"):
        Codec.from_name("brotli")


def test_zstd_needs_magic_2() -> None:
    with pytest.raises(KafkaError) as caught:
        compress(Codec.ZSTD, b"x", magic=1)
    assert caught.value.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    with pytest.raises(CorruptRecordError):
        decompress(Codec.ZSTD, compress(Codec.ZSTD, b"x"), magic=1)


def test_gzip_of_several_members_as_java_reads_it() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0") == b"one two"


def test_gzip_of_many_members_takes_the_time_of_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    handed_back = 0

    class Counting:
        def __init__(self, window: int) -> None:
            self._real = zlib.decompressobj(window)

        def __getattr__(self, name: str) -> Any:
            nonlocal handed_back
            found = getattr(self._real, name)
            handed_back += len(found) if name == "unused_data" else 0
            return found

    members = [gzip.compress(bytes([number % 256]) * number) for number in range(3000)]
    data = b"".join(members)
    plain = b"".join(gzip.decompress(member) for member in members)
    monkeypatch.setattr(compression, "zlib", SimpleNamespace(decompressobj=Counting, error=zlib.error))
    assert decompress(Codec.GZIP, data) == plain
    assert handed_back < len(data) + 3000 * 2048
    with pytest.raises(CorruptRecordError, match="cut off"):
        decompress(Codec.GZIP, data[:-3])
    with pytest.raises(CorruptRecordError, match="more than 5000 bytes"):
        decompress(Codec.GZIP, data, limit=5000)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (Codec.GZIP, gzip.compress(b"", mtime=0)),
        (Codec.SNAPPY, b"\0\0\0\x03" + cramjam.snappy.compress_raw(b"x")),
        (Codec.LZ4, (0x80000001).to_bytes(4, "little") + b"x"),
    ],
    ids=["gzip", "snappy", "lz4"],
)
def test_tiny_pieces_without_end_are_refused(codec: Codec, data: bytes) -> None:
    heads = {Codec.SNAPPY: XERIAL_HEADER, Codec.LZ4: lz4.frame.compress(b"", block_linked=False)[:7]}
    tail = bytes(4) if codec is Codec.LZ4 else b""
    head = heads.get(codec, b"")
    for count, taken in ((9_000, True), (10_001, False)):
        packed = head + bytes(data) * count + tail
        if taken:
            assert len(decompress(codec, packed)) == (0 if codec is Codec.GZIP else count)
        else:
            with pytest.raises(CorruptRecordError, match="more than 10000"):
                decompress(codec, packed)


def test_snappy_in_one_bare_block_as_librdkafka_writes_it() -> None:
    assert decompress(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(SAMPLES["text"]))) == SAMPLES["text"]


def test_snappy_is_written_as_xerial_blocks() -> None:
    packed = compress(Codec.SNAPPY, SAMPLES["text"])
    assert packed.startswith(b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
    (first,) = struct.unpack_from(">i", packed, len(XERIAL_HEADER))
    block = packed[len(XERIAL_HEADER) + 4 :][:first]
    assert bytes(cramjam.snappy.decompress_raw(block)) == SAMPLES["text"][: 32 * 1024]


def test_lz4_is_written_as_independent_64_kib_blocks() -> None:
    frame = compress(Codec.LZ4, SAMPLES["random"])
    info = lz4.frame.get_frame_info(frame)
    assert not info["block_linked"]
    assert info["block_size_id"] == 4
    assert not info["content_checksum"]


def test_lz4_with_linked_blocks_is_refused_as_kafka_does() -> None:
    frame = lz4.frame.compress(SAMPLES["random"], block_linked=True, block_size=lz4.frame.BLOCKSIZE_MAX64KB)
    with pytest.raises(CorruptRecordError, match="linked"):
        decompress(Codec.LZ4, frame)


@pytest.mark.parametrize("size_id", [4, 5, 6, 7])
def test_lz4_of_other_writers(size_id: int) -> None:
    frame = lz4.frame.compress(
        SAMPLES["text"], block_size=size_id, block_linked=False, content_checksum=True, block_checksum=True
    )
    assert decompress(Codec.LZ4, frame) == SAMPLES["text"]


def test_lz4_of_magic_0_hashes_the_frame_magic_too() -> None:
    """KAFKA-3160: readers of magic 0 take any header checksum, the others only the right one."""
    right = compress(Codec.LZ4, b"tide" * 50, magic=1)
    broken = compress(Codec.LZ4, b"tide" * 50, magic=0)
    assert right[:6] == broken[:6]
    assert right[6] != broken[6]
    assert right[7:] == broken[7:]
    assert broken[6] == lz4_frame.xxhash32_short(broken[:6]) >> 8 & 0xFF
    assert right[6] == lz4_frame.xxhash32_short(right[4:6]) >> 8 & 0xFF
    assert decompress(Codec.LZ4, broken, magic=0) == decompress(Codec.LZ4, right, magic=0) == b"tide" * 50
    for magic in (1, 2):
        with pytest.raises(CorruptRecordError):
            decompress(Codec.LZ4, broken, magic=magic)


def test_xxhash_of_the_published_empty_input() -> None:
    assert lz4_frame.xxhash32_short(b"") == 0x02CC5D05
    with pytest.raises(ValueError, match="short"):
        lz4_frame.xxhash32_short(bytes(16))


@pytest.mark.parametrize("codec", PACKING)
def test_a_bomb_is_refused_at_the_limit(codec: Codec) -> None:
    packed = compress(codec, bytes(4_000_000))
    assert len(packed) < 250_000
    assert len(decompress(codec, packed, limit=4_000_000)) == 4_000_000
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordError, match="more than 100000 bytes"):
            decompress(codec, packed, limit=100_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1_500_000


@pytest.mark.parametrize("codec", PACKING)
def test_cut_and_foreign_bytes_are_corrupt(codec: Codec) -> None:
    packed = compress(codec, SAMPLES["random"][:5000])
    for bad in (b"", b"no such thing" * 3, packed[: len(packed) // 2], packed[:5], packed[3:]):
        with pytest.raises(CorruptRecordError):
            decompress(codec, bad)


def test_length_fields_that_lie_cost_nothing() -> None:
    liar = b"\xff\xff\xff\xff\x07" + b"x" * 20  # a snappy block that claims 2 GiB
    with pytest.raises(CorruptRecordError, match="claims"):
        decompress(Codec.SNAPPY, liar)
    claims = b"\x28\xb5\x2f\xfd" + b"\xe0" + struct.pack("<Q", 1 << 40) + b"\x01\x00\x00"  # 1 TiB in an empty block
    with pytest.raises(CorruptRecordError):
        decompress(Codec.ZSTD, claims)


def test_plain_is_bounded_too() -> None:
    with pytest.raises(CorruptRecordError, match="more than 2 bytes"):
        decompress(Codec.NONE, b"abc", limit=2)
