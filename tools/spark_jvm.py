"""Spark's own (JVM) Kafka connector, in an environment of its own in .cache/spark-jvm: the oracle of our data source.

PySpark 4.0.0 with spark-sql-kafka-0-10_2.13:4.0.0: the newest connector whose dependencies are all in Maven Central.

    python tools/spark_jvm.py          # prepares it; prints the Python to run and the jars to give to `spark.jars`
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

from kafka_jars import CACHE, dependency, fetch

VERSION = "4.0.0"
HOME = CACHE / "spark-jvm"
NEEDED = ("spark-sql-kafka", "spark-token-provider", "kafka-clients", "commons-pool2")


def python() -> Path:
    """The environment's Python, with pyspark installed."""
    home = HOME / "venv"
    done = home / ".installed"
    if not done.exists():
        venv.create(home, with_pip=True, clear=True)
        pip = [str(home / "bin" / "pip"), "install", "-q", "setuptools", f"pyspark=={VERSION}"]
        subprocess.run(pip, check=True, timeout=1200, stdin=subprocess.DEVNULL)
        done.touch()
    return home / "bin" / "python"


def jars() -> list[Path]:
    """What `spark.jars` needs."""
    libs = fetch(HOME / "jars", [dependency("org.apache.spark", "spark-sql-kafka-0-10_2.13", VERSION)])
    return sorted(path for path in libs.glob("*.jar") if path.name.startswith(NEEDED))


def environment() -> dict[str, str]:
    """Of a process that runs there. A script finds the jars in SPARK_JVM_JARS."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYSPARK"))}
    return {
        **inherited,
        "SPARK_JVM_JARS": ",".join(map(str, jars())),
        "PYSPARK_PYTHON": str(python()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


def run(script: Path, *arguments: str, timeout: float = 300) -> str:
    """Run a script in that environment; what it prints."""
    command = [str(python()), str(script), *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise AssertionError(
            f"{script.name} failed with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        )
    return done.stdout


if __name__ == "__main__":
    sys.stdout.write(f"{python()}\n" + "".join(f"{jar}\n" for jar in jars()))
