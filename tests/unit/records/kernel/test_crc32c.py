"""CRC-32C: the published test values, the bit-by-bit form, and all lengths round the kernel's lane sizes."""

from __future__ import annotations

import mmap
import random

import pytest

from reference.records import batch_v2
from tidelog.records.kernel.crc32c import crc32c, crc32c_lanes, crc32c_portable


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_published_values(data: bytes, expected: int) -> None:
    assert crc32c(data) == crc32c_lanes(data) == crc32c_portable(data) == batch_v2.crc32c(data) == expected


@pytest.mark.parametrize(
    "length",
    [1, 7, 8, 9, 63, 255, 767, 768, 769, 1023, 1024, 1025, 1087, 1088, 1279, 1280, 1535, 12287, 12288, 12289, 40_000],
)
def test_all_forms_agree_at_every_lane_edge(length: int) -> None:
    data = random.Random(length).randbytes(length)
    assert crc32c(data) == crc32c_lanes(data) == crc32c_portable(data)
    for cut in (1, length // 3, length - 1):
        assert crc32c(data[cut:], crc32c(data[:cut])) == crc32c(data)


def test_takes_any_buffer() -> None:
    data = b"tidelog" * 100
    expected = batch_v2.crc32c(data)
    with mmap.mmap(-1, len(data)) as mapped:
        mapped[:] = data
        for buffer in (data, bytearray(data), memoryview(data), memoryview(b"x" + data)[1:], mapped):
            assert crc32c(buffer) == expected
