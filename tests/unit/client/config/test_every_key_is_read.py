"""A key that is declared is read somewhere: a setting without an effect is a lie that users find out late.

What counts is the constant, by the module that declares it: `keys.RETRIES` of the producer says nothing about the
admin's. The config package itself does not count: settling a value is not yet using it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidelog.client.config import admin, common, consumer, producer, security
from tidelog.common.config import Key

PACKAGE = "tidelog.client.config"
SOURCE = Path(common.__file__).parents[2]
MODULES = {module.__name__.rpartition(".")[2]: module for module in (common, security, producer, consumer, admin)}

#: Declared, but not read yet: what is built last. A row goes when its key is read.
NOT_YET: set[str] = set()


def declared() -> set[str]:
    """No module of the package imports a constant of another: what it has is its own."""
    return {
        f"{name}.{constant}"
        for name, module in MODULES.items()
        for constant, key in vars(module).items()
        if isinstance(key, Key)
    }


def uses(text: str) -> Iterator[str]:
    """`module.CONSTANT` of every constant of the config package that a file refers to."""
    modules, constants = {}, {}
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        for alias in node.names:
            name = alias.asname or alias.name
            if node.module == PACKAGE and alias.name in MODULES:
                modules[name] = alias.name
            elif node.module == "tidelog.client" and alias.name == "config":
                modules[name] = "*"
            elif node.module.startswith(f"{PACKAGE}."):
                constants[name] = f"{node.module.rpartition('.')[2]}.{alias.name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            module = modules[node.value.id]
            for home in MODULES if module == "*" else [module]:
                yield f"{home}.{node.attr}"
        elif isinstance(node, ast.Name) and node.id in constants:
            yield constants[node.id]


def read() -> set[str]:
    paths = [path for path in SOURCE.rglob("*.py") if "client/config" not in path.as_posix()]
    return {use for path in paths if PACKAGE.rpartition(".")[2] in (text := path.read_text()) for use in uses(text)}


READ = read()


@pytest.mark.parametrize("constant", sorted(declared()))
def test_a_declared_key_is_read(constant: str) -> None:
    if constant in NOT_YET:
        assert constant not in READ, "it is read now: take it off the list"
    else:
        assert constant in READ, f"no code reads {constant}: a key without an effect"


def test_nothing_is_excused_that_does_not_exist() -> None:
    assert declared() >= NOT_YET


def test_every_key_has_a_constant() -> None:
    for name, module in MODULES.items():
        named = {key.name for key in vars(module).values() if isinstance(key, Key)}
        shared = set() if name in ("common", "security") else set(common.KEYS.keys) | set(security.KEYS.keys)
        assert set(module.KEYS.keys) - shared == named


def test_counting_uses() -> None:
    text = (
        "from tidelog.client.config import common, producer as keys\n"
        "from tidelog.client.config.consumer import GROUP_ID\n"
        "from elsewhere import other\n"
        "config[keys.ACKS], config[common.CLIENT_ID], config[GROUP_ID], other.LINGER_MS\n"
    )
    assert set(uses(text)) == {"producer.ACKS", "common.CLIENT_ID", "consumer.GROUP_ID"}
