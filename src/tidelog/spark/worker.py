"""What a Spark Python worker needs before its first task."""

from __future__ import annotations

import gc


def prepare_worker() -> None:
    """Take everything that is loaded by now (pyarrow, pandas, ...) out of the garbage collector's sight.

    Spark's daemon runs a full collection after each task; over that heap it takes longer than a small task does.
    """
    if gc.get_freeze_count() == 0:
        gc.collect()
        gc.freeze()
