"""kio, a Python library whose schemas are generated from Kafka's: it reads what we write and writes the same bytes.

kio turns error codes, times and durations into types of its own, which do not take every number; so the random values
are tame here. The wild ones are compared with Kafka itself (test_java_oracle.py).
"""

from __future__ import annotations

import io
import re
from pkgutil import resolve_name
from typing import Any

import pytest
from kio.schema.index import schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from support.messages import INTEGERS, MESSAGE_FILES, Randomizer, message_class, versions_of
from tidelog.protocol.schema import Field


class TameRandomizer(Randomizer):
    """Numbers that are valid as error codes, times and durations alike; everything else as wild as ever."""

    def single(self, field: Field, *context: Any) -> Any:
        if field.type in INTEGERS:
            return self.random.randint(0, 100)
        return super().single(field, *context)


def kio_class(name: str, version: int) -> Any:
    kind = next((kind for kind in ("request", "response") if name.lower().endswith(kind)), "data")
    stem = name.removesuffix("Request").removesuffix("Response")
    key = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", stem).lower()
    path = schema_name_map.get(key, {}).get(version, {}).get(EntityType[kind])
    return None if path is None else resolve_name(path)


KNOWN = [name for name in MESSAGE_FILES if any(kio_class(name, version) for version in versions_of(name))]


def test_kio_has_most_of_the_wire() -> None:
    assert len(KNOWN) > 150


@pytest.mark.parametrize("name", KNOWN)
def test_kio_reads_and_writes_the_same_bytes(name: str) -> None:
    for version in versions_of(name):
        theirs = kio_class(name, version)
        if theirs is None:
            continue
        for number in range(5):
            message = TameRandomizer((name, version, number)).message(name, version)
            data = message.encode(version)
            entity, size = entity_reader(theirs)(data, 0)
            assert size == len(data)
            out = io.BytesIO()
            entity_writer(theirs)(out, entity)
            assert out.getvalue() == data
            assert message_class(name).decode(out.getvalue(), version) == message
