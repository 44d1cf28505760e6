"""What a Spark Python worker needs before its first task."""

from __future__ import annotations

import functools
import gc
import os


def prepare_worker() -> None:
    """Take everything that is loaded by now (pyarrow, pandas, ...) out of the garbage collector's sight.

    Spark's daemon runs a full collection after each task; over that heap it takes longer than a small task does.
    """
    _freeze(os.getpid())


@functools.cache  # once per process: to ask the collector what is frozen would walk over all of it
def _freeze(pid: int) -> None:
    gc.collect()
    gc.freeze()
