"""What is imported late: a broker that nobody has asked anything goes without it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tidelog.broker import parts

#: What only some brokers or some moments need; `parts.py` says which.
LATE = (
    "adoption.adopt",
    "adoption.metadata_log",
    "controller.config_changes",
    "coordinator",
    "exposition",
    "handlers.failure",
    "handlers.groups",
    "handlers.records",
    "handlers.topics",
    "http",
    "peers.connections",
    "replication.partition",
)
PROGRAM = f"""
import sys, uvloop
from tidelog.broker.server import Broker

async def main():
    async with Broker({{"log.dirs": sys.argv[1], "listeners": "PLAINTEXT://127.0.0.1:0"}}):
        print(*sorted(name for name in {LATE!r} if f"tidelog.broker.{{name}}" in sys.modules))

uvloop.run(main())
"""


def test_a_new_broker_starts_without_what_nobody_has_asked_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr


@pytest.mark.parametrize("name", sorted(set(parts.__all__) - {"import_ahead"}))
def test_every_part_is_found(name: str) -> None:
    assert getattr(parts, name).__name__ == name


def test_there_are_no_others() -> None:
    with pytest.raises(AttributeError):
        parts.Others  # type: ignore[attr-defined]  # noqa: B018  # that is the point


BROKER = Path(parts.__file__).parent
#: Who else imports late, as the text of `parts.py` says.
BELOW = ["dynamic_configs.py", "handlers/services.py", "handlers/takers.py", "replication/manager.py"]


def imports_late(path: Path) -> bool:
    """Whether a function of the module imports another of ours."""
    functions = (
        node
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return any(
        isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tidelog")
        for function in functions
        for node in ast.walk(function)
    )


def test_nobody_else_imports_late() -> None:
    assert [str(path.relative_to(BROKER)) for path in sorted(BROKER.rglob("*.py")) if imports_late(path)] == BELOW
