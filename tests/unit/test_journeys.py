"""The journeys' compiled files are written by hand: they exist, and are compiled."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_compiled_files_of_journeys_exist() -> None:
    spec = importlib.util.spec_from_file_location("journeys", ROOT / "tools" / "journeys.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    named = {name for files in tool.COMPILED.values() for name in files}
    assert named
    assert not [name for name in named if not (tool.SOURCES / name).is_file() or not name.endswith((".pyx", ".pxd"))]
