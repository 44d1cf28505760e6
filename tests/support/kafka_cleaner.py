"""Apache Kafka's own recovery and log cleaner, run on a partition's directory (java/KafkaCleaner.java)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
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
    topic = [f"{name}={value}" for name, value in settings.items()]
    arguments = [str(directory), str(now_ms), str(clean).lower(), str(map_memory), str(io_buffer), str(first_dirty)]
    command = java_command(KAFKA_4, conf, str(SOURCE), *arguments, *topic, heap=heap)
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise AssertionError(f"Kafka's cleaner failed:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return KafkaRun(**json.loads(done.stdout.strip().splitlines()[-1]))
