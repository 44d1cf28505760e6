"""A run over a memoryview that ends up in a reference cycle is collected without harm.

Before CPython 3.12.8 the collector frees a memoryview that is part of a cycle even while a buffer is exported from it.
Runs therefore hold the bytes themselves, never a view of them.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun

SCRIPT = """
import gc
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._columns import ColumnReader
from tidelog.records.format.builder import BatchBuilder

builder = BatchBuilder()
builder.append(1, b"key", b"value")
data = bytearray(b"....") + builder.build()

def keep_in_a_cycle(make):
    view = memoryview(data)[4:]
    cycle = [view, make(view)]
    cycle.append(cycle)

for _ in range(200):
    keep_in_a_cycle(BatchRun)
    keep_in_a_cycle(lambda view: BatchRun(view).take(0, 0))
    gc.collect()
run = BatchRun(memoryview(data)[4:])
run.scan()
run.check()
print("alive", len(run))
"""


def test_cycles_are_collected() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "alive 1\n"), done.stderr


@pytest.mark.parametrize("readonly", [False, True])
def test_a_run_over_a_view_is_as_one_over_its_bytes(readonly: bool) -> None:
    builder = BatchBuilder()
    builder.append(1, b"key", b"value")
    batch = bytes(builder.build())
    base = bytearray(b"head" + batch + batch + b"tail")
    view = memoryview(base)[4:-4]
    run = BatchRun(view.toreadonly() if readonly else view)
    assert run.scan() == 2 * len(batch)
    run.check()
    assert run.readonly is readonly
    assert bytes(memoryview(run.buffer)) == batch + batch  # type: ignore[arg-type] # not released yet
    assert [bytes(part) for part in run.take(1, 2).buffers()] == [batch]
    assert run.header(1).position == len(batch)
    if not readonly:
        run.stamp(70, 3)
        assert base[4:12] == (70).to_bytes(8, "big")
    view.release()
    with pytest.raises(BufferError, match="exports"):
        base.extend(b"more")  # the run holds it
