"""What is asked of a partition's records before anybody looks at one: how far they go, and whether they are whole.

An answer may end in the middle of a batch: a broker sends as many bytes as were asked for. Only the headers of the
batches are read here, so that the next fetch can be sent at once; checksums are looked at when there is time for it.
"""

from __future__ import annotations

from tidelog.records.kernel._batches import BatchRun


def end_offset(records: bytes | bytearray | memoryview, *, check: bool = False) -> int | None:
    """The offset behind the last whole batch, None if there is none; the checksums of all of them if asked for.

    The run is released whatever happens: before Python 3.12.8 the garbage collector crashes on a memoryview that is
    part of a cycle (as exceptions often are) while somebody else holds its buffer.
    """
    run = BatchRun(records)
    try:
        run.scan()
        if not len(run):
            return None
        if check:
            run.check(crc=True, records=False)
        return int(run.header(len(run) - 1).last_offset) + 1
    finally:
        run.release()
