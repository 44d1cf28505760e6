"""The checker itself: a sound history passes, and each kind of fault is found."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from faults.coordinator.history import LONGEST_LINE, Copied, History, findings, in_flight

Copy = dict[int, list[Copied]]
INPUTS = range(12)


def sound() -> tuple[History, Copy]:
    """Twelve records in two partitions, copied in three transactions; a fourth was aborted and done again."""
    history = History()
    for line in (
        "copy a-1 0,1,2,3",
        "committed a-1",
        "copy b-1 4,5,6,7",
        "aborted b-1",
        "copy a-2 4,5,6,7",  # nobody knows how this one ended: it was committed
        "copy b-2 8,9,10,11",
        "committed b-2",
        "copy b-3 8,9",  # and this one was not
    ):
        history.add(line + "\n")
    of = {**dict.fromkeys(range(4), "a-1"), **dict.fromkeys(range(4, 8), "a-2"), **dict.fromkeys(range(8, 12), "b-2")}
    return history, {half: [Copied(str(n % 4), n, of[n]) for n in INPUTS if n % 2 == half] for half in (0, 1)}


def test_a_sound_history() -> None:
    history, copy = sound()
    assert findings(history, INPUTS, copy) == {}
    assert history.cut_short == 2


def lose(history: History, copy: Copy) -> None:
    copy[0] = [record for record in copy[0] if record.number not in (8, 10)]
    copy[1] = [record for record in copy[1] if record.number not in (9, 11)]


def skip(history: History, copy: Copy) -> None:
    for half in copy:
        copy[half] = [record for record in copy[half] if record.transaction != "a-2"]


def tear(history: History, copy: Copy) -> None:
    copy[0] = [record for record in copy[0] if record.number != 4]


def repeat(history: History, copy: Copy) -> None:
    copy[0].append(copy[0][-1])


def read_aborted(history: History, copy: Copy) -> None:
    copy[1].insert(2, Copied("1", 5, "b-1"))


def swap(history: History, copy: Copy) -> None:
    copy[0][2], copy[0][4] = copy[0][4], copy[0][2]


def invent(history: History, copy: Copy) -> None:
    copy[0].append(Copied("0", 99, "b-2"))


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (lose, "lost"),
        (skip, "skipped"),
        (tear, "torn"),
        (repeat, "duplicated"),
        (read_aborted, "aborted but read"),
        (swap, "reordered"),
        (invent, "invented"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_fault_is_found(fault: Callable[[History, Copy], None], kind: str) -> None:
    history, copy = sound()
    fault(history, copy)
    assert kind in findings(history, INPUTS, copy)


def test_a_line_that_was_cut_off(tmp_path) -> None:
    path = tmp_path / "history"
    path.write_text("copy a-1 0,1\ncommitted a-1\ncopy a-2 4,5")
    history = History.read([path])
    assert history.copies == {"a-1": [0, 1]}
    assert history.committed == {"a-1"}


def test_whether_a_copier_is_in_a_transaction(tmp_path) -> None:
    path = tmp_path / "history"
    assert not in_flight(path, "a/1/")
    path.write_text("")
    assert not in_flight(path, "a/1/")
    path.write_text("copy a/1/0 " + "1," * LONGEST_LINE + "\ncommitted a/1/0\n")
    assert not in_flight(path, "a/1/")
    with path.open("a") as file:
        file.write("copy a/1/1 7,8\n")
    assert in_flight(path, "a/1/")
    assert not in_flight(path, "a/2/"), "the process before it was killed in one"
