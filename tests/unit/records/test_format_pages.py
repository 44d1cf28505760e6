"""The worked examples in docs/formats are the bytes that the code writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder

PAGES = Path(__file__).resolve().parents[3] / "docs" / "formats"
TIME = 1_700_000_000_000


def example(name: str) -> bytes:
    """The hexadecimal column of a ```example block."""
    for page in sorted(PAGES.glob("*.md")):
        found = re.search(rf"```example {name}\n(.*?)```", page.read_text(), re.DOTALL)
        if found:
            cells = [re.match(r"(?:[0-9a-f]{2} ?)+", line) for line in found[1].splitlines()]
            return bytes.fromhex("".join(cell[0] for cell in cells if cell))
    raise AssertionError(f"no example {name}")


def record_batch() -> bytes:
    builder = BatchBuilder(base_offset=23, leader_epoch=4, producer_id=7, producer_epoch=0, base_sequence=12)
    builder.append(TIME, b"tide", b"high", [("unit", b"m")])
    builder.append(TIME + 300, b"tide", None)
    return builder.build()


def message(magic: int, offset: int) -> bytes:
    builder = BatchBuilder(magic, base_offset=offset)
    builder.append(TIME, b"tide", b"high")
    return builder.build()


@pytest.mark.parametrize(
    ("name", "expected"),
    [("record-batch", record_batch()), ("message-v0", message(0, 23)), ("message-v1", message(1, 268))],
)
def test_the_example_is_what_we_write(name: str, expected: bytes) -> None:
    assert example(name) == expected
    assert next(record.key for batch in iter_batches(expected, check_crc=True) for record in batch) == b"tide"
