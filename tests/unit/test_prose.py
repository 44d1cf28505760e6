"""Prose is wrapped at 120 columns."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wrap_prose", ROOT / "tools" / "wrap_prose.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()


@pytest.mark.parametrize("page", TOOL.pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_are_wrapped(page: Path) -> None:
    assert TOOL.wrapped(page.read_text()) == page.read_text(), "run `make format`"


def test_compiled_files_are_wrapped() -> None:
    """Ruff looks at Python alone."""
    files = sorted(path for suffix in ("*.pyx", "*.pxd", "_*.h") for path in (ROOT / "src").rglob(suffix))
    assert len(files) > 50
    long = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in files
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) > TOOL.WIDTH
    ]
    assert not long


LONG = "word " * 30


@pytest.mark.parametrize(
    "text",
    [
        f"| {LONG} |",
        f"```\n{LONG}\n```",
        f"    {LONG}",
        f"# {LONG}",
        f"> {LONG}",
        "short lines\nof a paragraph",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert TOOL.wrapped(text) == text


def test_what_is_wrapped() -> None:
    lines = TOOL.wrapped(f"- {LONG}").split("\n")
    assert [line[:2] for line in lines] == ["- ", "  "]
    assert " ".join(" ".join(lines).split()) == f"- {LONG}".strip()
    assert all(len(line) <= TOOL.WIDTH for line in lines)


def test_code_and_links_stay_whole() -> None:
    code = "`" + "a b " * 20 + "`"
    link = "[" + "a b " * 20 + "](x y)"
    assert code in TOOL.wrapped(f"{LONG} {code} {LONG}")
    assert link in TOOL.wrapped(f"{LONG} {link} {LONG}")


def test_no_line_becomes_another_kind_of_block() -> None:
    assert TOOL.wrapped("x" * 120 + " - y z") == "x" * 120 + " -\ny z"
