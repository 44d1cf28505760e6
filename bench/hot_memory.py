"""Memory that is worth measuring with: the page cache full of clean pages, so that new ones come from evicting others.

A virtual machine may hand free pages back to its host, and the first touch of such a page costs a fault there: some two
microseconds per KB, more than all that a broker does with that KB. Whoever writes after others have freed memory is
slow, whoever writes into memory that was in use a moment ago is fast, and a comparison tells who came first. A `Filler`
takes nearly all free memory by reading a sparse file; `refill` reads again what was evicted since.

    with Filler(directory) as filler:
        filler.refill()
        ...what is measured...
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
import tempfile

#: Left free for processes that grow: the page cache yields to them too, but not without delay.
_SPARED = 4 << 30
_CHUNK = 1 << 20
_PAGE = mmap.PAGESIZE


class Filler:
    """A sparse file whose holes are read into the page cache."""

    def __init__(self, directory: str | None = None) -> None:
        self._file = tempfile.TemporaryFile(dir=directory, prefix="filler-")  # noqa: SIM115 - closed in __exit__
        self._size = max(0, _available() - _SPARED) // _CHUNK * _CHUNK
        self._file.truncate(self._size)

    def __enter__(self) -> Filler:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def refill(self) -> int:
        """Read what is not in memory; how many bytes that was."""
        missing = self._missing()
        for position in missing:
            os.pread(self._file.fileno(), _CHUNK, position)
        return len(missing) * _CHUNK

    def _missing(self) -> list[int]:
        """Where the chunks begin that have pages which are not in memory."""
        if not self._size:
            return []
        with mmap.mmap(self._file.fileno(), self._size, prot=mmap.PROT_READ | mmap.PROT_WRITE) as view:
            start = ctypes.addressof(ctypes.c_char.from_buffer(view))
            resident = (ctypes.c_ubyte * (self._size // _PAGE))()
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.mincore(ctypes.c_void_p(start), ctypes.c_size_t(self._size), resident):
                raise OSError(ctypes.get_errno(), "mincore")
        states, pages = bytes(resident), _CHUNK // _PAGE
        return [at * _PAGE for at in range(0, len(states), pages) if _has_absent(states[at : at + pages])]


def _has_absent(states: bytes) -> bool:
    return any(not state & 1 for state in states) if 0 in states else False


def _available() -> int:
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable"))


if __name__ == "__main__":
    import time

    with Filler(sys.argv[1] if len(sys.argv) > 1 else None) as one:
        for _ in range(3):
            began = time.perf_counter()
            read = one.refill()
            print(f"{read >> 20} MB in {time.perf_counter() - began:.1f} s")
