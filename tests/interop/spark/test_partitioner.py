"""Keys go where the Java producer puts them, on a large random set."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from support.kafka import KAFKA_4, kafka_jars
from tidelog.records.arrow import partition_keys

KEYS = 50_000


@pytest.mark.java
def test_partitions_are_those_of_the_java_producer() -> None:
    rng = random.Random(11)
    keys = [rng.randbytes(rng.choice([0, 1, 2, 3, 4, 7, 8, 16, 33, 100])) for _ in range(KEYS)]
    libs = kafka_jars.broker_libs(KAFKA_4)
    source = Path(__file__).with_name("Partitions.java")
    for count in (1, 3, 50, 1000):
        lines = "".join(f"{key.hex()} {count}\n" for key in keys)
        java = ["java", "-cp", f"{libs}/*", str(source)]
        done = subprocess.run(java, input=lines, capture_output=True, text=True, timeout=300, check=True)
        theirs = [int(line) for line in done.stdout.split()]
        assert partition_keys(pa.array(keys, pa.binary()), count).to_pylist() == theirs
