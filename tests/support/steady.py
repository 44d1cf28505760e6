"""Whether a process that does the same over and over stays as it is: live objects and tasks of clients, and memory.

    steady = Steady()
    for _ in range(20):
        one_round()
        steady.note()
    steady.check(megabytes=16)

Objects and tasks are counted exactly: what the first round has left behind (a client that the test itself keeps) is all
that may be there after the last. Memory is not exact (allocators keep what they may want again), so its least values at
the beginning and at the end are compared, after some rounds to warm up, and a limit stands for what a leak of any size
would pass in the time that a soak takes.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
from collections import Counter

WARM_UP = 3
#: Modules whose objects are a client's. A broker in the same process has others, and takes its time to miss a client.
OURS = ("tidelog.client.", "tidelog.net.node_client", "tidelog.net.client_connection")
SOURCES = ("/tidelog/client/", "/tidelog/net/node_client", "/tidelog/net/client_connection")
_libc = ctypes.CDLL(None)


class Steady:
    """Notes after each round, judged at the end."""

    def __init__(self) -> None:
        self.objects: list[Counter[str]] = []
        self.memory: list[int] = []

    def note(self) -> None:
        gc.collect()
        if hasattr(_libc, "malloc_trim"):
            _libc.malloc_trim(0)
        self.objects.append(_counted())
        self.memory.append(resident())

    def check(self, *, megabytes: float) -> None:
        self.check_objects()
        rounds = self.memory[WARM_UP:]
        assert len(rounds) >= 4, "too few rounds to say anything"
        third = max(len(rounds) // 3, 2)
        grown = (min(rounds[-third:]) - min(rounds[:third])) / (1 << 20)
        assert grown <= megabytes, f"{grown:.1f} MB more in {len(rounds)} rounds: {[one >> 20 for one in self.memory]}"

    def check_objects(self) -> None:
        first, last = self.objects[0], self.objects[-1]
        more = {name: (first[name], count) for name, count in last.items() if count > first[name]}
        assert not more, f"after {len(self.objects)} rounds there are more (before, now): {more}"


def resident() -> int:
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _counted() -> Counter[str]:
    """Live objects of our client classes, and tasks that are not done, by what they run."""
    found: Counter[str] = Counter()
    for one in gc.get_objects():
        kind = type(one)
        module = kind.__module__
        if isinstance(module, str) and module.startswith(OURS):  # compiled functions have something else there
            found[f"{module}.{kind.__qualname__}"] += 1
        elif isinstance(one, asyncio.Task) and not one.done():
            code = getattr(one.get_coro(), "cr_code", None)
            if code is not None and any(source in code.co_filename for source in SOURCES):
                found[f"task {code.co_qualname}"] += 1
    return found
