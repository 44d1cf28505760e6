"""No test that cannot fail: each holds an assertion, itself or through the helpers, fixtures and methods that it uses.

An assertion is an `assert`, `pytest.raises` and its like, a method `assert_…`, or a program that must end well
(`check=True`). `pytest.fail` is none: handed to a loop as a callback, it ends in the loop's log. What a test uses is
looked for by name, in its own file and in those of the tests that it imports; so a test may pass here for a namesake's
assertion, but one that is reported has none. A few tests say that something is *not* refused: they fail by what is
raised, and are listed. A row that is not needed any more fails.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Calls that fail by themselves when something is not as it should be.
CHECKS = {"raises", "warns", "deprecated_call"}
#: Methods that are called without their names.
UNNAMED = ("__init__", "__enter__", "__exit__", "__aenter__", "__aexit__", "__call__")

#: Garbage in, clean error out: whatever else is raised fails the test.
CLEAN_ERRORS = {
    "property/protocol/test_fuzz.py::test_responses",
    "property/protocol/test_fuzz.py::test_disk_frames",
    "property/records/test_message_properties.py::test_any_bytes",
    "property/records/test_message_properties.py::test_damaged_sets",
    "property/records/test_record_properties.py::test_any_bytes_at_all",
    "property/records/test_record_properties.py::test_damaged_batches",
    "property/records/test_record_properties.py::test_damaged_batches_for_long",
    "property/log/test_compaction_kernel.py::test_a_changed_byte_is_corruption_or_another_whole_batch",
    "unit/broker/coordinator/test_records.py::test_garbage_is_a_clean_error",
    "unit/broker/coordinator/test_records.py::test_garbage_of_known_types",
}
#: What is right is not refused, by a function that has nothing to say but a refusal.
NOT_REFUSED = {
    "unit/broker/handlers/configs/test_nodes.py::test_our_own_id_is_ours",
    "unit/broker/network/test_loops.py::test_uvloop_is_taken",
}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def definitions(path: Path) -> dict[str, list[ast.AST]]:
    """Functions of a file by their names, methods by theirs with a dot; of a class, what is called without a name."""
    found: dict[str, list[ast.AST]] = {}
    methods: set[ast.AST] = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef):
            methods.update(node.body)
            unnamed = [item for item in node.body if isinstance(item, Function) and item.name in UNNAMED]
            found.setdefault(node.name, []).extend([*unnamed, *node.bases])
        elif isinstance(node, Function) and not node.name.startswith("test_"):
            found.setdefault(f".{node.name}" if node in methods else node.name, []).append(node)
    return found


@cache
def neighbours(path: Path) -> tuple[Path, ...]:
    """The file, what gives it fixtures, and the files of the tests that these import, and so on."""
    found = [path, *(folder / "conftest.py" for folder in path.parents if (folder / "conftest.py").exists())]
    for place in found:
        for node in ast.walk(tree_of(place)):
            if isinstance(node, ast.ImportFrom) and node.module:
                name = TESTS / node.module.replace(".", "/")
                candidates = [name.with_suffix(".py"), *(name / f"{alias.name}.py" for alias in node.names)]
                found += [one for one in candidates if one.exists() and one not in found]
    return tuple(found)


def asserts(node: ast.AST) -> bool:
    """Whether something in it fails when things are not as they should be."""
    for part in ast.walk(node):
        if isinstance(part, ast.Assert):
            return True
        if isinstance(part, ast.Attribute) and (part.attr in CHECKS or part.attr.startswith("assert_")):
            return True
        if isinstance(part, ast.Name) and part.id == "AssertionError":
            return True
        if isinstance(part, ast.keyword) and part.arg == "check" and getattr(part.value, "value", None) is True:
            return True
    return False


def used(node: ast.AST) -> Iterator[str]:
    """Names of what it calls or hands on, fixtures among them."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield f".{part.attr}"
        elif isinstance(part, ast.arg):
            yield part.arg


def can_fail(test: Function, path: Path) -> bool:
    waiting: list[ast.AST] = [test]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if asserts(node):
            return True
        for name in set(used(node)) - seen:
            seen.add(name)
            homes = [definitions(place)[name] for place in neighbours(path) if name in definitions(place)]
            waiting += homes[0] if homes else []
    return False


def without_assertions() -> set[str]:
    return {
        f"{path.relative_to(TESTS)}::{node.name}"
        for path in sorted(TESTS.rglob("test_*.py"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, Function) and node.name.startswith("test_") and not can_fail(node, path)
    }


def test_every_test_asserts_something_and_every_exception_is_needed() -> None:
    assert without_assertions() == CLEAN_ERRORS | NOT_REFUSED


def test_one_without_an_assertion_is_found(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(
        "def look(): assert True\ndef walk(): pass\ndef test_a(walk): walk()\ndef test_b(look): pass\n"
        "def test_c():\n    with pytest.raises(ValueError): walk()\ndef test_d(): [look]\n"
    )
    found = {node.name: can_fail(node, file) for node in tree_of(file).body if isinstance(node, Function)}
    assert [found[name] for name in ("test_a", "test_b", "test_c", "test_d")] == [False, True, True, True]
