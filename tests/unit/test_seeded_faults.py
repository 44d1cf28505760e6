"""The seeded faults of `make mutants` must still fit the code, or they would be found missing only when they run.

And the tool that puts them in must tell a test that noticed a fault from one that hung, fell over, or never ran.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def mutants(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("mutants")


@pytest.fixture
def tree(mutants: ModuleType) -> ModuleType:
    return importlib.import_module("mutant_tree")


def test_every_fault_has_its_place_in_the_code_and_its_tests_are_there(mutants: ModuleType) -> None:
    assert len(mutants.MUTANTS) >= 150
    assert mutants.misplaced(ROOT / "src" / "tidelog") == []


def test_every_fault_has_a_name_of_its_own(mutants: ModuleType) -> None:
    assert len({mutant.name for mutant in mutants.MUTANTS}) == len(mutants.MUTANTS)


def test_no_list_is_left_out(mutants: ModuleType) -> None:
    lists = [importlib.import_module(path.stem) for path in (ROOT / "tools").glob("mutants_of_*.py")]
    written = [name for one in lists for name in vars(one).values() if isinstance(name, list)]
    assert sum(map(len, written)) == len(mutants.MUTANTS)


BEGAN = {"event": "began", "test": "tests/a.py::test_it"}
OTHER = {"event": "began", "test": "tests/a.py::test_other"}, {"event": "ended", "test": "tests/a.py::test_other"}


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        ("assert 1 == 2", "failed"),
        ("ValueError: NameError", "failed"),
        ("TimeoutError", "timed out"),
        ("concurrent.futures._base.TimeoutError: too long", "timed out"),
        ("subprocess.TimeoutExpired: Command '['x']' timed out after 60 seconds", "timed out"),
        ("NameError: name 'sotp' is not defined", "did not run"),
    ],
)
def test_the_error_tells_how_a_test_ended(tree: ModuleType, error: str, ending: str) -> None:
    failed = {"event": "failed", "test": "tests/a.py::test_it", "error": error}
    failure = tree._failure([*OTHER, BEGAN, failed, {"event": "ended", "test": "tests/a.py::test_it"}], "")
    assert (failure.test, failure.ending.value, failure.error) == ("a.py::test_it", ending, error)


@pytest.mark.parametrize(("output", "ending"), [("+++++ Timeout +++++", "timed out"), ("Segmentation", "crashed")])
def test_a_test_that_began_and_did_not_end_took_the_process_with_it(tree: ModuleType, output: str, ending: str) -> None:
    failure = tree._failure([*OTHER, BEGAN], output)
    assert (failure.test, failure.ending.value) == ("a.py::test_it", ending)


def test_a_file_that_cannot_be_loaded_shows_nothing(tree: ModuleType) -> None:
    failure = tree._failure([{"event": "uncollected", "test": "tests/a.py", "error": "SyntaxError: no"}], "")
    assert failure.ending is tree.Ending.DID_NOT_RUN


class StandIn:
    """A tree in which tests end as the script says: with the fault, alone with it, and alone without."""

    def __init__(self, tree: ModuleType, *endings: str) -> None:
        self._tree = tree
        self._endings = list(endings)

    def planted(self, mutant: object) -> StandIn:
        return self

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...

    def first_failure(self, tests: list[str]) -> object:
        ending = self._endings.pop(0)
        return None if ending == "passes" else self._tree.Failure("a.py::test_it", self._tree.Ending(ending), "E")


@pytest.mark.parametrize(
    ("endings", "verdict"),
    [
        (["passes"], "SURVIVED"),
        (["failed", "passes"], "killed"),
        (["failed", "failed"], "SUSPICIOUS"),  # without the fault too
        (["timed out", "timed out", "passes"], "killed"),
        (["timed out", "passes"], "SUSPICIOUS"),  # not again
        (["crashed", "crashed", "crashed"], "SUSPICIOUS"),  # without the fault too
        (["did not run", "did not run"], "SUSPICIOUS"),
    ],
)
def test_a_fault_is_killed_when_a_test_fails_with_it_and_not_without(
    mutants: ModuleType, tree: ModuleType, endings: list[str], verdict: str
) -> None:
    trials = mutants.Trials([StandIn(tree, *endings)])
    assert trials.verdict(mutants.MUTANTS[0])[0] == verdict
