from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.fs import LOCAL_FS
from tidelog.log.checkpoint import CheckpointError
from tidelog.log.leader_epochs import BEGINNING, EpochStart, LeaderEpochs
from tidelog.log.segment.file_budget import FileBudget
from tidelog.log.segment.home import Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, LOCAL_FS, SYSTEM_CLOCK, FileBudget())


@pytest.fixture
def epochs(home: Home) -> LeaderEpochs:
    return LeaderEpochs(home, [EpochStart(1, 0), EpochStart(3, 10), EpochStart(5, 20)])


def test_assign_keeps_epochs_and_offsets_rising(epochs: LeaderEpochs) -> None:
    assert not epochs.assign(5, 25)
    assert not epochs.dirty
    assert epochs.assign(6, 30)
    assert epochs.latest == (6, 30)
    assert epochs.assign(7, 15)  # a new leader starts below: what lies above is not its history
    assert epochs.entries == ((1, 0), (3, 10), (7, 15))
    assert epochs.assign(2, 12)
    assert epochs.entries == ((1, 0), (2, 12))
    with pytest.raises(ValueError, match="no epoch"):
        epochs.assign(-1, 5)


def test_same_epoch_with_a_smaller_offset_wins(home: Home) -> None:
    epochs = LeaderEpochs(home, [EpochStart(2, 10)])
    assert epochs.assign(2, 8)
    assert epochs.entries == ((2, 8),)


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [(-1, (-1, -1)), (0, (0, 0)), (1, (1, 10)), (2, (1, 10)), (3, (3, 20)), (4, (3, 20)), (5, (5, 99)), (6, (-1, -1))],
)
def test_end_offset_for(epochs: LeaderEpochs, epoch: int, expected: tuple[int, int]) -> None:
    assert epochs.end_offset_for(epoch, 99) == expected


def test_an_empty_cache_knows_nothing(home: Home) -> None:
    epochs = LeaderEpochs(home)
    assert epochs.end_offset_for(0, 5) == (-1, -1)
    assert epochs.latest is None
    assert epochs.earliest is None
    assert epochs.latest_epoch == -1


@pytest.mark.parametrize(
    ("end", "expected"), [(21, [1, 3, 5]), (20, [1, 3]), (11, [1, 3]), (10, [1]), (1, [1]), (0, [])]
)
def test_truncate_from_end(epochs: LeaderEpochs, end: int, expected: list[int]) -> None:
    epochs.truncate_from_end(end)
    assert [entry.epoch for entry in epochs.entries] == expected
    assert epochs.dirty is (expected != [1, 3, 5])


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (0, ((1, 0), (3, 10), (5, 20))),
        (5, ((1, 5), (3, 10), (5, 20))),
        (10, ((3, 10), (5, 20))),
        (15, ((3, 15), (5, 20))),
        (500, ((5, 500),)),
    ],
)
def test_truncate_from_start(epochs: LeaderEpochs, start: int, expected: tuple[tuple[int, int], ...]) -> None:
    epochs.truncate_from_start(start)
    assert epochs.entries == expected
    assert epochs.dirty is (start != 0)


def test_the_file(home: Home, epochs: LeaderEpochs) -> None:
    epochs.assign(9, 44)
    assert epochs.encoded() == b"0\n4\n1 0\n3 10\n5 20\n9 44\n"
    (home.path / "leader-epoch-checkpoint").write_bytes(epochs.encoded())
    assert LeaderEpochs.load(home).entries == epochs.entries
    epochs.clear()
    assert epochs.encoded() == b"0\n0\n"
    (home.path / "leader-epoch-checkpoint").write_text("0\n1\n1 x\n")
    with pytest.raises(CheckpointError, match="expected a number"):
        LeaderEpochs.load(home)


def test_that_epoch_0_began_at_0_goes_without_saying_until_there_is_a_record(home: Home) -> None:
    epochs = LeaderEpochs(home)
    epochs.announce(0, 0)
    epochs.announce(0, 0)
    assert epochs.entries is BEGINNING
    assert (epochs.latest_epoch, epochs.noted_epoch) == (0, -1)
    assert epochs.end_offset_for(0, 0) == (0, 0)
    assert not epochs.dirty
    assert epochs.assign(0, 0)
    assert epochs.dirty
    assert epochs.noted_epoch == 0
    assert not epochs.assign(0, 5)
    assert epochs.encoded() == b"0\n1\n0 0\n"


@pytest.mark.parametrize(("epoch", "start"), [(1, 0), (0, 5)])
def test_any_other_beginning_is_noted_at_once(home: Home, epoch: int, start: int) -> None:
    epochs = LeaderEpochs(home)
    epochs.announce(epoch, start)
    assert epochs.dirty
    assert epochs.noted_epoch == epoch


def test_a_later_leader_of_an_empty_log_is_noted(home: Home) -> None:
    epochs = LeaderEpochs(home)
    epochs.announce(0, 0)
    epochs.announce(3, 0)
    assert epochs.dirty
    assert epochs.entries == ((3, 0),)


@pytest.mark.parametrize(("found", "dirty"), [((0, 0), False), ((1, 0), True)])
def test_what_kafka_writes_about_an_empty_log_stays(home: Home, found: tuple[int, int], dirty: bool) -> None:
    epochs = LeaderEpochs(home, [EpochStart(*found)])
    epochs.truncate_from_end(0)
    assert epochs.entries == ()
    assert epochs.noted_epoch == -1
    assert epochs.dirty is dirty
