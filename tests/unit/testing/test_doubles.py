"""The doubles tell the truth: what they lose is what was not synced, what they fail is what was asked."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from tidelog.testing.clock import ManualClock
from tidelog.testing.fs import FailingFileSystem, PowerLoss, RecordingFileSystem, Survival
from tidelog.testing.fs_hooks import BusError, HookedFileSystem


def tree(path: Path) -> dict[str, bytes]:
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def states(fs: RecordingFileSystem, survival: Survival | PowerLoss, tmp: Path) -> list[dict[str, bytes]]:
    found = []
    for crash in fs.crashes():
        target = tmp / f"crash-{survival.name}-{crash.point.index}"
        crash.materialise(survival, target)
        found.append(tree(target))
    return found


@pytest.fixture
def root(tmp_path: Path) -> Path:
    path = tmp_path / "disk"
    path.mkdir()
    return path


def write_one_file(fs: RecordingFileSystem, root: Path) -> None:
    file = fs.open(root / "a.log", create=True)  # 1 create
    file.write_at(0, [b"1234", b"5678"])  # 2 write
    file.sync()  # 3 sync
    fs.sync_dir(root)  # 4 sync_dir
    file.write_at(8, [b"abcd"])  # 5 write
    file.close()


def test_only_synced_bytes_and_names_survive_the_strict_disk(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    write_one_file(fs, root)
    assert [op.kind for op in fs.journal] == ["create", "write", "sync", "sync_dir", "write"]
    full = {"a.log": b"12345678"}
    assert states(fs, Survival.SYNCED, tmp_path) == [{}, {}, {}, {}, full, full]


@pytest.mark.parametrize(
    ("survival", "expected"),
    [
        (Survival.ALL, [None, b"", b"12345678", b"12345678", b"12345678", b"12345678abcd"]),
        (Survival.NAMES, [None, b"", b"", b"12345678", b"12345678", b"12345678"]),
        (Survival.ZEROS, [None, b"", bytes(8), b"12345678", b"12345678", b"12345678" + bytes(4)]),
        (Survival.TORN, [None, b"", b"1234", b"12345678", b"12345678", b"12345678ab"]),
    ],
)
def test_mixtures_of_lost_and_kept(
    root: Path, tmp_path: Path, survival: Survival, expected: list[bytes | None]
) -> None:
    fs = RecordingFileSystem(root)
    write_one_file(fs, root)
    assert [state.get("a.log") for state in states(fs, survival, tmp_path)] == expected


def test_an_unsynced_rename_is_forgotten_and_an_atomic_write_is_atomic(root: Path, tmp_path: Path) -> None:
    (root / "checkpoint").write_bytes(b"old")
    fs = RecordingFileSystem(root)
    fs.write_atomic(root / "checkpoint", b"new")
    for survival in Survival:
        fs_states = states(fs, survival, tmp_path)
        assert {state["checkpoint"] for state in fs_states} <= {b"old", b"new"}
        assert fs_states[0]["checkpoint"] == b"old"
        assert fs_states[-1]["checkpoint"] == b"new"


def test_maps_are_journalled_by_their_changes(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    mapped = fs.map(root / "a.index", size=8)
    mapped.reserve(0, 8)
    mapped.data[0:4] = b"abcd"
    fs.mark("written")
    mapped.sync()
    mapped.resize(4)
    mapped.close()
    assert (root / "a.index").read_bytes() == b"abcd"
    last = states(fs, Survival.ALL, tmp_path)[-1]
    assert last == {"a.index": b"abcd"}


def outcomes(fs: RecordingFileSystem, tmp: Path, *, page: int = 4096, seeds: int = 60) -> list[dict[str, bytes]]:
    """What is found after the last operation, by many seeds."""
    return [states(fs, PowerLoss(seed, page), tmp / str(seed))[-1] for seed in range(seeds)]


def test_a_power_loss_keeps_or_loses_each_page_of_a_map(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    mapped = fs.map(root / "a.index", size=3 * 4096)
    mapped.reserve(0, 3 * 4096)
    mapped.data[:] = b"o" * len(mapped.data)
    mapped.sync()
    fs.sync_dir(root)
    mapped.data[0:4] = mapped.data[4096:4100] = b"nnnn"
    fs.mark("written")
    found = {state["a.index"] for state in outcomes(fs, tmp_path)}
    pages = {tuple(data[at : at + 4] for at in (0, 4096, 8192)) for data in found}
    assert pages == {(a, b, b"oooo") for a in (b"oooo", b"nnnn") for b in (b"oooo", b"nnnn")}
    mapped.close()


def test_a_power_loss_keeps_or_loses_length_and_bytes_by_themselves(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    write_one_file(fs, root)
    found = {state["a.log"] for state in outcomes(fs, tmp_path, page=2)}
    ends = {data[8:] for data in found}
    assert {data[:8] for data in found} == {b"12345678"}
    assert ends == {b"", b"abcd", b"ab\0\0", b"\0\0cd", bytes(4)}


def test_a_power_loss_keeps_or_loses_each_name_but_never_half_a_rename(root: Path, tmp_path: Path) -> None:
    for name in ("gone", "old"):
        (root / name).write_bytes(name.encode())
    fs = RecordingFileSystem(root)
    fs.unlink(root / "gone")
    fs.rename(root / "old", root / "new")
    fs.open(root / "made", create=True).close()
    found = [frozenset(state) for state in outcomes(fs, tmp_path)]
    assert len(set(found)) == 8
    assert all(len(names & {"old", "new"}) == 1 for names in found)


def test_syncing_the_file_system_makes_everything_durable(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    fs.mkdir(root / "t-0")
    file = fs.open(root / "t-0" / "a.log", create=True)
    file.write_at(0, [b"1234"])
    mapped = fs.map(root / "t-0" / "a.index", size=4)
    mapped.reserve(0, 4)
    mapped.data[:] = b"abcd"
    volume = fs.volume(root)
    assert volume is not None
    volume.sync()
    for survival in (*Survival, PowerLoss(1), PowerLoss(2)):
        assert states(fs, survival, tmp_path)[-1] == {"t-0/a.log": b"1234", "t-0/a.index": b"abcd"}
    volume.close()
    mapped.close()
    file.close()


def test_a_file_system_that_cannot_be_synced(tmp_path: Path) -> None:
    fs = FailingFileSystem()
    volume = fs.volume(tmp_path)
    assert volume is not None
    fs.fail("sync_fs", code=errno.EIO, times=1)
    with pytest.raises(OSError, match="Input/output"):
        volume.sync()
    volume.sync()
    volume.close()


def test_marks_say_what_was_promised_before_the_crash(root: Path) -> None:
    fs = RecordingFileSystem(root)
    fs.open(root / "a", create=True).close()
    fs.mark(1)
    fs.open(root / "b", create=True).close()
    fs.mark(2)
    assert [crash.mark for crash in fs.crashes()] == [None, 1, 2]


def test_directories_are_moved_with_what_they_hold(root: Path, tmp_path: Path) -> None:
    fs = RecordingFileSystem(root)
    fs.mkdir(root / "t-0")
    file = fs.open(root / "t-0" / "x", create=True)
    file.write_at(0, [b"x"])
    file.close()
    fs.rename(root / "t-0", root / "t-0.1-delete")
    fs.unlink(root / "t-0.1-delete" / "x")
    found = states(fs, Survival.ALL, tmp_path)
    assert found[-2] == {"t-0.1-delete/x": b"x"}
    assert found[-1] == {}


def test_a_full_disk_takes_what_fits_and_then_fails(tmp_path: Path) -> None:
    fs = FailingFileSystem(capacity=6)
    file = fs.open(tmp_path / "a", create=True)
    file.write_at(0, [b"1234"])
    with pytest.raises(OSError, match="No space") as caught:
        file.write_at(4, [b"5678"])
    assert caught.value.errno == errno.ENOSPC
    file.close()
    assert (tmp_path / "a").read_bytes() == b"123456"
    fs.heal()
    fs.write_atomic(tmp_path / "b", b"123456789")


def test_faults_strike_the_named_operation_on_the_named_files(tmp_path: Path) -> None:
    fs = FailingFileSystem()
    fs.fail("sync", "*.log", errno.EIO, skip=1, times=1)
    other = fs.open(tmp_path / "a.index", create=True)
    other.sync()
    file = fs.open(tmp_path / "a.log", create=True)
    file.sync()
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.sync()
    file.close()
    other.close()


def test_the_manual_clock_moves_only_by_hand_and_by_sleeping() -> None:
    clock = ManualClock(1000)
    clock.advance(1.5)
    assert (clock.time_ms(), clock.monotonic()) == (2500, 1.5)
    clock.sleep(0.5)
    assert (clock.time_ms(), clock.sleeps) == (3000, [0.5])
    clock.set_time_ms(10)
    assert (clock.time_ms(), clock.monotonic()) == (10, 2.0)
    with pytest.raises(ValueError, match="go back"):
        clock.advance(-1)


def test_a_page_of_a_map_must_be_had_before_it_is_touched(root: Path) -> None:
    disk = FailingFileSystem(capacity=8192)
    mapped = disk.map(root / "a.index", size=4 * 4096)
    mapped.reserve(0, 4096)
    mapped.data[10:14] = b"here"
    mapped.sync()
    mapped.data[5000:5004] = b"none"
    with pytest.raises(BusError, match="page at 4096"):
        mapped.sync()


def test_a_full_disk_has_no_page_to_reserve(root: Path) -> None:
    disk = FailingFileSystem(capacity=5000)
    mapped = disk.map(root / "a.index", size=4 * 4096)
    mapped.reserve(0, 4096)
    with pytest.raises(OSError, match="No space left"):
        mapped.reserve(4096, 4096)
    mapped.data[0:4096] = b"1" * 4096
    mapped.sync()  # what is reserved takes no more room when it is written
    assert disk.written == 4096


def test_a_sealed_map_is_not_written(root: Path) -> None:
    mapped = HookedFileSystem().map(root / "a.index", size=8)
    mapped.reserve(0, 8)
    mapped.data[0:4] = b"abcd"
    mapped.seal(4)
    mapped.data[0:4] = b"efgh"
    with pytest.raises(BusError, match="mapped to be read"):
        mapped.sync()
