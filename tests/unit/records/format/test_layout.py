"""One layout, written in Python, in C and on a page for people: none of the three says anything else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tidelog.records.format import attributes, layout
from tidelog.records.format.builder import BatchBuilder

ROOT = Path(__file__).resolve().parents[4]
KERNEL = ROOT / "src" / "tidelog" / "records" / "kernel"
#: A place in a header that is given as a number: those of them that mean nothing else, and pieces of the front.
BY_NUMBER = re.compile(
    r"(?:load|store)_\w+\([\w. ]+ \+ (?:17|21|23|27|35|43|51|53|57)\b"
    r"|\[8 ?: ?12\], \"big\"|\+ 8 : \w+ \+ 12\]|\bp\[1[67]\]|\b(?:records|data|batch|view)\[1[67]\]"
    r"|\b\w*(?:OVERHEAD|HEADER|_AT|_POSITION)\w* = (?:12|14|16|17|21|26|57|61)\b"
)
#: The page's words for Kafka's.
FIELDS = {
    "base offset": "BASE_OFFSET_OFFSET",
    "length": "LENGTH_OFFSET",
    "leader epoch": "PARTITION_LEADER_EPOCH_OFFSET",
    "magic": "MAGIC_OFFSET",
    "crc": "CRC_OFFSET",
    "attributes": "ATTRIBUTES_OFFSET",
    "last offset delta": "LAST_OFFSET_DELTA_OFFSET",
    "base timestamp": "BASE_TIMESTAMP_OFFSET",
    "max timestamp": "MAX_TIMESTAMP_OFFSET",
    "producer id": "PRODUCER_ID_OFFSET",
    "producer epoch": "PRODUCER_EPOCH_OFFSET",
    "base sequence": "BASE_SEQUENCE_OFFSET",
    "count": "RECORDS_COUNT_OFFSET",
    "records": "RECORD_BATCH_OVERHEAD",
}


def in_python() -> dict[str, int]:
    """Every constant of `layout.py`, and the masks of `attributes.py`."""
    found = {name: value for name, value in vars(layout).items() if name.isupper()}
    masks = {name: value for name, value in vars(attributes).items() if name.endswith(("_BIT", "_MASK"))}
    return found | masks


def in_c() -> dict[str, int]:
    """Every enumerator of `_layout.h`."""
    text = (KERNEL / "_layout.h").read_text()
    return {name: int(value, 0) for name, value in re.findall(r"^ {4}([A-Z]\w+) = (\w+)", text, re.MULTILINE)}


def page_rows(page: str, columns: int) -> list[list[str]]:
    """The cells of the page's table of places: its rows begin with a number and have so many columns."""
    text = (ROOT / "docs" / "formats" / page).read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [row for row in rows if len(row) == columns and row[0].isdigit()]


def test_python_and_c_say_the_same() -> None:
    assert in_python() == in_c()


def test_compiled_modules_can_name_all_of_it() -> None:
    declared = re.findall(r"^ {8}([A-Z]\w+)$", (KERNEL / "_layout.pxd").read_text(), re.MULTILINE)
    assert sorted(declared) == sorted(in_c())


def test_the_page_of_the_batch_says_the_same() -> None:
    page = {FIELDS[name]: int(at) for at, name, _, _ in page_rows("record-batch.md", 4)}
    assert page == {name: getattr(layout, name) for name in FIELDS.values()}


def test_the_fields_fill_the_header() -> None:
    rows = page_rows("record-batch.md", 4)
    ends = [int(at) + int(size) for at, _, size, _ in rows[:-1]]
    assert ends == [int(row[0]) for row in rows[1:]]


def test_the_page_of_the_messages_says_the_same() -> None:
    rows = {row[0]: row for row in page_rows("message-set.md", 4)}
    assert rows[str(layout.LENGTH_OFFSET)][1] == "size"
    assert rows[str(layout.MESSAGE_CRC_OFFSET)][1] == "crc"
    assert rows[str(layout.MAGIC_OFFSET)][1:3] == ["magic 0", "magic 1"]
    assert rows[str(layout.MESSAGE_ATTRIBUTES_OFFSET)][1] == "attributes"
    assert rows[str(layout.MESSAGE_KEY_SIZE_OFFSET_V0)][1] == "key length"
    assert rows[str(layout.MESSAGE_TIMESTAMP_OFFSET)][2] == "timestamp"
    assert rows[str(layout.MESSAGE_KEY_SIZE_OFFSET_V1)][2].startswith("key length")


@pytest.mark.parametrize(
    ("magic", "smallest"),
    [
        (0, layout.LOG_OVERHEAD + layout.MESSAGE_OVERHEAD_V0),
        (1, layout.LOG_OVERHEAD + layout.MESSAGE_OVERHEAD_V1),
    ],
)
def test_the_smallest_message(magic: int, smallest: int) -> None:
    builder = BatchBuilder(magic)
    builder.append(5, None, None)
    assert len(builder.build()) == smallest


def test_size_of_an_entry() -> None:
    builder = BatchBuilder(base_offset=7)
    builder.append(5, b"k", b"v")
    batch = builder.build()
    assert layout.entry_size(batch) == layout.entry_size(b"x" + memoryview(batch), 1) == len(batch)
    assert layout.entry_size(bytes(8) + b"\xff\xff\xff\xff") == layout.LOG_OVERHEAD - 1


def test_nobody_else_writes_a_place_as_a_number() -> None:
    files = [path for ending in ("py", "pyx", "pxd", "h") for path in (ROOT / "src").rglob(f"*.{ending}")]
    found = {
        f"{path.relative_to(ROOT / 'src' / 'tidelog')}: {match[0]}"
        for path in files
        if path.stem not in ("layout", "_layout")
        for match in BY_NUMBER.finditer(path.read_text())
    }
    assert not found
