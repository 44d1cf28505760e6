"""What copiers say they did, what a reader sees, and everything in it that exactly-once forbids.

Each copier appends to a history file, one line per step and each before the next step begins:

    copy TRANSACTION 4,8,12     about to write these records in a transaction
    committed TRANSACTION       the commit was acknowledged
    aborted TRANSACTION         so was the abort

A transaction without an end was cut short (its copier was killed, or could not tell): it may have ended either way, but
as a whole. A copied record carries the name of its transaction, so that the reader's view can be held against this.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

#: A hundred numbers and the name of their transaction are far less.
LONGEST_LINE = 4096


class Copied(NamedTuple):
    """A record of the copy, as a reader of committed records sees it."""

    key: str
    number: int
    transaction: str


@dataclass
class History:
    """All that the copiers wrote down."""

    copies: dict[str, list[int]] = field(default_factory=dict)
    committed: set[str] = field(default_factory=set)
    aborted: set[str] = field(default_factory=set)

    def add(self, line: str) -> None:
        step, _, rest = line.strip().partition(" ")
        transaction, _, numbers = rest.partition(" ")
        if step == "copy" and numbers:
            self.copies[transaction] = [int(number) for number in numbers.split(",")]
        elif step in ("committed", "aborted") and transaction:
            (self.committed if step == "committed" else self.aborted).add(transaction)

    @classmethod
    def read(cls, paths: Iterable[Path]) -> History:
        """A line that a kill cut off says nothing."""
        history = cls()
        for path in paths:
            for line in path.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    history.add(line)
        return history

    @property
    def cut_short(self) -> int:
        return len(self.copies.keys() - self.committed - self.aborted)


def in_flight(path: Path, names: str) -> bool:
    """Whether a copier whose transactions' names begin so is in one, by the last line of its history."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_LINE))
        lines = file.read().splitlines()
    return bool(lines) and lines[-1].startswith(f"copy {names}".encode())


def findings(history: History, inputs: Sequence[int], copy: Mapping[int, Sequence[Copied]]) -> dict[str, list[str]]:
    """What is wrong with a finished copy (by partition, in order of offsets), by kind; empty when all is well."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    everything = [record for records in copy.values() for record in records]
    times = Counter(record.number for record in everything)
    visible: defaultdict[str, set[int]] = defaultdict(set)
    for record in everything:
        visible[record.transaction].add(record.number)
    acknowledged = {number for name in history.committed for number in history.copies.get(name, ())}
    known = set(inputs)
    for number in inputs:
        if not times[number]:
            found["lost" if number in acknowledged else "skipped"].append(str(number))
    found["duplicated"] += [f"{number} x{count}" for number, count in times.items() if count > 1]
    found["invented"] += [str(number) for number in times if number not in known]
    for name, numbers in visible.items():
        if name in history.aborted:
            found["aborted but read"].append(f"{name}: {sorted(numbers)[:5]}")
        missing = set(history.copies.get(name, ())) - numbers
        if missing:
            found["torn"].append(f"{name}: without {sorted(missing)[:5]}")
    for partition, records in copy.items():
        found["reordered"] += _reordered(partition, records)
    return {kind: entries for kind, entries in found.items() if entries}


def _reordered(partition: int, records: Sequence[Copied]) -> list[str]:
    """Records that come after a later one of the same key (a second copy of a record is another finding)."""
    latest: dict[str, int] = {}
    out = []
    for record in records:
        before = latest.get(record.key, -1)
        if record.number < before:
            out.append(f"{record.number} after {before} in partition {partition}")
        latest[record.key] = max(before, record.number)
    return out
