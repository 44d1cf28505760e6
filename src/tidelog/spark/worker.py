"""What a Spark Python worker needs at the start of each task."""

from __future__ import annotations

import ctypes
import functools
import gc
import sys

#: More objects than a task makes: modules were loaded since the last freeze.
_MANY = 5_000
#: Never freeze for ever: what is frozen and then falls out of use in a cycle is not found any more.
_ENOUGH = 1_000_000
#: The C library's allocator gives memory back to the system when more than this is free, and asks the system for blocks
#: from this size on (the largest that it lets one say). Spark's batches are a few MB each and come and go: with the
#: usual limits each one is touched page by page anew.
_KEPT_BYTES, _OWN_BLOCK_BYTES = 64 << 20, 32 << 20
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def prepare_worker() -> None:
    """Keep the memory that batches come and go in, and whatever is loaded by now out of the garbage collector's sight.

    Spark's daemon runs a full collection after each task; over a heap with pyarrow and pandas it takes longer than a
    small task does. A first task loads modules as it goes, so what is frozen in a process is that at its first task and
    at its second. In a process that is not Spark's own, nothing happens.
    """
    main = getattr(sys.modules.get("__main__"), "__spec__", None)
    if main is None or not main.name.startswith("pyspark."):
        return
    _keep_memory()
    if len(gc.get_objects()) > _MANY and gc.get_freeze_count() < _ENOUGH:
        gc.collect()
        gc.freeze()


@functools.cache
def _keep_memory() -> None:
    """Only where the C library can be told so (GNU's)."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_M_MMAP_THRESHOLD, _OWN_BLOCK_BYTES)
