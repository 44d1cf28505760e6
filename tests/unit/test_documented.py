"""A fifth of each package is prose: docstrings and comments that teach, counted in lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tidelog"
WANTED = 20.0
#: Packages that are still short of it, with the least that they may have; a row goes when its package has enough.
SHORT_OF_IT: dict[str, float] = {}
#: Rendered from the schemas, and declarations whose prose is in strings that the reference page is made of.
NOT_COUNTED = ("protocol/_catalog.py", "broker/config/", "log/topic_keys.py", "client/config/")


def package_of(path: Path) -> str:
    """The unit that is counted: a package, or a room of the broker."""
    parts = path.relative_to(SOURCE).parts
    return "/".join(parts[:2]) if parts[0] == "broker" and len(parts) > 2 else parts[0]


def count(text: str) -> tuple[int, int]:
    """How many lines are not empty, and how many of them are prose."""
    lines = prose = 0
    inside = False
    for line in map(str.strip, text.splitlines()):
        if not line:
            continue
        lines += 1
        quotes = line.count('"""')
        if inside or line.startswith(('"""', 'r"""', "#")):
            prose += 1
        if quotes % 2:
            inside = not inside
    return lines, prose


def shares() -> dict[str, float]:
    """Percent of prose, by package."""
    lines: Counter[str] = Counter()
    prose: Counter[str] = Counter()
    for path in sorted(path for pattern in ("*.py", "*.pyx") for path in SOURCE.rglob(pattern)):
        name = str(path.relative_to(SOURCE))
        if name.startswith(NOT_COUNTED) or "/" not in name:
            continue
        found = count(path.read_text())
        lines[package_of(path)] += found[0]
        prose[package_of(path)] += found[1]
    return {package: 100 * prose[package] / lines[package] for package in lines if lines[package]}


SHARES = shares()


@pytest.mark.parametrize("package", sorted(SHARES))
def test_a_package_teaches(package: str) -> None:
    least = SHORT_OF_IT.get(package, WANTED)
    assert SHARES[package] >= least, f"{package}: {SHARES[package]:.1f} % of its lines are prose, {least} % are wanted"


def test_no_exception_is_left_over() -> None:
    assert not [package for package in SHORT_OF_IT if SHARES.get(package, 100.0) >= WANTED]


def test_counting() -> None:
    assert count('"""One."""\n\nx = 1  # two\n# three\n"""four\n\nfive\n"""\ny = 2\n') == (7, 5)
