"""One name, one thing: a class name stands for one thing in the whole tree (docs/adr/0006-rooms.md, Names).

Private names (`_X`) do not count: nobody else can mean them. A row that is not needed any more fails.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "tidelog"
COMPILED = re.compile(r"^(?:cdef )?class ([A-Z]\w*)", re.MULTILINE)

#: One thing in two forms: blocking and asyncio, a broker and one inside a test.
FORMS = {"Admin", "Broker", "Consumer", "Producer"}
#: One thing of Kafka's, as the broker has it and as the client shows it.
SIDES = {"ConfigEntry", "ConfigSource", "Endpoint", "LogDir", "NewTopic", "TransactionState"}


def defined_twice() -> dict[str, list[str]]:
    """Class names with more than one home, and their homes."""
    homes: dict[str, set[str]] = defaultdict(set)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(str(path.relative_to(SOURCE)))
    for path in sorted(SOURCE.rglob("*.pyx")):
        for name in COMPILED.findall(path.read_text()):
            homes[name].add(str(path.relative_to(SOURCE)))
    return {name: sorted(places) for name, places in homes.items() if len(places) > 1}


TWICE = defined_twice()


def test_a_name_stands_for_one_thing() -> None:
    unexplained = {name: places for name, places in TWICE.items() if name not in FORMS | SIDES}
    assert not unexplained, "find another name for one of them, or say here why not"


def test_every_exception_is_needed() -> None:
    assert TWICE.keys() >= (FORMS | SIDES)


def test_what_has_two_sides_is_the_brokers_and_the_clients() -> None:
    for name in SIDES:
        packages = {place.split("/")[0] for place in TWICE[name]}
        assert "client" in packages, name
        assert len(packages) == len(TWICE[name]) == 2, name
