"""Apache Kafka's DumpLogSegments over whole directories, and what it says of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from support.kafka import dump_log_class, java_tool

DATA = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
#: The tool reports a damaged file in words and still exits with 0.
COMPLAINTS = re.compile(
    r"Mismatch|mismatch|isn't a valid|Non-consecutive|Exception|corrupt|invalid bytes", re.IGNORECASE
)
RECORD = re.compile(
    r"\| offset: (-?\d+) (?:.*?(?:CreateTime|LogAppendTime): (-?\d+) )?.*?(?: key: (.*?))?(?: payload: (.*))?$"
)


class Dumped(NamedTuple):
    offset: int
    timestamp: int
    key: str | None
    payload: str | None


def dump(version: str, conf: Path, directory: Path, *options: str) -> str:
    """What the tool prints for all files of a partition's directory (sanity checks of the indexes included)."""
    files = sorted(str(path) for path in directory.iterdir() if path.suffix in DATA)
    assert files, f"nothing to dump in {directory}"
    arguments = ["--files", ",".join(files), "--deep-iteration", "--print-data-log", *options]
    return java_tool(version, conf, dump_log_class(version), *arguments).stdout


def check_indexes(version: str, conf: Path, directory: Path) -> None:
    """The tool's own check of every index file against its log."""
    files = sorted(str(path) for path in directory.iterdir() if path.suffix in (".index", ".timeindex"))
    arguments = ["--files", ",".join(files), "--index-sanity-check", "--verify-index-only"]
    said = java_tool(version, conf, dump_log_class(version), *arguments).stdout
    assert not COMPLAINTS.search(said), said[-3000:]


def accepted(version: str, conf: Path, directory: Path) -> list[Dumped]:
    """The records as the tool reads them, after it found nothing to complain about."""
    said = dump(version, conf, directory)
    complaint = COMPLAINTS.search(said)
    assert complaint is None, said[max(0, complaint.start() - 2000) : complaint.end() + 1000]
    check_indexes(version, conf, directory)
    found = [RECORD.match(line) for line in said.splitlines() if line.startswith("| offset:")]
    assert all(found), "the tool's format changed"
    return [Dumped(int(m[1]), int(m[2] or -1), m[3], m[4]) for m in found if m]
