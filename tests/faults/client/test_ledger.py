"""The checker itself: a sound log passes, and each kind of fault is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faults.client.ledger import Logged, compare

Log = dict[int, list[Logged]]
Told = dict[int, tuple[int, int]]


def sound() -> tuple[Log, Told, list[int]]:
    """Ten records in two partitions; the last one failed, and was written all the same."""
    log = {part: [Logged(index, None, b"%d" % (2 * index + part)) for index in range(5)] for part in (0, 1)}
    told = {2 * index + part: (part, index) for part in (0, 1) for index in range(5)}
    del told[9]
    return log, told, list(range(10))


def findings(log: Log, told: Told, heard: list[int]) -> dict[str, list[str]]:
    sent = {part: list(range(part, 10, 2)) for part in (0, 1)}
    return compare(sent, told, {9: TimeoutError()}, heard, log)


def test_a_sound_log() -> None:
    assert findings(*sound()) == {}


def lose(log: Log, told: Told, heard: list[int]) -> None:
    log[0] = log[0][1:]


def repeat(log: Log, told: Told, heard: list[int]) -> None:
    log[0].append(log[0][-1]._replace(offset=5))


def swap(log: Log, told: Told, heard: list[int]) -> None:
    first, second = log[0][:2]
    log[0][:2] = [first._replace(value=second.value), second._replace(value=first.value)]
    told[0], told[2] = told[2], told[0]


def invent(log: Log, told: Told, heard: list[int]) -> None:
    log[0].append(Logged(5, None, b"99"))


def misplace(log: Log, told: Told, heard: list[int]) -> None:
    told[0] = (0, 4)


def tell_twice(log: Log, told: Told, heard: list[int]) -> None:
    heard.append(8)


def forget(log: Log, told: Told, heard: list[int]) -> None:
    heard.remove(4)


def tell_late(log: Log, told: Told, heard: list[int]) -> None:
    heard.remove(4)
    heard.append(4)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (lose, "lost"),
        (repeat, "duplicated"),
        (swap, "reordered"),
        (invent, "invented"),
        (misplace, "elsewhere"),
        (tell_twice, "told twice"),
        (forget, "never told"),
        (tell_late, "told out of order"),
    ],
)
def test_each_fault_is_found(fault: Callable[[Log, Told, list[int]], None], kind: str) -> None:
    log, told, heard = sound()
    fault(log, told, heard)
    assert kind in findings(log, told, heard)
