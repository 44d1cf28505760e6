"""Waiting for what tells nobody: ask until it is so.

A change is not seen at once where it is not made: Apache Kafka's brokers hear of it after the controller has answered,
markers are written after EndTxn was, members leave after their process has. How long that takes says nothing about
what is tested, so the limit is generous: it is there for what never happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

SECONDS = 120


def eventually(look: Callable[[], T], accept: Callable[[T], object] = bool, *, seconds: float = SECONDS) -> T:
    """What `look` finds, as soon as it is acceptable; fails with the last that it found."""
    deadline = time.monotonic() + seconds
    while not accept(found := look()):
        assert time.monotonic() < deadline, f"not in {seconds} s; at last: {found!r}"
        time.sleep(0.02)
    return found
