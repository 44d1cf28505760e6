"""Two transcripts side by side: what is equal, what is excepted with a reason, what differs."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, NamedTuple

from interop.differential.exceptions import reason_for
from interop.differential.session import Entry, api_name
from tidelog.common.errors import ErrorCode

#: Names that scripts made up, in paths.
MADE_UP = re.compile(r"\[\w+-[\w-]+-[a-z]+\d+\]")


class Difference(NamedTuple):
    ours: Entry
    theirs: Entry
    fields: list[tuple[str, Any, Any]]
    """Path, Apache Kafka's value, Tidelog's value."""

    def __str__(self) -> str:
        entry = self.theirs
        head = f"{api_name(entry.key)} v{entry.version} [{entry.script}] {entry.label}"
        return "\n".join([head, *self.lines(), f"    request {entry.request:.600}"])

    def lines(self) -> list[str]:
        return [
            f"    {MADE_UP.sub('[]', path)}: kafka {shown(path, their)} tidelog {shown(path, our)}"
            for path, their, our in self.fields
        ][:8]


def shown(path: str, value: Any) -> str:
    if path.endswith("error_code") and isinstance(value, int):
        return ErrorCode(value).name
    return f"{value!r:.200}"


class Report:
    """Counts per (key, version), and the differences that have no reason."""

    def __init__(self) -> None:
        self.cases: Counter[tuple[int, int]] = Counter()
        self.equal: Counter[tuple[int, int]] = Counter()
        self.excepted: Counter[tuple[int, int]] = Counter()
        self.reasons: Counter[str] = Counter()
        self.differences: list[Difference] = []

    def add(self, oracle: str, theirs: list[Entry], ours: list[Entry]) -> None:
        for their, our in zip(theirs, ours, strict=False):
            assert their[:4] == our[:4], f"the script took two ways: {their[:4]} and {our[:4]}"
            row = (their.key, their.version)
            self.cases[row] += 1
            fields = differing(their.answer, our.answer)
            if not fields:
                self.equal[row] += 1
                continue
            reasons = [reason_for(oracle, their, *field) for field in fields]
            open_fields = [field for field, reason in zip(fields, reasons, strict=True) if reason is None]
            self.reasons.update({reason for reason in reasons if reason})
            if open_fields:
                self.differences.append(Difference(our, their, open_fields))
            else:
                self.excepted[row] += 1

    def merge(self, other: Report) -> None:
        self.cases.update(other.cases)
        self.equal.update(other.equal)
        self.excepted.update(other.excepted)
        self.reasons.update(other.reasons)
        self.differences += other.differences

    def grouped(self, requests: bool = False) -> str:
        """The differences, those that look the same together."""
        groups: dict[tuple[str, ...], list[Difference]] = {}
        for difference in self.differences:
            head = f"{api_name(difference.theirs.key)} [{difference.theirs.script}]"
            groups.setdefault((head, *difference.lines()), []).append(difference)
        out = []
        for (head, *lines), members in groups.items():
            out.append(head)
            labels: dict[str, list[str]] = {}
            for member in members:
                labels.setdefault(member.theirs.label, []).append(str(member.theirs.version))
            out += [f"  - {label} (v{','.join(versions)})" for label, versions in labels.items()]
            out += lines
            if requests:
                out.append(f"    request {members[0].theirs.request}")
        return "\n".join(out)

    def table(self) -> str:
        lines = [f"{'key':>4} {'API':<28} {'version':>7} {'cases':>6} {'equal':>6} {'excepted':>8} {'different':>9}"]
        for row in sorted(self.cases):
            cases, equal, excepted = self.cases[row], self.equal[row], self.excepted[row]
            name = api_name(row[0])
            lines.append(
                f"{row[0]:>4} {name:<28} {row[1]:>7} {cases:>6} {equal:>6} {excepted:>8} {cases - equal - excepted:>9}"
            )
        total, equal, excepted = self.cases.total(), self.equal.total(), self.excepted.total()
        lines.append(f"     {'all':<28} {'':>7} {total:>6} {equal:>6} {excepted:>8} {total - equal - excepted:>9}")
        return "\n".join(lines)


def differing(theirs: Any, ours: Any, path: str = "") -> list[tuple[str, Any, Any]]:
    """Where two trees differ."""
    if isinstance(theirs, dict) and isinstance(ours, dict) and theirs.keys() == ours.keys():
        return [found for name in theirs for found in differing(theirs[name], ours[name], f"{path}.{name}".lstrip("."))]
    if isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        pairs = zip(theirs, ours, strict=True)
        return [found for pair in pairs for found in differing(*pair, f"{path}[{_name(pair[0])}]")]
    return [] if theirs == ours and type(theirs) is type(ours) else [(path, theirs, ours)]


def _name(item: Any) -> str:
    """What an element of a list is about."""
    return next((str(item[name]) for name in ("name", "topic") if item.get(name)), "") if isinstance(item, dict) else ""
