from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.log.segment._index import CorruptIndexError
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home
from tidelog.log.segment.txn_index import AbortedTxn, TxnIndex

A = AbortedTxn(1, 0, 10, 11)
B = AbortedTxn(2, 5, 20, 3)
C = AbortedTxn(3, 18, 30, 22)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, SYSTEM_CLOCK, FileBudget(4))


@pytest.fixture
def index(home: Home) -> TxnIndex:
    index = TxnIndex(home, 0)
    for entry in (A, B, C):
        index.append(entry)
    return index


def test_the_file_comes_with_the_first_entry(home: Home) -> None:
    index = TxnIndex(home, 0)
    assert not index.exists
    index.sync()
    index.append(A)
    assert index.data.path.read_bytes() == struct.pack(">hqqqq", 0, 1, 0, 10, 11)
    assert index.exists


def test_reading_back(home: Home, index: TxnIndex) -> None:
    index.close()
    assert TxnIndex(home, 0, size=3 * 34).entries == [A, B, C]


def test_last_offsets_rise(index: TxnIndex) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        index.append(AbortedTxn(9, 29, 30, 31))


@pytest.mark.parametrize(
    ("start", "end", "found", "complete"),
    [
        (0, 100, [A, B, C], False),
        (0, 5, [A], True),       # A's last stable offset 11 says: nothing before 5 is still open
        (11, 19, [B, C], True),
        (11, 18, [B], True),
        (21, 100, [C], False),
        (31, 100, [], False),
    ],
)  # fmt: skip
def test_collect(index: TxnIndex, start: int, end: int, found: list[AbortedTxn], complete: bool) -> None:
    assert index.collect(start, end) == (found, complete)


def test_truncate(home: Home, index: TxnIndex) -> None:
    index.truncate_to(31)
    assert len(index.entries) == 3
    index.truncate_to(20)
    assert index.entries == [A]
    assert home.fs.stat(index.data.path).size == 34
    index.append(B)
    index.replace([C])
    assert index.entries == [C]
    index.reset()
    assert (index.entries, home.fs.stat(index.data.path).size) == ([], 0)
    index.append(A)
    assert index.entries == [A]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"x" * 33, "33 bytes are no whole number"),
        (struct.pack(">hqqqq", 1, 1, 0, 10, 11), "version 1"),
        (struct.pack(">hqqqq", 0, 1, 0, 10, 11) * 2, "last offset 10 after 10"),
    ],
)
def test_corrupt(home: Home, data: bytes, expected: str) -> None:
    home.file("00000000000000000000.txnindex").write_bytes(data)
    with pytest.raises(CorruptIndexError, match=expected):
        _ = TxnIndex(home, 0, size=len(data)).entries
