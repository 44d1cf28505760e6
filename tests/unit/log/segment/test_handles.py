"""Files within a budget: opened on demand, closed oldest first, never while somebody uses them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.log.names import LOG
from tidelog.log.segment.data_file import DataFile
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, SYSTEM_CLOCK, FileBudget(3))


def files(home: Home, count: int) -> list[DataFile]:
    made = []
    for number in range(count):
        file = DataFile(home, number, LOG)
        file.create()
        file.append([b"file %d" % number], 6)
        made.append(file)
    return made


def test_the_least_recently_used_goes_first(home: Home) -> None:
    made = files(home, 5)
    assert [file.opened for file in made] == [False, False, True, True, True]
    assert made[2].read_at(0, 10) == b"file 2"  # used: now the newest
    assert made[0].read_at(0, 10) == b"file 0"  # opened again
    assert [file.opened for file in made] == [True, False, True, False, True]
    assert len(home.files) == home.files.open_files == 3


def test_a_pinned_file_stays_open(home: Home) -> None:
    made = files(home, 6)
    slices = [file.slice(0, 6) for file in made]
    assert len(home.files) == 6  # more than the budget, because all are in use
    assert [piece.read() for piece in slices] == [b"file %d" % number for number in range(6)]
    for piece in slices:
        piece.release()
    assert len(home.files) == 3


def test_close_waits_for_the_last_slice(home: Home) -> None:
    (file,) = files(home, 1)
    first = file.slice(0, 4)
    second = first.part(2, 10)
    assert first.retain() is first
    file.close()
    home.fs.unlink(file.path)
    assert (first.read(), second.read(), len(second)) == (b"file", b"le", 2)
    assert first.fileno() == second.fileno()
    for piece in (first, first, second):
        assert file.opened
        piece.release()
    assert not file.opened
    with pytest.raises(ValueError, match="released"):
        first.read()
    with pytest.raises(ValueError, match="released"):
        first.fileno()
    with pytest.raises(ValueError, match="released before"):
        first.release()


def test_a_closed_file_opens_again(home: Home) -> None:
    (file,) = files(home, 1)
    file.close()
    assert file.read_at(2, 100) == b"le 0"
    file.append([b"!"], 1)
    assert (file.truncate(4), file.size, file.read_at(0, 9)) == (3, 4, b"file")


def test_reads_stop_at_the_data_not_at_the_file(home: Home) -> None:
    file = DataFile(home, 1, LOG)
    file.create(100)
    file.append([b"abc"], 3)
    assert home.fs.stat(file.path).size == 100
    assert (file.read_at(1, 50), file.read_at(3, 50), file.read_at(7, 50)) == (b"bc", b"", b"")
    buffer = bytearray(10)
    assert file.read_into(1, buffer) == 2
    file.trim()
    assert home.fs.stat(file.path).size == 3


def test_a_missing_file_is_an_error_and_leaves_no_pin(home: Home) -> None:
    file = DataFile(home, 9, LOG, size=5)
    with pytest.raises(FileNotFoundError):
        file.read_at(0, 5)
    assert (file.pins, file.opened, len(home.files)) == (0, False, 0)


def test_a_smaller_budget_closes_at_once(home: Home) -> None:
    files(home, 3)
    home.files.resize(1)
    assert len(home.files) == 1


def test_many_threads_share_one_budget(home: Home) -> None:
    made = files(home, 20)
    wrong: list[str] = []

    def read(seed: int) -> None:
        for step in range(400):
            number = (step * 7 + seed) % 20
            if made[number].read_at(0, 10)[:5] != b"file ":
                wrong.append(f"{seed}/{step}")

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert all(file.pins == 0 for file in made)
    assert len(home.files) == sum(file.opened for file in made) <= 3


def test_the_last_descriptors_of_the_process_are_not_the_budgets(tmp_path: Path) -> None:
    free = [os.dup(0) for _ in range(20)]  # the next numbers; those of other tests may lie between them
    for descriptor in free:
        os.close(descriptor)
    ceiling = free[-1] + 1
    home = Home(tmp_path, LOCAL_FS, SYSTEM_CLOCK, FileBudget(1000, ceiling=ceiling))
    crowd: list[int] = []
    try:
        made = files(home, 8)
        assert len(home.files) == 8
        while not crowd or crowd[-1] < ceiling + 2:
            crowd.append(os.dup(0))
        for number, file in enumerate(made):  # those that were closed are opened again, in the place of others
            assert file.read_at(0, 10) == b"file %d" % number
        made += files(home, 40)
        assert len(home.files) < 10
    finally:
        for descriptor in crowd:
            os.close(descriptor)
    for file in made:
        file.ensure_open()
    assert len(home.files) <= 20, "they stay below the ceiling by themselves"
    for file in made:
        file.close()
