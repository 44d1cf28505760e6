"""Random messages of any schema and version, for the property tests and the oracles."""

from __future__ import annotations

import random
from typing import Any

from tidelog.protocol import messages
from tidelog.protocol._catalog import MESSAGE_FILES
from tidelog.protocol.message import Message, Structure
from tidelog.protocol.schema import Field

INTEGERS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789-_.äß漢字😀"


def all_messages() -> list[tuple[str, int]]:
    """Every (message name, version) there is."""
    return [(name, v) for name in MESSAGE_FILES for v in versions_of(name)]


def message_class(name: str) -> type[Message]:
    found: type[Message] = getattr(messages, name)
    return found


def versions_of(name: str) -> range:
    versions = message_class(name).schema.versions
    return range(versions.first, versions.last + 1)


class Randomizer:
    """Makes messages that say only what the version has room for. `tags` adds unknown tagged fields."""

    def __init__(self, seed: object, *, tags: bool = False) -> None:
        self.random = random.Random(str(seed))
        self.tags = tags

    def message(self, name: str, version: int) -> Message:
        cls = message_class(name)
        made = self.structure(cls, cls, version, depth=0)
        assert isinstance(made, Message)
        return made

    def structure(self, cls: type[Structure], root: type[Message], version: int, depth: int) -> Structure:
        struct = cls._schema_
        values = {f.name: self.value(f, root, version, depth) for f in struct.fields if version in f.versions}
        made = cls(**values)
        if self.tags and version in root.schema.flexible and self.random.random() < 0.4:
            known = {field.tag for field in struct.fields}
            free = [tag for tag in (0, 5, 77, 200, 40000) if tag not in known]
            picked = self.random.sample(free, self.random.randint(1, 2))
            made.unknown_tags = {tag: self.random.randbytes(self.random.choice((0, 1, 5, 200))) for tag in picked}
        return made

    def value(self, field: Field, root: type[Message], version: int, depth: int) -> Any:
        if version in field.nullable and self.random.random() < 0.2:
            return None
        if field.tag is not None and self.random.random() < 0.3:
            return getattr(_default_holder(field, root), field.name)
        if field.array:
            count = self.random.choice((0, 1, 2, 3) if depth < 3 else (0, 1))
            return [self.single(field, root, version, depth + 1) for _ in range(count)]
        return self.single(field, root, version, depth)

    def single(self, field: Field, root: type[Message], version: int, depth: int) -> Any:
        pick = self.random
        if field.struct:
            return self.structure(getattr(root, field.struct.name), root, version, depth)
        if field.type in INTEGERS:
            low, high = INTEGERS[field.type]
            return pick.choice((low, high, 0, -1 if low else 1, pick.randint(low, high), pick.randint(0, 100)))
        if field.type == "bool":
            return pick.random() < 0.5
        if field.type == "float64":
            return pick.choice((0.0, -1.5, 1e300, pick.random()))
        if field.type == "uuid":
            return pick.randbytes(16)
        if field.type == "string":
            return "".join(pick.choices(LETTERS, k=pick.choice((0, 1, 4, 9, 150))))
        return pick.randbytes(pick.choice((0, 1, 30, 130)))


def _default_holder(field: Field, root: type[Message]) -> Structure:
    for cls in root._structs_.values():
        if field in cls._schema_.fields:
            return cls()
    raise AssertionError(field.name)
