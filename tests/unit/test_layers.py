"""Compiled files keep to the layers as well: import-linter does not see `cimport`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
IMPORTS = re.compile(r"^\s*from (tidelog[\w.]*) c?import ", re.MULTILINE)
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
LAYERS = [contract for contract in LINTER["contracts"] if contract["type"] == "layers"]


def compiled_imports() -> Iterator[tuple[str, str]]:
    """Which module imports which, over all compiled files."""
    for path in sorted(path for pattern in ("*.pyx", "*.pxd") for path in SOURCE.rglob(pattern)):
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        for imported in IMPORTS.findall(path.read_text()):
            yield module, imported


def place(contract: dict[str, list[str]], module: str) -> tuple[int, str] | None:
    """How far down a module lies in a contract's layers, and in which of a layer's rooms; None when they do not speak
    of it."""
    prefixes = contract.get("containers", [""])
    for depth, layer in enumerate(contract["layers"]):
        for name in layer.split(" | "):
            for prefix in prefixes:
                whole = f"{prefix}.{name}" if prefix else name
                if module == whole or module.startswith(whole + "."):
                    return depth, name
    return None


@pytest.mark.parametrize("contract", LAYERS, ids=lambda contract: contract["name"])
def test_compiled_files_import_downwards_only(contract: dict[str, list[str]]) -> None:
    upwards = []
    for module, imported in compiled_imports():
        here, there = place(contract, module), place(contract, imported)
        if here is None or there is None or here == there:
            continue
        if there[0] <= here[0]:  # above, or beside: rooms of one layer do not know each other
            upwards.append(f"{module} -> {imported}")
    assert not upwards


def test_there_is_something_to_check() -> None:
    pairs = list(compiled_imports())
    assert len(pairs) > 50
    assert ("tidelog.log.segment._index", "tidelog.log.segment._handles") in pairs
