"""docs/coverage.md names only what exists, and no row of it is without a test or a reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.client.config import consumer, producer
from tidelog.common.config import format_value

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "coverage.md"


def rows(last_column: str) -> Iterator[list[str]]:
    """The cells of every row of the tables whose last column is called so."""
    header: list[str] = []
    for line in PAGE.read_text().splitlines():
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not header:
            header = cells
        elif header[-1] == last_column and set(line) - set("|-: "):
            yield cells


def cited(cell: str) -> list[tuple[str, list[str]]]:
    """(test file, functions named behind it) in the order of the text."""
    found: list[tuple[str, list[str]]] = []
    for name in re.findall(r"`([^`]+)`", cell):
        if name.startswith("tests/") and name.endswith(".py"):
            found.append((name, []))
        elif name.startswith("test_"):
            assert found, f"{name} is named before its file"
            found[-1][1].append(name)
    return found


def functions_of(file: Path) -> set[str]:
    return set(re.findall(r"^ *(?:async )?def (test_\w+)\(", file.read_text(), re.MULTILINE))


def test_every_named_file_exists() -> None:
    named = set(re.findall(r"`((?:src|tests)/[^`]+)`", PAGE.read_text()))
    assert len(named) > 40
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


def test_every_named_test_exists() -> None:
    missing, count = [], 0
    for cells in rows("tests"):
        for file, functions in cited(cells[-1]):
            assert functions, f"{file} is named without a test: {cells[0]}"
            count += len(functions)
            there = functions_of(ROOT / file)
            missing += [f"{file}::{function}" for function in functions if function not in there]
    assert missing == []
    assert count > 100


@pytest.mark.parametrize("cells", list(rows("tests")), ids=lambda cells: cells[0][:40])
def test_every_row_has_a_test_or_says_what_is_missing(cells: list[str]) -> None:
    assert len(cells) == 3
    if not cited(cells[-1]):
        assert re.match(r"\*none\*: .{10}", cells[-1]), "neither a test nor a reason"
    else:
        assert "*later*" not in cells[1], "what is not built cannot be tested: split the row"


def test_the_clients_defaults_are_those_of_their_declarations() -> None:
    told = list(rows("Tidelog's clients"))
    assert len(told) > 15
    for key_cell, _, _, ours in told:
        for name in re.findall(r"`([^`]+)`", key_cell):
            keys = [keys.keys[name] for keys in (producer.KEYS, consumer.KEYS) if name in keys]
            defaults = [format_value(key.type, key.default) or "none" for key in keys]
            expected = " or ".join(f"`{default}`" for default in dict.fromkeys(defaults))
            assert expected, name
            assert ours.startswith(expected), name
