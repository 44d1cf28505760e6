"""docs/coverage.md names only files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_named_file_exists() -> None:
    page = (ROOT / "docs" / "coverage.md").read_text()
    named = set(re.findall(r"`((?:src|tests)/[^`]+)`", page))
    assert len(named) > 20
    missing = sorted(name for name in named if not (ROOT / name).exists())
    assert not missing
