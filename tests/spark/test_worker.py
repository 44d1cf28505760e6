"""What is taken out of the garbage collector's sight, what memory is kept, and where that is done."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from tidelog.spark import writers
from tidelog.spark.options import sink_options

SCHEMA = StructType([StructField("value", BinaryType())])


def printed(main: str, body: str) -> list[int]:
    """The numbers that a fresh process prints whose main module is called that."""
    script = f"""
        import gc, resource, sys
        import pyarrow
        from importlib.machinery import ModuleSpec
        from tidelog.spark import worker
        sys.modules["__main__"].__spec__ = ModuleSpec({main!r}, None)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script) + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return [int(line) for line in done.stdout.split()]


def frozen(main: str, *, tasks: int) -> list[int]:
    """How many objects are frozen after each task."""
    body = f"""
        for task in range({tasks}):
            worker.prepare_worker()
            print(gc.get_freeze_count())
    """
    return printed(main, body)


def faults(main: str) -> int:
    """How many page faults it takes to let large blocks come and go, as Spark's batches do."""
    body = """
        worker.prepare_worker()
        for turn in range(20):
            if turn == 4:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            blocks = [bytearray(12 << 20) for _ in range(4)]
            del blocks
        print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    """
    return printed(main, body)[0]


def test_a_spark_worker_freezes_what_it_has_loaded() -> None:
    first, second, third = frozen("pyspark.daemon", tasks=3)
    assert first > 1_000
    assert first <= second == third  # nothing was loaded since: nothing more to freeze


def test_another_process_is_left_alone() -> None:
    assert frozen("my_program", tasks=2) == [0, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="only GNU's C library can be told to keep memory")
def test_a_spark_worker_keeps_the_memory_that_batches_come_and_go_in() -> None:
    assert 10 * faults("pyspark.daemon") < faults("my_program")


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
@pytest.mark.parametrize("kind", [writers.BatchSinkWriter, writers.StreamWriter])
def test_whoever_commits_is_prepared_too(monkeypatch: pytest.MonkeyPatch, kind: type, delivery: str) -> None:
    """Spark's full collection after a commit took longer than the commit: 34 ms of each job."""
    prepared: list[bool] = []
    monkeypatch.setattr(writers, "prepare_worker", lambda: prepared.append(True))
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t", "delivery": delivery}
    writer = kind.__new__(kind)
    writers._Writer.__init__(writer, sink_options(options), SCHEMA)
    writer._named = False
    writer.commit([], *([0] if kind is writers.StreamWriter else []))
    assert prepared == [True]
