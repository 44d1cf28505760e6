"""What is built from the source tree: a wheel that needs no Spark to be made, and that holds byte code."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_wheel_is_made_without_the_dependencies(tmp_path: Path):
    planned = subprocess.run(
        ["make", "-n", "wheel", f"VENV={tmp_path / 'venv'}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "pip wheel" in planned.stdout
    assert ".[dev]" not in planned.stdout


def test_set_up_leaves_byte_code_behind(tmp_path: Path):
    planned = subprocess.run(
        ["make", "-n", "setup", f"VENV={tmp_path / 'venv'}"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "compileall" in planned.stdout


def test_a_wheels_modules_have_byte_code_that_is_always_taken(tmp_path: Path):
    """The second word of a .pyc file holds its flags: 1 stands for a hash that is not compared with the source."""
    command = [sys.executable, "setup.py", "-q", "build_py", "--build-lib", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    modules = list((tmp_path / "tidelog").rglob("*.py"))
    assert len(modules) > 100
    for module in modules:
        compiled = Path(importlib.util.cache_from_source(str(module))).read_bytes()
        assert int.from_bytes(compiled[4:8], "little") == 1, module
