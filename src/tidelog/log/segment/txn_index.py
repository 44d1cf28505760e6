"""`.txnindex`: the aborted transactions whose end lies in a segment.

    34 bytes each: version int16 (0), producer id, first offset, last offset, last stable offset (int64)

`first offset` is the transaction's first record (perhaps in an earlier segment), `last offset` its abort marker, and
`last stable offset` that of the moment when the marker was written: a reader that has found an entry whose last stable
offset is at or above the end of what it reads need not look into later segments. Entries are in the order of their
last offsets. The file is made with the first entry; most segments have none.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterable
from operator import attrgetter

from tidelog.common.named_tuple import NamedTuple
from tidelog.log.names import TXN_INDEX
from tidelog.log.segment._index import CorruptIndexError
from tidelog.log.segment.data_file import DataFile
from tidelog.log.segment.home import Home

_ENTRY = struct.Struct(">hqqqq")
ENTRY_SIZE = _ENTRY.size
_VERSION = 0


class AbortedTxn(NamedTuple):
    """An aborted transaction, as the index holds it."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


def encode(transaction: AbortedTxn) -> bytes:
    return _ENTRY.pack(_VERSION, *transaction)


def decode(data: bytes, base_offset: int, origin: str) -> list[AbortedTxn]:
    """All entries of an index file; raises CorruptIndexError."""
    if len(data) % ENTRY_SIZE:
        raise CorruptIndexError(f"{origin}: {len(data)} bytes are no whole number of {ENTRY_SIZE}-byte entries")
    entries: list[AbortedTxn] = []
    last = base_offset - 1
    for version, *fields in _ENTRY.iter_unpack(data):
        entry = AbortedTxn(*fields)
        if version > _VERSION:
            raise CorruptIndexError(f"{origin}, entry {len(entries)}: version {version}, expected {_VERSION}")
        if entry.last_offset <= last:
            raise CorruptIndexError(f"{origin}, entry {len(entries)}: last offset {entry.last_offset} after {last}")
        last = entry.last_offset
        entries.append(entry)
    return entries


class TxnIndex:
    """The aborted transactions of one segment; read once, then kept in memory."""

    __slots__ = ("_entries", "data")

    def __init__(self, home: Home, base_offset: int, suffix: str = "", size: int = 0) -> None:
        self.data = DataFile(home, base_offset, TXN_INDEX, suffix, size)
        self._entries: list[AbortedTxn] | None = None if size else []

    @property
    def entries(self) -> list[AbortedTxn]:
        """All of them, read at the first look. Raises CorruptIndexError; the index is rebuilt from the batches then."""
        if self._entries is None:
            data = self.data.read_at(0, self.data.size)
            self._entries = decode(data, self.data.base_offset, str(self.data.path))
        return self._entries

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.data.size > 0 or self.data.home.fs.exists(self.data.path)

    def append(self, transaction: AbortedTxn) -> None:
        """An abort marker was written. The file is made with the first one: its name is not durable before a flush."""
        entries = self.entries
        if entries and entries[-1].last_offset >= transaction.last_offset:
            raise ValueError(f"{self.data.path}: {transaction} does not follow {entries[-1]}")
        if not entries and self.data.size == 0:
            self.data.create()
            if not self.data.suffix:
                self.data.home.unsynced.add_name()
        self.data.append([encode(transaction)], ENTRY_SIZE)
        entries.append(transaction)

    def collect(self, start: int, end: int) -> tuple[list[AbortedTxn], bool]:
        """The aborted transactions that overlap the offsets [start, end), and whether no later segment adds one.

        Entries are sorted by their ends, so those that ended before `start` are stepped over by a search. An entry
        whose last stable offset is at or above `end` says that, when it was written, every transaction that began below
        `end` had ended: so all of them have been seen.
        """
        found = []
        entries = self.entries
        for number in range(bisect_left(entries, start, key=attrgetter("last_offset")), len(entries)):
            entry = entries[number]
            if entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Drop the transactions that ended at `offset` or later."""
        kept = [entry for entry in self.entries if entry.last_offset < offset]
        if len(kept) < len(self.entries):
            self._entries = kept
            self.data.truncate(len(kept) * ENTRY_SIZE)

    def reset(self) -> None:
        """Forget everything: the index is about to be built anew."""
        self._entries = []
        if self.exists:
            self.data.truncate(0)

    def replace(self, transactions: Iterable[AbortedTxn]) -> None:
        self.reset()
        for transaction in transactions:
            self.append(transaction)

    def sync(self) -> None:
        """Make the entries durable. Without them a reader would take aborted records for committed ones."""
        if self.exists:
            self.data.sync()

    def close(self) -> None:
        self.data.close()
