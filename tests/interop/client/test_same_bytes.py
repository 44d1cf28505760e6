"""Serializers, deserializers and partitioners beside Java's, on a large random set: the same bytes, values, places."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from support.kafka import KAFKA_4, java_command
from tidelog.client.cluster.metadata import ClusterMetadata, Node, PartitionInfo, TopicInfo
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.client.producer.partitioners import Cluster, RoundRobinPartitioner
from tidelog.client.serialization import SerializationError, deserializer_of, serializer_of
from tidelog.common.clock import SYSTEM_CLOCK

pytestmark = pytest.mark.java

SOURCE = Path(__file__).parents[2] / "support" / "java" / "ClientBytes.java"
CASES = 5000
ENCODINGS = ["UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32", "UTF-32BE", "US-ASCII", "ISO-8859-1", "windows-1252"]
WIDTHS = {"short": 2, "int": 4, "long": 8, "float": 4, "double": 8, "bool": 1}


def java(lines: list[str], conf: Path) -> list[str]:
    done = subprocess.run(
        java_command(KAFKA_4, conf, str(SOURCE)), input="\n".join(lines), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-4000:]
    answers = [line[1:] for line in done.stdout.splitlines() if line.startswith("=")]
    assert len(answers) == len(lines)
    return answers


def text(rng: random.Random, encoding: str) -> str:
    """Characters that the encoding has, of all planes, also none."""
    ranges = {"US-ASCII": [(0, 0x7F)], "ISO-8859-1": [(0, 0xFF)], "windows-1252": [(0, 0x7F), (0xA0, 0xFF)]}
    everything = [(0, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]
    found = (rng.choice(ranges.get(encoding, everything)) for _ in range(rng.choice([0, 1, 2, 5, 40])))
    return "".join(chr(rng.randint(*span)) for span in found).lstrip("\ufeff")


def value_of(rng: random.Random, kind: str, encoding: str) -> tuple[Any, str]:
    """A value, and how the Java program is told of it."""
    if kind == "bytes":
        data = rng.randbytes(rng.randrange(20))
        return data, data.hex()
    if kind == "uuid":
        made = UUID(int=rng.getrandbits(128))
        return made, str(made)
    if kind == "str":
        made = text(rng, encoding)
        return made, made.encode("utf-16-be").hex()
    if kind == "bool":
        return (True, "true") if rng.random() < 0.5 else (False, "false")
    width = 8 * WIDTHS[kind]
    number = rng.choice([rng.getrandbits(width), rng.getrandbits(4), 2**width - 1, 2 ** (width - 1)])
    signed = number - 2**width if number >= 2 ** (width - 1) else number
    if kind not in ("float", "double"):
        return signed, str(signed)
    value = struct.unpack(">f" if kind == "float" else ">d", number.to_bytes(width // 8, "big"))[0]
    if value != value:  # not a number: which of the many, Python does not keep through a float of another width
        return value_of(rng, kind, encoding)
    return value, str(signed)


def shown(kind: str, value: Any) -> str:
    """As the Java program shows it."""
    if kind == "bytes":
        return str(value.hex())
    if kind == "str":
        return str(value.encode("utf-16-be").hex())
    if kind == "bool":
        return str(value).lower()
    if kind in ("float", "double"):
        letters = (">f", ">i") if kind == "float" else (">d", ">q")
        return str(struct.unpack(letters[1], struct.pack(letters[0], value))[0])
    return str(value)


def encodings_of(kind: str) -> list[str]:
    return ENCODINGS if kind in ("str", "uuid") else ["UTF-8"]


def test_values_become_the_same_bytes(tmp_path: Path) -> None:
    rng = random.Random(20261118)
    kinds = ["bytes", "str", "uuid", *WIDTHS]
    lines, ours = [], []
    for _ in range(CASES):
        kind = rng.choice(kinds)
        encoding = rng.choice(encodings_of(kind))
        value, told = value_of(rng, kind, encoding)
        data = serializer_of(kind, {"serializer.encoding": encoding}, is_key=False).serialize("t", value)
        assert data is not None
        ours.append(data.hex())
        lines.append(f"write {kind} {encoding} {told}")
    differing = [(line, a, b) for line, a, b in zip(lines, ours, java(lines, tmp_path), strict=True) if a != b]
    assert not differing, differing[:5]


def test_bytes_become_the_same_values(tmp_path: Path) -> None:
    """Of the right length, and not: what one refuses the other does."""
    rng = random.Random(20261119)
    lines, ours = [], []
    for _ in range(CASES):
        kind = rng.choice(["bytes", "str", "uuid", *WIDTHS])
        encoding = rng.choice(encodings_of(kind))
        if kind in ("str", "uuid"):
            value, _ = value_of(rng, kind, encoding)
            data = serializer_of(kind, {"serializer.encoding": encoding}, is_key=False).serialize("t", value) or b""
        elif kind == "bool":
            data = rng.choice([b"\0", b"\1", b"\2", b"", b"\1\1"])
        else:
            data = rng.randbytes(WIDTHS.get(kind, 5) + rng.choice([0, 0, 0, 0, -1, 1]))
        ours.append(read(kind, encoding, data))
        lines.append(f"read {kind} {encoding} {data.hex()}")
    theirs = java(lines, tmp_path)
    differing = [
        (line, a, b)
        for line, a, b in zip(lines, ours, theirs, strict=True)
        if a != b and not both_no_number(line, a, b)
    ]
    assert not differing, differing[:5]


def both_no_number(line: str, ours: str, theirs: str) -> bool:
    """Python's floats keep that something is not a number, not which of them it was."""
    kind = line.split()[1]
    if kind not in ("float", "double") or "error" in (ours, theirs):
        return False
    widths = ("i", "f") if kind == "float" else ("q", "d")
    values = [struct.unpack(f">{widths[1]}", struct.pack(f">{widths[0]}", int(one)))[0] for one in (ours, theirs)]
    return all(value != value for value in values)


def read(kind: str, encoding: str, data: bytes) -> str:
    try:
        value = deserializer_of(kind, {"deserializer.encoding": encoding}, is_key=False).deserialize("t", data)
    except SerializationError:
        return "error"
    return shown(kind, value)


def test_keys_have_the_same_partitions(tmp_path: Path) -> None:
    """By the way that single records take; that of whole columns is compared in interop/spark."""
    rng = random.Random(20261120)
    accumulator = Accumulator(
        clock=SYSTEM_CLOCK, choose=lambda topic: 0, memory=1 << 20, batch_size=300, max_request_size=1 << 20
    )
    lines, ours = [], []
    topics = {count: TopicBatches("t", count) for count in (1, 2, 3, 7, 50, 1000)}
    for _ in range(20_000):
        key = rng.randbytes(rng.choice([0, 1, 2, 3, 4, 5, 7, 8, 16, 33, 100]))
        count = rng.choice(list(topics))
        ours.append(str(accumulator.place(topics[count], key)))
        lines.append(f"keyed {key.hex()} {count}")
    assert java(lines, tmp_path) == ours


def test_turns_are_the_same(tmp_path: Path) -> None:
    """Round robin over topics some of whose partitions have no leader for a while."""
    rng = random.Random(20261121)
    partitioner = RoundRobinPartitioner()
    lines, ours = [], []
    for _ in range(5000):
        topic, count = rng.choice([("a", 1), ("b", 4), ("c", 7)])
        missing = rng.sample(range(count), rng.choice([0, 0, 0, 1, count]))
        ours.append(str(partitioner.partition(topic, None, None, None, None, seen(topic, count, missing))))
        lines.append(f"turn {topic} {count} {','.join(map(str, missing)) or '-'}")
    assert java(lines, tmp_path) == ours


def seen(topic: str, count: int, missing: list[int]) -> Cluster:
    known = ClusterMetadata(1000)
    known.nodes = {1: Node(1, "h", 1)}
    leaders = {number: PartitionInfo(-1 if number in missing else 1) for number in range(count)}
    known.topics[topic] = TopicInfo(topic, partitions=leaders)
    return Cluster(known)
