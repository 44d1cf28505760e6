"""A plain session in a virtual environment that is not activated: what Spark says, and what `register` makes of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import venv
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.spark import Lab
from tidelog.spark import session
from tidelog.spark.data_source import TidelogDataSource

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "spark.md"

SCRIPT = """
    import json, sys
    from pyspark.sql import SparkSession

    address, topic = sys.argv[1:]
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()

    def rows():
        reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", address).option("subscribe", topic)
        return sorted(bytes(row.value).decode() for row in reader.load().collect())

    try:
        error = f"found, with {len(rows())} rows"
    except Exception as caught:
        error = str(caught)

    from tidelog.spark.session import register
    register(spark)
    before = rows()
    frame = spark.sql("select cast('by spark' as binary) value")
    writer = frame.write.format("tidelog").option("kafka.bootstrap.servers", address).option("topic", topic)
    writer.mode("append").save()
    print(json.dumps({"error": error, "before": before, "after": rows()}))
"""


def without_activation(bare: Path) -> dict[str, str]:
    """The environment of somebody who calls a virtual environment's Python by its path: `python3` is another one."""
    venv.create(bare, with_pip=False)
    left_out = ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return {**kept, "PATH": f"{bare / 'bin'}{os.pathsep}{os.environ['PATH']}", "SPARK_LOCAL_IP": "127.0.0.1"}


def test_register_mends_a_session_whose_workers_run_another_python(lab: Lab, tmp_path: Path) -> None:
    topic = lab.topic()
    lab.produce(topic, ["a", "b"])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), lab.address, topic],
        env=without_activation(tmp_path / "bare"),
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = json.loads(done.stdout.splitlines()[-1])
    expected = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: tidelog"
    assert expected in said["error"]
    assert expected in GUIDE.read_text(), "nothing of ours runs there, so the guide has to say what it means"
    assert said["before"] == ["a", "b"]
    assert said["after"] == ["a", "b", "by spark"]


@pytest.mark.parametrize(
    ("master", "chosen", "python"),
    [
        ("local[*]", None, sys.executable),
        ("local[*]", "/opt/python", "python3"),  # somebody has decided
        ("spark://elsewhere:7077", None, "python3"),  # this path means nothing there
    ],
)
def test_only_local_workers_that_nobody_chose_are_changed(
    monkeypatch: pytest.MonkeyPatch, master: str, chosen: str | None, python: str
) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    if chosen is not None:
        monkeypatch.setenv("PYSPARK_PYTHON", chosen)
    registered: list[type] = []
    context = SimpleNamespace(master=master, pythonExec="python3")
    source = SimpleNamespace(register=registered.append)
    session.register(SimpleNamespace(_sc=context, dataSource=source))  # type: ignore[arg-type]  # all that it asks for
    assert context.pythonExec == python
    assert registered == [TidelogDataSource]


def test_a_session_of_spark_connect_is_registered_with(monkeypatch: pytest.MonkeyPatch) -> None:
    registered: list[type] = []
    session.register(SimpleNamespace(dataSource=SimpleNamespace(register=registered.append)))  # type: ignore[arg-type]  # as above
    assert registered == [TidelogDataSource]
