"""After an unclean stop: torn tails at every byte, rebuilt indexes, producers and epochs, what follows a cut."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.logs import START_MS, LogBench, batch, fill, records_of, run_of, small_config
from tidelog.common.errors import KafkaError, StorageError
from tidelog.log.partition.partition_log import PartitionLog
from tidelog.records.format.attributes import Codec
from tidelog.testing.fs import FailingFileSystem


@pytest.fixture
def bench(tmp_path: Path) -> LogBench:
    return LogBench(tmp_path)


def crash(log: PartitionLog) -> None:
    """The process is gone; the files are as they were."""
    log.release()


def index_bytes(bench: LogBench) -> dict[str, bytes]:
    return {name: (bench.dir / name).read_bytes() for name in bench.names() if name.endswith("index")}


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_torn_tail_is_cut_at_every_byte(bench: LogBench, magic: int, tmp_path: Path) -> None:
    log = bench.open()
    for offset in range(3):
        log.append_as_follower(
            bytearray(batch([b"value %d" % offset], base_offset=offset, timestamp=START_MS + offset, magic=magic))
        )
    whole = log.size
    path = log.active_segment.data.path
    log.close()
    last = whole // 3
    data = path.read_bytes()
    for kept in range(whole - last, whole):
        path.write_bytes(data[:kept])
        log = bench.open(clean=False)
        assert (log.log_end_offset, log.size) == (2, whole - last), f"cut at {kept}"
        assert [record.offset for record in records_of(log)] == [0, 1]
        crash(log)


def test_a_flipped_byte_anywhere_in_the_last_batch_cuts_it(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 3, records=1)
    path = log.active_segment.data.path
    whole = log.size
    log.close()
    data = path.read_bytes()
    last = whole // 3
    for position in range(whole - last, whole):
        if position - (whole - last) in range(8) or position - (whole - last) in range(12, 16):
            continue  # base offset and leader epoch are not under the checksum
        broken = bytearray(data)
        broken[position] ^= 0x55
        path.write_bytes(broken)
        log = bench.open(clean=False)
        assert log.log_end_offset == 2, f"flipped {position - (whole - last)}"
        crash(log)


def test_indexes_are_rebuilt_as_recovery_writes_them(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 100)
    log.close()
    crash(bench.open(clean=False))
    rebuilt = index_bytes(bench)
    for name in rebuilt:
        (bench.dir / name).write_bytes(b"\xff" * 120)
    log = bench.open(clean=False)
    assert len(records_of(log)) == 300
    crash(log)
    assert index_bytes(bench) == rebuilt


def test_a_cut_deletes_the_segments_behind_it(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 60)
    victim, *later = log.segments[2:]
    middle = victim.size // 2
    path = victim.data.path
    crash(log)
    with path.open("r+b") as file:
        file.seek(middle)
        file.write(b"\xff" * 20)
    log = bench.open(clean=False)
    assert log.segments[-1].base_offset == victim.base_offset
    assert log.log_end_offset < later[0].base_offset
    assert [record.offset for record in records_of(log)] == list(range(log.log_end_offset))
    assert [name for name in bench.names() if name.startswith(f"{later[0].base_offset:020d}.log")] == [
        f"{later[0].base_offset:020d}.log.deleted"
    ]
    bench.scheduler.run_all()
    assert not any(name.endswith(".deleted") for name in bench.names())
    fill(log, 3)
    log.close()


def test_segments_below_the_recovery_point_are_not_read(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 60)
    first, last = log.segments[0], log.segments[-1]
    path = first.data.path
    end = log.log_end_offset
    log.close()
    with path.open("r+b") as file:
        file.seek(70)
        file.write(b"\xff" * 10)
    log = bench.open(clean=False, recovery_point=last.base_offset)
    assert (log.log_end_offset, log.recovery_point) == (end, last.base_offset)
    crash(log)


def test_producers_are_rebuilt(bench: LogBench) -> None:
    log = bench.open()
    for sequence in range(40):
        data = batch([b"v" * 60], producer_id=5, epoch=1, sequence=sequence, timestamp=START_MS)
        log.append_as_leader(run_of(data), 0)
    log.append_as_leader(run_of(batch([b"t"], producer_id=6, epoch=0, sequence=0, transactional=True)), 0)
    crash(log)
    for name in bench.names():
        if name.endswith(".snapshot"):
            (bench.dir / name).unlink()
    log = bench.open(clean=False)
    assert log.producers.entries[5].last_sequence == 39
    assert list(log.producers.ongoing) == [40]
    log.advance_high_watermark(41)
    assert log.last_stable_offset == 40
    again = log.append_as_leader(run_of(batch([b"v"], producer_id=5, epoch=1, sequence=39)), 0)
    assert again.duplicate
    log.close()


def test_epochs_are_rebuilt(bench: LogBench) -> None:
    log = bench.open()
    for epoch in (0, 2, 5):
        fill(log, 10, epoch=epoch)
    entries = log.leader_epochs.entries
    crash(log)
    assert "leader-epoch-checkpoint" not in bench.names()
    log = bench.open(clean=False)
    assert log.leader_epochs.entries == entries == ((0, 0), (2, 30), (5, 60))
    crash(log)


@pytest.mark.parametrize("kind", [".index", ".timeindex", ".txnindex"])
def test_missing_or_broken_indexes_after_a_clean_stop(bench: LogBench, kind: str) -> None:
    log = bench.open()
    fill(log, 60)
    path = log.segments[1].data.path.with_suffix(kind)
    expected = records_of(log)
    log.close()
    if kind == ".txnindex":
        path.write_bytes(b"broken")
    else:
        path.unlink()
    log = bench.open(clean=True)
    assert records_of(log) == expected
    found = log.offset_for_timestamp(START_MS + 50)
    assert found is not None
    assert found.offset == 50
    log.close()


def test_index_files_without_a_segment_go(bench: LogBench) -> None:
    bench.open().close()
    for kind in ("index", "timeindex", "txnindex"):
        (bench.dir / f"00000000000000000777.{kind}").write_bytes(b"")
    bench.open().close()
    assert not any(name.startswith("00000000000000000777") for name in bench.names())


def test_offsets_that_fall_are_not_kept(bench: LogBench) -> None:
    bench.config = small_config(index_interval_bytes=0)
    log = bench.open()
    fill(log, 5, records=1)
    path = log.active_segment.data.path
    size = log.size // 5
    log.close()
    data = path.read_bytes()
    path.write_bytes(data[size * 4 :] + data[: size * 4])
    log = bench.open(clean=False)
    assert (log.log_end_offset, log.size) == (5, size)
    fill(log, 2)
    assert [record.offset for record in records_of(log)] == list(range(4, 11))
    log.close()


def test_a_log_that_ends_below_its_start_begins_anew(bench: LogBench) -> None:
    log = bench.open()
    fill(log, 10)
    log.close()
    log = bench.open(log_start_offset=500)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.recovery_point) == (500, 500, 500, 0)
    assert [segment.base_offset for segment in log.segments] == [500]
    assert log.leader_epochs.entries == ()
    assert log.producers.snapshots == [500]
    fill(log, 1)
    log.close()
    assert len(records_of(bench.open(log_start_offset=500))) == 3


def test_an_empty_directory_starts_at_the_log_start(bench: LogBench) -> None:
    log = bench.open(log_start_offset=7)
    assert (log.log_start_offset, log.log_end_offset) == (7, 7)
    log.close()


def test_compressed_and_old_formats_recover(bench: LogBench) -> None:
    log = bench.open()
    parts = [
        batch([b"a"], base_offset=0, magic=0),
        batch([b"b"], base_offset=1, magic=1),
        batch([b"c", b"d"], base_offset=2, magic=1, codec=Codec.GZIP),
        batch([b"e", b"f"], base_offset=4, codec=Codec.SNAPPY),
    ]
    for part in parts:
        log.append_as_follower(bytearray(part))
    expected = records_of(log)
    assert [record.value for record in expected] == [b"a", b"b", b"c", b"d", b"e", b"f"]
    crash(log)
    log = bench.open(clean=False)
    assert records_of(log) == expected
    assert log.log_end_offset == 6
    log.close()


@pytest.mark.parametrize("clean", [True, False])
def test_a_segment_whose_offsets_are_too_far_apart_is_split(bench: LogBench, clean: bool) -> None:
    bench.open().close()
    offsets = [0, 5, 2**31 + 4, 2**31 + 9, 2**32 + 20]
    data = b"".join(batch([b"v%d" % offset], base_offset=offset) for offset in offsets)
    (bench.dir / f"{0:020d}.log").write_bytes(data)
    if clean:
        (bench.dir / f"{0:020d}.index").unlink()  # Kafka, too, finds out when the index is rebuilt
    log = bench.open(clean=clean)
    assert [segment.base_offset for segment in log.segments] == [0, 2**31 + 4, 2**32 + 20]
    assert [record.offset for record in records_of(log)] == offsets
    assert log.log_end_offset == 2**32 + 21
    bench.scheduler.run_all()
    log.close()
    assert not any(name.endswith((".deleted", ".swap", ".cleaned")) for name in bench.names())
    assert [record.offset for record in records_of(bench.open())] == offsets


@pytest.mark.parametrize("magic", [0, 1])
def test_a_split_names_a_segment_by_the_first_record_of_an_old_wrapper(bench: LogBench, magic: int) -> None:
    """Its header has the last one's offset: under that name, no look-up would come to the records before it."""
    bench.open().close()
    far = 2**31 + 4
    wrappers = [batch([b"a", b"b", b"c"], base_offset=base, magic=magic, codec=Codec.GZIP) for base in (0, far)]
    (bench.dir / f"{0:020d}.log").write_bytes(b"".join(wrappers))
    log = bench.open(clean=False)
    assert [segment.base_offset for segment in log.segments] == [0, far]
    found = log.read(far, 1 << 20)
    assert found.slice is not None
    assert found.slice.read() == wrappers[1]
    found.slice.release()
    log.close()


def test_a_split_that_is_cut_off_at_any_rename_loses_nothing(tmp_path: Path) -> None:
    offsets = [0, 5, 2**31 + 4, 2**31 + 9, 2**32 + 20]
    data = b"".join(batch([b"v%d" % offset], base_offset=offset) for offset in offsets)
    for done in range(100):
        disk = FailingFileSystem()
        bench = LogBench(tmp_path / str(done), fs=disk)
        bench.open().close()
        (bench.dir / f"{0:020d}.log").write_bytes(data)
        disk.fail("rename", skip=done)
        try:
            bench.open(clean=False).close()
        except StorageError:
            disk.heal()
            log = bench.open(clean=False)
            assert [record.offset for record in records_of(log)] == offsets, f"cut off after {done} renames"
            log.close()
        else:
            assert done > 9  # three segments of three files, each renamed twice, and the old one's
            return
    raise AssertionError("the split never came to its end")


def test_a_name_that_is_no_partition(bench: LogBench, tmp_path: Path) -> None:
    bench.dir = tmp_path / "nonsense"
    with pytest.raises(KafkaError, match="not the name of a partition"):
        bench.open()


# ---- what a crash of the cleaner or of a deletion leaves


def settle(bench: LogBench, tmp_path: Path) -> tuple[PartitionLog, list[int]]:
    log = bench.open()
    return log, [record.offset for record in records_of(log)]


@pytest.fixture
def three(bench: LogBench) -> LogBench:
    """Three segments: 0, 39, 78."""
    log = bench.open()
    fill(log, 30)
    assert [segment.base_offset for segment in log.segments] == [0, 39, 78]
    log.close()
    return bench


def copy(bench: LogBench, base: int, suffix: str) -> None:
    for name in bench.names():
        if name.startswith(f"{base:020d}") and name.endswith(("log", "index")):
            shutil.copy(bench.dir / name, bench.dir / (name + suffix))


def test_unfinished_output_goes(three: LogBench, tmp_path: Path) -> None:
    copy(three, 39, ".cleaned")
    copy(three, 0, ".deleted")
    _, offsets = settle(three, tmp_path)
    assert offsets == list(range(90))
    assert not any(name.endswith((".cleaned", ".deleted")) for name in three.names())


def test_an_undecided_swap_goes_with_the_cleaned_files(three: LogBench, tmp_path: Path) -> None:
    copy(three, 39, ".swap")
    copy(three, 0, ".cleaned")
    (three.dir / f"{39:020d}.log.swap").write_bytes(b"")
    _, offsets = settle(three, tmp_path)
    assert offsets == list(range(90))
    assert not any(name.endswith((".cleaned", ".swap")) for name in three.names())


def test_a_decided_swap_takes_its_place(three: LogBench, tmp_path: Path) -> None:
    first = (three.dir / f"{0:020d}.log").read_bytes()
    second = (three.dir / f"{39:020d}.log").read_bytes()
    (three.dir / f"{0:020d}.log.swap").write_bytes(first[:151] + second)
    (three.dir / f"{0:020d}.index.swap").write_bytes(b"")
    (three.dir / f"{0:020d}.timeindex.swap").write_bytes(b"")
    log, offsets = settle(three, tmp_path)
    assert offsets == [0, 1, 2, *range(39, 90)]
    assert [segment.base_offset for segment in log.segments] == [0, 78]
    assert not any(name.endswith(".swap") for name in three.names())
    log.close()
    assert settle(three, tmp_path)[1] == offsets
