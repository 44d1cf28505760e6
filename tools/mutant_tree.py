"""A copy of the project in which one fault at a time is put, and the tests that are run in it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from mutant import Mutant

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tests", "tools", "docs", "examples", "build")  # with the last, only what changes is compiled anew
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")
#: What a fault raises that is no fault but a slip of whoever wrote it: the test noticed that the code does not run.
SLIPS = ("NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError")
#: What is raised by who waited for something that did not come. It may never come; it may be a busy machine as well.
TIME_OUTS = ("TimeoutError", "TimeoutExpired")


class Ending(Enum):
    """How a test that did not pass ended. Only the first says by itself that the fault was noticed."""

    FAILED = "failed"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    DID_NOT_RUN = "did not run"


@dataclass(frozen=True)
class Failure:
    test: str  # a node id, below tests/
    ending: Ending
    error: str  # its first line

    def __str__(self) -> str:
        said = "" if self.ending is Ending.FAILED else f"{self.ending.value}: "
        return f"{said}{self.test}" + (f": {self.error}" if self.error else "")


class Tree:
    def __init__(self, path: Path, time_limit: int) -> None:
        self.path = path
        self.time_limit = time_limit  # for one test, in seconds
        for name in FOLDERS:
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__", ".hypothesis"))
        for name in FILES:
            shutil.copy2(ROOT / name, path / name)

    @contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The tree with a fault in it; compiled code is built anew, with it and again without."""
        path = self.path / "src" / "tidelog" / mutant.file
        original = path.read_text()
        path.write_text(original.replace(mutant.sound, mutant.broken))
        try:
            if path.suffix in (".pyx", ".h"):
                self._build()
            yield
        finally:
            path.write_text(original)
            if path.suffix in (".pyx", ".h"):
                self._build()

    def first_failure(self, tests: Iterable[str]) -> Failure | None:
        """Run tests, small files first, up to the first that does not pass. They run in one process, since that says
        plainly which one ended it."""
        journal = self.path / "journal"
        journal.unlink(missing_ok=True)
        plugins = [word for name in ("no:cacheprovider", "no:xdist", "mutant_journal") for word in ("-p", name)]
        command = [sys.executable, "-m", "pytest", "-q", "-x", f"--timeout={self.time_limit}", *plugins]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(self.path / "src"), str(self.path / "tools")]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "MUTANT_JOURNAL": str(journal),
        }
        command += self._files(tests)
        done = subprocess.run(command, cwd=self.path, env=environment, capture_output=True, text=True)
        if done.returncode == 0:
            return None
        lines = [json.loads(line) for line in journal.read_text().splitlines()] if journal.exists() else []
        return _failure(lines, done.stdout + done.stderr)

    def _files(self, tests: Iterable[str]) -> list[str]:
        found: dict[str, int] = {}
        for name in tests:
            path = self.path / "tests" / name.partition("::")[0]
            for file in sorted(path.rglob("test_*.py")) if path.is_dir() else [path]:
                suffix = name.removeprefix(name.partition("::")[0])
                found[str(file.relative_to(self.path)) + suffix] = file.stat().st_size
        return sorted(found, key=lambda name: found[name])

    def _build(self) -> None:
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        subprocess.run(command, cwd=self.path, check=True, capture_output=True)


def _failure(lines: list[dict[str, str]], output: str) -> Failure:
    """What the journal says of a run that did not end well."""
    for line in lines:
        if line["event"] in ("failed", "uncollected"):
            test, error = line["test"].removeprefix("tests/"), line["error"]
            kind = error.partition(":")[0].rpartition(".")[2]
            if line["event"] == "uncollected" or kind in SLIPS:
                return Failure(test, Ending.DID_NOT_RUN, error)
            return Failure(test, Ending.TIMED_OUT if kind in TIME_OUTS else Ending.FAILED, error)
    ended = {line["test"] for line in lines if line["event"] == "ended"}
    for line in lines:
        if line["test"] not in ended:
            ending = Ending.TIMED_OUT if "+ Timeout +" in output else Ending.CRASHED
            return Failure(line["test"].removeprefix("tests/"), ending, "")
    sys.exit(f"the tests could not be run:\n{output[-4000:]}")
