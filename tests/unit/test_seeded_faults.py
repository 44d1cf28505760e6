"""The seeded faults of `make mutants` must still fit the code, or they would be found missing only when they run."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_fault_has_its_place_in_the_code(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "tools")
    spec = importlib.util.spec_from_file_location("mutants", ROOT / "tools" / "mutants.py")
    mutants = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(mutants)
    assert len(mutants.MUTANTS) >= 30
    assert mutants.misplaced(ROOT / "src" / "tidelog") == []
