"""What a Spark Python worker needs at the start of each task."""

from __future__ import annotations

import gc
import sys

#: More objects than a task makes: modules were loaded since the last freeze.
_MANY = 5_000
#: Never freeze for ever: what is frozen and then falls out of use in a cycle is not found any more.
_ENOUGH = 1_000_000


def prepare_worker() -> None:
    """Take everything that is loaded by now (pyarrow, pandas, ...) out of the garbage collector's sight.

    Spark's daemon runs a full collection after each task; over that heap it takes longer than a small task does. A
    first task loads modules as it goes, so what is frozen in a process is that at its first task and at its second.
    In a process that is not Spark's own, nothing happens.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is None or not main.name.startswith("pyspark."):
        return
    if len(gc.get_objects()) > _MANY and gc.get_freeze_count() < _ENOUGH:
        gc.collect()
        gc.freeze()
