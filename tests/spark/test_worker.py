"""What is taken out of the garbage collector's sight, and where that is done."""

from __future__ import annotations

import subprocess
import sys
import textwrap


def frozen(main: str, *, tasks: int) -> list[int]:
    """How many objects are frozen after each task of a fresh process whose main module is called that."""
    script = f"""
        import gc, sys
        import pyarrow
        from importlib.machinery import ModuleSpec
        from tidelog.spark import worker
        sys.modules["__main__"].__spec__ = ModuleSpec({main!r}, None)
        for task in range({tasks}):
            worker.prepare_worker()
            print(gc.get_freeze_count())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True, timeout=60
    )
    return [int(line) for line in done.stdout.split()]


def test_a_spark_worker_freezes_what_it_has_loaded() -> None:
    first, second, third = frozen("pyspark.daemon", tasks=3)
    assert first > 1_000
    assert first <= second == third  # nothing was loaded since: nothing more to freeze


def test_another_process_is_left_alone() -> None:
    assert frozen("my_program", tasks=2) == [0, 0]
