"""Mutations of a message, from its schema: every field that a version has, set to every odd value of its type.

A mutation is a path to a field and a value; it is applied to a fresh message each time, so that a script can give
each its own topic, group or transaction.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tidelog.protocol.message import Message, Structure
from tidelog.protocol.schema import Field

LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "uint16": (0, 2**16 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint32": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
}
UNKNOWN_NAME = "no-such-name"
ODD_NAMES = ("", UNKNOWN_NAME, "bad name!", ".", "..", "long" * 63, "__consumer_offsets", "ünï")
Path = tuple[str | int, ...]


class Mutation(NamedTuple):
    label: str
    path: Path
    value: Callable[[Any], Any]

    def apply(self, message: Any) -> Any:
        """The message with that one field changed (in place)."""
        holder = message
        for step in self.path[:-1]:
            holder = holder[step] if isinstance(step, int) else getattr(holder, step)
        name = self.path[-1]
        assert isinstance(name, str)
        setattr(holder, name, self.value(getattr(holder, name)))
        return message


def mutations(
    sample: Message,
    version: int,
    *,
    values: dict[str, list[Any]] | None = None,
    skip: frozenset[str] | set[str] = frozenset(),
) -> list[Mutation]:
    """All mutations of a message like `sample`.

    `values` gives a field (by its last name) other odd values than its type's; `skip` leaves fields out.
    """
    return list(_of_structure(sample, version, (), values or {}, skip))


def _of_structure(
    structure: Structure, version: int, path: Path, values: dict[str, list[Any]], skip: Any
) -> Iterator[Mutation]:
    for field in structure._schema_.fields:
        if version not in field.versions or field.name in skip:
            continue
        here = (*path, field.name)
        current = getattr(structure, field.name)
        text = ".".join(str(step) for step in here)
        for label, value in _odd(field, current, version, values.get(field.name)):
            yield Mutation(f"{text}={label}", here, value)
        if field.struct and field.array and current:
            yield from _of_structure(current[0], version, (*here, 0), values, skip)
        elif field.struct and not field.array and current is not None:
            yield from _of_structure(current, version, here, values, skip)


def _odd(
    field: Field, current: Any, version: int, given: list[Any] | None
) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    if version in field.nullable and current is not None:
        yield "null", _constant(None)
    if field.array:
        if current != []:
            yield "[]", _constant([])
        if current:
            yield "twice", lambda now: [*now, copy.deepcopy(now[0])]
        if field.struct or not current:
            return
        for value in given if given is not None else _scalars(field.type, current[0]):
            yield f"[{_show(value)}]", _constant([value])
        return
    if field.struct:
        return
    for value in given if given is not None else _scalars(field.type, current):
        if given is not None or value != current:
            yield _show(value), _constant(value)


def _scalars(kind: str, current: Any) -> list[Any]:
    if kind in LIMITS:
        low, high = LIMITS[kind]
        near = [current + 1] if isinstance(current, int) and current < high else []
        return list(dict.fromkeys([low, -1 if low else 0, 0, 1, *near, high]))
    if kind == "bool":
        return [not current]
    if kind == "string":
        return list(ODD_NAMES)
    if kind == "uuid":
        return [bytes(16), b"\x07" * 16]
    if kind == "float64":
        return [0.0, -1.0, float("nan"), float("inf")]
    return [b"", b"\xff\xff\xff junk"]


def _constant(value: Any) -> Callable[[Any], Any]:
    return lambda _: copy.deepcopy(value)


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 40 else f"{text[:30]}…({len(text)})"
