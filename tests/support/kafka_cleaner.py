"""Apache Kafka's own recovery and log cleaner, run on a partition's directory (java/KafkaCleaner.java)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.kafka import KAFKA_4, java_command

SOURCE = Path(__file__).parent / "java" / "KafkaCleaner.java"


@dataclass(frozen=True)
class KafkaRun:
    #: Seconds to open the log (with its recovery, when it was not closed properly) and to clean it.
    opening: float
    cleaning: float
    #: The first offset that was not cleaned.
    end: int
    bytes_read: int
    leo: int


def run_kafka_cleaner(
    directory: Path,
    conf: Path,
    settings: Mapping[str, object],
    *,
    now_ms: int = 0,
    clean: bool = True,
    first_dirty: int = 0,
    map_memory: int = 128 << 20,
    io_buffer: int = 256 << 10,
    heap: str = "1G",
    timeout: float = 300,
) -> KafkaRun:
    """Open a partition's directory by Kafka's code and clean it from `first_dirty` on (-1: only open it)."""
    return run_kafka_cleaner_on(
        [directory], conf, settings, now_ms=now_ms, clean=clean, first_dirty=first_dirty, map_memory=map_memory,
        io_buffer=io_buffer, heap=heap, timeout=timeout,
    )[0]  # fmt: skip


def run_kafka_cleaner_on(
    directories: Sequence[Path],
    conf: Path,
    settings: Mapping[str, object],
    *,
    now_ms: int = 0,
    clean: bool = True,
    first_dirty: int = 0,
    map_memory: int = 128 << 20,
    io_buffer: int = 256 << 10,
    heap: str = "1G",
    timeout: float = 300,
) -> list[KafkaRun]:
    """The same for several directories in one process: the later ones find the compiler warm."""
    topic = [f"{name}={value}" for name, value in settings.items()]
    arguments = [
        ",".join(map(str, directories)),
        str(now_ms),
        str(clean).lower(),
        str(map_memory),
        str(io_buffer),
        str(first_dirty),
    ]
    command = java_command(KAFKA_4, conf, str(SOURCE), *arguments, *topic, heap=heap)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise AssertionError(f"Kafka's cleaner failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return [KafkaRun(**json.loads(line)) for line in done.stdout.splitlines() if line.startswith("{")]
