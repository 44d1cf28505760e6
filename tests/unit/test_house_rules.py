"""House rules that no linter checks: file sizes, and that no file knows the machine that it was written on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HARD_LIMIT = 700
CODE = ("*.py", "*.pyx", "*.sh")

#: Files that may be longer, each with its reason.
EXEMPT: dict[str, str] = {}


def code_files() -> list[Path]:
    folders = [ROOT / name for name in ("src", "tests", "tools", "bench", "examples")]
    return sorted(path for folder in folders for pattern in CODE for path in folder.rglob(pattern))


def test_no_file_is_too_long() -> None:
    long = {
        str(path.relative_to(ROOT)): lines
        for path in code_files()
        if (lines := path.read_text().count("\n")) > HARD_LIMIT
    }
    assert set(long) <= set(EXEMPT), f"split these by noun, or exempt them with a reason: {long}"


def test_exemptions_are_needed() -> None:
    for name in EXEMPT:
        assert (ROOT / name).read_text().count("\n") > HARD_LIMIT, f"{name} is short now: remove its exemption"


@pytest.mark.parametrize("pattern", [r"/(?:work|root|home)/\w", r"\bTODO\b", r"\bFIXME\b"])
def test_no_file_holds_machine_paths_or_loose_ends(pattern: str) -> None:
    this = Path(__file__)
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in code_files()
        if path != this
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not hits


def test_every_suppression_names_its_rule_and_reason() -> None:
    bare = re.compile(r"#\s*(?:noqa(?!:)|type:\s*ignore(?!\[))")
    hits = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in code_files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if bare.search(line)
    ]
    assert not hits


#: Whose time must be a seam: these run on a loop with virtual time, and with a clock that a test moves.
TIMED = ("src/tidelog/broker", "src/tidelog/log")
#: The sockets, and what watches them, live by the loop's own time.
OF_THE_LOOP = ("src/tidelog/broker/network/", "src/tidelog/broker/http.py")


def test_below_the_network_nobody_waits_but_by_the_seam_of_time() -> None:
    """`asyncio.sleep(0)` gives way and waits for nothing; any other wait is a `LoopTimer`'s or a `Scheduler`'s."""
    waits = re.compile(r"asyncio\.(?:sleep\((?!0\))|wait_for\(|timeout\()|get_running_loop\(\)\.call_(?:later|at)")
    hits = [
        f"{name}:{number}"
        for folder in TIMED
        for path in sorted((ROOT / folder).rglob("*.py"))
        if not (name := str(path.relative_to(ROOT))).startswith(OF_THE_LOOP)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if waits.search(line)
    ]
    assert not hits
