"""`tidelog log ...` on small directories: what it prints, what it changes, its exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.logs import batch
from support.managed_logs import append, compact_config, end_transaction, open_manager
from tidelog.cli.main import main
from tidelog.common.types import TopicPartition
from tidelog.log.manager.manager import LogManager
from tidelog.log.reading.reader import LogDirectory
from tidelog.protocol.messages import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
)
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing.clock import START_MS, ManualClock

ORDERS = TopicPartition("orders", 0)


def keyed(kind: int, message: Any) -> bytes:
    return kind.to_bytes(2, "big") + bytes(message.encode(0))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory that a broker has left: orders, committed offsets, a transaction."""
    clock = ManualClock()
    manager: LogManager = open_manager(tmp_path / "data", clock=clock)
    manager.write_meta("cluster", 1)
    orders = manager.create(ORDERS, compact_config(), topic_id=bytes(range(16)))
    for n in range(30):
        append(orders, [(b"key-%d" % (n % 5), b"value-%d" % n)])
        clock.advance(1)
    append(orders, [(b"key-0", None)], producer_id=7, sequence=0, transactional=True)
    end_transaction(orders, 7, committed=False)
    offsets = manager.create(TopicPartition("__consumer_offsets", 3), compact_config())
    value = OffsetCommitValue(offset=42, metadata="m", commit_timestamp=5, leader_epoch=1)
    append(
        offsets,
        [
            (keyed(1, OffsetCommitKey(group="g", topic="orders", partition=0)), b"\0\3" + bytes(value.encode(3))),
            (keyed(2, GroupMetadataKey(group="g")), None),
            (b"\0\x63unknown", b"x"),
        ],
    )
    state = manager.create(TopicPartition("__transaction_state", 0), compact_config())
    transaction = TransactionLogValue(
        producer_id=9,
        producer_epoch=1,
        transaction_timeout_ms=60_000,
        transaction_status=4,
        transaction_partitions=None,
    )
    append(state, [(keyed(0, TransactionLogKey(transactional_id="tx")), b"\0\0" + bytes(transaction.encode(0)))])
    manager.checkpoint()
    manager.shutdown()
    return tmp_path / "data"


class Command:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object, status: int = 0) -> str:
        assert main(["log", *map(str, words)]) == status, self._capsys.readouterr()
        return self._capsys.readouterr().out

    def json(self, *words: object, status: int = 0) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self(*words, "--json", status=status).splitlines()]


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def test_dump_batches(log: Command, data: Path) -> None:
    rows = log.json("dump", data / "orders-0")
    assert len(rows) == 32
    assert (rows[0]["base_offset"], rows[0]["codec"], rows[0]["magic"]) == (0, "none", 2)
    assert rows[-1]["flags"] == "transactional,control"
    assert "base_offset=3 " in log("dump", data / "orders-0", "--offset", 3, "--limit", 1)


def test_dumped_batches_say_where_they_lie(log: Command, data: Path) -> None:
    rows = log.json("dump", data)
    assert {row["partition"] for row in rows} == {"orders-0", "__consumer_offsets-3", "__transaction_state-0"}
    for row in rows:
        segment = data / row["partition"] / f"{row['segment']:020d}.log"
        base = segment.read_bytes()[row["position"] :][:8]
        assert int.from_bytes(base, "big") == row["base_offset"]
    line = log("dump", data / "orders-0", "--limit", 1)
    assert line.startswith("partition=orders-0 segment=0 position=0 base_offset=0 ")
    assert line.endswith("producer=- sequence=- flags=-\n")
    assert "None" not in log("dump", data)


def test_times_are_dates_or_milliseconds(log: Command, data: Path) -> None:
    path = data / "orders-0"
    from_ms = log.json("dump", path, "-r", "--from-time", START_MS + 5000, "--to-time", START_MS + 7000)
    assert len(from_ms) == 2
    for start, end in (
        ("2024-01-01T00:00:05", "2024-01-01T00:00:07"),
        ("2024-01-01T01:00:05+01:00", "2024-01-01T00:00:07Z"),
    ):
        assert log.json("dump", path, "-r", "--from-time", start, "--to-time", end) == from_ms
    log("dump", path, "--from-time", "yesterday", status=2)


def test_a_dump_of_nothing_says_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for more in ([], ["--records"]):
        assert main(["log", "dump", str(data / "orders-0"), "--offset", "1000", *more]) == 0
        out, err = capsys.readouterr()
        assert out == ""
        assert "here, or none in that range" in err


def test_dump_records_in_a_range(log: Command, data: Path) -> None:
    rows = log.json("dump", data / "orders-0", "--records", "--offset", 28)
    assert [row["offset"] for row in rows] == [28, 29, 30, 31]
    assert (rows[0]["key"], rows[0]["value"]) == ("key-3", "value-28")
    assert rows[2]["value"] is None
    assert rows[3]["control"] == "ABORT"
    text = log("dump", data / "orders-0", "-r", "-o", 29)
    assert "key-4  value-29" in text
    assert "tombstone" in text
    assert "ABORT marker of producer 7" in text
    first = rows[0]["timestamp"]
    times = log.json("dump", data / "orders-0", "-r", "--from-time", first, "--to-time", first + 1000)
    assert [row["offset"] for row in times] == [28]


def test_dump_decodes_internal_topics(log: Command, data: Path) -> None:
    rows = log.json("dump", data, "--topic", "__consumer_offsets", "--records")
    commit, tombstone, unknown = rows
    assert commit["decoded"]["type"] == "OffsetCommit"
    assert commit["decoded"]["key"] == {"group": "g", "topic": "orders", "partition": 0}
    assert commit["decoded"]["value"]["offset"] == 42
    assert commit["decoded"]["value"]["topic_id"] == "AAAAAAAAAAAAAAAAAAAAAA"  # none, as Kafka spells it
    assert tombstone["decoded"] == {"type": "GroupMetadata", "key": {"group": "g"}, "value": None}
    assert "decoded" not in unknown
    (transaction,) = log.json("dump", data / "__transaction_state-0", "--records")
    assert transaction["decoded"]["key"] == {"transactional_id": "tx"}
    assert transaction["decoded"]["value"]["transaction_status"] == "CompleteCommit"
    assert "OffsetCommit  group='g'" in log("dump", data / "__consumer_offsets-3", "-r")


def test_dump_of_single_files(log: Command, data: Path) -> None:
    segment = data / "orders-0" / "00000000000000000000.log"
    assert log.json("dump", segment)[1]["position"] > 0
    (first, *_) = log.json("dump", segment.with_suffix(".index"))
    assert first["position"] > 0
    assert {"timestamp", "time", "offset"} == set(log.json("dump", segment.with_suffix(".timeindex"))[0])
    snapshot = sorted((data / "orders-0").glob("*.snapshot"))[-1]
    assert log.json("dump", snapshot)[0]["producer_id"] == 7
    (txn,) = (data / "orders-0").glob("*.txnindex")
    assert log.json("dump", txn)[0]["last_offset"] == 31
    points = log.json("dump", data / "recovery-point-offset-checkpoint")
    assert {"topic": "orders", "partition": 0, "offset": 32} in points
    assert log.json("dump", data / "orders-0" / "leader-epoch-checkpoint") == [{"leader_epoch": 0, "start_offset": 0}]
    assert log.json("dump", data / "meta.properties")[0]["node.id"] == "1"
    assert log.json("dump", data / "orders-0" / "partition.metadata") == [{"topic_id": "AAECAwQFBgcICQoLDA0ODw"}]
    assert log.json("dump", data / ".kafka_cleanshutdown")[0]["clean_shutdown"] is True


def test_what_is_not_there_is_a_usage_error(log: Command, data: Path, tmp_path: Path) -> None:
    log("dump", tmp_path / "nothing", status=2)
    log("dump", data, "--topic", "nothing", status=2)
    log("verify", tmp_path, status=2)
    (tmp_path / "notes.txt").write_text("x")
    log("dump", tmp_path / "notes.txt", status=2)
    log("stat", tmp_path / "notes.txt", status=2)
    log("compact", data, status=2)


def test_verify(log: Command, data: Path) -> None:
    assert "3 partitions" in log("verify", data)
    (summary,) = log.json("verify", data)
    assert (summary["errors"], summary["records"], summary["partitions"]) == (0, 36, 3)
    path = data / "orders-0" / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    finding, summary = log.json("verify", data / "orders-0", status=1)
    assert (finding["severity"], finding["file"], summary["errors"]) == ("error", str(path), 1)
    assert "error" in log("verify", data / "orders-0", status=1)


def test_stat(log: Command, data: Path) -> None:
    rows = {row["topic"]: row for row in log.json("stat", data)}
    orders = rows["orders"]
    assert (orders["records"], orders["distinct_keys"], orders["control_batches"]) == (32, 5, 1)
    assert "orders-0" in log("stat", data, "--topic", "orders")
    (fast,) = log.json("stat", data / "orders-0", "--fast")
    assert "distinct_keys" not in fast


def test_reindex_brings_the_same_indexes_back(log: Command, data: Path) -> None:
    partition = data / "orders-0"
    before = {path.name: path.read_bytes() for path in partition.glob("*index")}
    for path in partition.glob("*index"):
        path.unlink()
    log("verify", partition, status=1)
    (row,) = log.json("reindex", partition, "--index-interval-bytes", 100)
    assert (row["partition"], row["result"]) == ("orders-0", "ok")
    log("verify", partition)
    after = {path.name: path.read_bytes() for path in partition.glob("*index")}
    assert {name for name in after if name.endswith("txnindex")} == {
        name for name in before if name.endswith("txnindex")
    }
    assert sorted(after) == sorted(before)
    # The rule for recovery differs by a hair from that for appends: entries may lie elsewhere, but they are there.
    assert sum(map(len, after.values())) == pytest.approx(sum(map(len, before.values())), rel=0.3)


def test_reindex_refuses_damaged_data_and_a_directory_in_use(log: Command, data: Path) -> None:
    path = data / "orders-0" / "00000000000000000000.log"
    content = bytearray(path.read_bytes())
    content[70] ^= 1
    path.write_bytes(content)
    (row,) = log.json("reindex", data / "orders-0", status=1)
    assert "damaged" in row["problem"]
    assert path.read_bytes() == bytes(content)
    assert path.with_suffix(".index").exists()
    manager = open_manager(data)
    log("reindex", data / "__transaction_state-0", status=1)
    manager.shutdown()


def test_compact(log: Command, data: Path) -> None:
    (row,) = log.json("compact", data, "--topic", "orders", "--roll", "--all")
    assert (row["partition"], row["result"]) == ("orders-0", "ok")
    partition = LogDirectory(data).partition("orders", 0)
    assert [r.offset for r in partition.records(committed=True)] == [25, 26, 27, 28, 29]
    assert LogDirectory(data).cleaner_offsets[ORDERS] == 32
    log("verify", data)
    (row,) = log.json("compact", data / "orders-0", "--all")
    assert row["result"] == "nothing to clean"
    assert "orders-0" in log("compact", data / "orders-0", "--all", "--from-start")
    manager = open_manager(data)  # a broker starts on it, and the stop still counts as clean
    assert manager.dirs[0].was_clean
    assert manager.logs[ORDERS].log_end_offset == 32
    manager.shutdown()


@pytest.mark.parametrize("magic", [1, 2])
def test_compact_says_that_records_without_a_key_went(log: Command, tmp_path: Path, magic: int) -> None:
    keys = [b"a", None, b"a", None, None]
    segment(tmp_path / "data" / "mixed-0", batch([b"v"] * 5, keys=keys, magic=magic, codec=Codec.GZIP))
    segment(tmp_path / "data" / "keyed-0", batch([b"v"] * 2, keys=[b"a", b"b"], magic=magic))
    mixed, keyed = log.json("compact", tmp_path / "data", "-t", "mixed", "-t", "keyed", "--roll", "--all")[::-1]
    assert (mixed["records_before"], mixed["records_after"], mixed["keyless"]) == (5, 1, 3)
    assert mixed["result"] == "ok, but 3 records without a key were removed"
    assert (keyed["keyless"], keyed["result"]) == (0, "ok")


@pytest.mark.parametrize("command", ["dump", "verify", "stat", "reindex", "compact"])
def test_help_has_examples(log: Command, command: str) -> None:
    text = log(command, "--help")
    assert "Examples:" in text
    assert f"tidelog log {command}" in text


def segment(folder: Path, *batches: bytes) -> Path:
    folder.mkdir(parents=True)
    (folder / "00000000000000000000.log").write_bytes(b"".join(batches))
    for kind in ("index", "timeindex"):
        (folder / f"00000000000000000000.{kind}").touch()
    return folder


@pytest.mark.parametrize("magic", [0, 1])
def test_the_records_inside_a_packed_old_entry_are_counted(log: Command, tmp_path: Path, magic: int) -> None:
    packed = batch([b"a", b"b", b"c"], magic=magic, codec=Codec.GZIP)
    partition = segment(tmp_path / "old-0", packed, batch([b"d"], base_offset=3, magic=magic))
    assert log.json("verify", partition)[-1]["records"] == 4
    assert log.json("stat", partition)[0]["records"] == 4


def timed(*times: int, base: int = 0, magic: int = 2, codec: Codec = Codec.NONE, **options: Any) -> bytes:
    """A batch of records with these timestamps."""
    builder = BatchBuilder(magic, codec, base_offset=base, **options)
    for time in times:
        builder.append(time, None, b"x")
    return builder.build()


def test_the_time_range_begins_with_the_earliest_record(log: Command, tmp_path: Path) -> None:
    partition = segment(tmp_path / "late-0", timed(3_000, 1_000, 9_000))
    for options in ((), ("--fast",)):
        (found,) = log.json("stat", partition, *options)
        assert (found["min_time"], found["min_time_exact"], found["max_time"]) == (1_000, True, 9_000)


def test_a_quick_look_says_that_its_earliest_time_is_a_bound(log: Command, tmp_path: Path) -> None:
    partition = segment(tmp_path / "late-0", timed(5_000, 4_000), timed(3_000, 1_000, base=2))
    (found,) = log.json("stat", partition, "--fast")
    assert (found["min_time"], found["min_time_exact"]) == (3_000, False)
    assert "≤1970-01-01T00:00:03.000Z" in log("stat", partition, "--fast")
    assert " 1970-01-01T00:00:01.000Z" in log("stat", partition)


@pytest.mark.parametrize("options", [(), ("--fast",)])
def test_the_largest_time_of_an_old_wrapper_is_not_its_earliest(
    log: Command, tmp_path: Path, options: tuple[str, ...]
) -> None:
    old = {"magic": 1, "codec": Codec.GZIP}
    partition = segment(tmp_path / "old-0", timed(1_000, 9_000, **old), timed(500, 9_500, base=2, **old))
    (found,) = log.json("stat", partition, *options)
    assert (found["min_time"], found["min_time_exact"], found["max_time"]) == (500, True, 9_500)
    stamped = segment(
        tmp_path / "stamped-0",
        timed(1_000, 2_000, timestamp_type=TimestampType.LOG_APPEND_TIME, log_append_time=7_000, **old),
    )
    (found,) = log.json("stat", stamped, *options)
    assert (found["min_time"], found["min_time_exact"], found["max_time"]) == (7_000, True, 7_000)
    (found,) = log.json("stat", segment(tmp_path / "timeless-0", timed(-1, -1, magic=0, codec=Codec.GZIP)), *options)
    assert (found["min_time"], found["max_time"]) == (None, None)


def test_a_delete_horizon_is_no_time_of_a_record(log: Command, tmp_path: Path) -> None:
    waiting = timed(2_000, 3_000, base=1, delete_horizon=100)
    partition = segment(tmp_path / "compact-0", timed(5_000), waiting)
    (found,) = log.json("stat", partition, "--fast")
    assert (found["min_time"], found["min_time_exact"]) == (3_000, False)


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_dumped_batch_begins_with_its_first_record(log: Command, tmp_path: Path, magic: int) -> None:
    """The header of a packed entry of magic 0 or 1 holds its last offset."""
    batches = [timed(*[-1 if magic == 0 else 5] * 50, base=base, magic=magic, codec=Codec.GZIP) for base in (0, 50)]
    partition = segment(tmp_path / "old-0", *batches)
    rows = [(row["base_offset"], row["last_offset"], row["records"]) for row in log.json("dump", partition)]
    assert rows == [(0, 49, 50), (50, 99, 50)]


@pytest.mark.parametrize("magic", [0, 1, 2])
def test_a_dump_leaves_out_whole_batches_outside_the_offsets(log: Command, tmp_path: Path, magic: int) -> None:
    batches = [timed(*[-1] * 10, base=base, magic=magic, codec=Codec.GZIP) for base in (0, 10, 20, 30)]
    partition = segment(tmp_path / "old-0", *batches)
    for path in (partition, partition / "00000000000000000000.log"):
        found = log.json("dump", path, "--offset", 12, "--end", 21)
        assert [row["base_offset"] for row in found] == [10, 20], path
        found = log.json("dump", path, "--end", 20)
        assert [row["base_offset"] for row in found] == [0, 10], path


def test_dumped_records_name_their_partition(log: Command, data: Path) -> None:
    named = [line["partition"] for line in log.json("dump", data, "--records")]
    assert set(named) == {"orders-0", "__consumer_offsets-3", "__transaction_state-0"}
    lines = log("dump", data, "--records").splitlines()
    assert {"orders-0", "__consumer_offsets-3", "__transaction_state-0"} <= set(lines)
    assert "orders-0" not in log("dump", data / "orders-0", "--records").splitlines()


def test_folders_that_only_look_like_partitions_are_none(log: Command, tmp_path: Path, caplog) -> None:
    for name in ("dbus-1", "gtk-2", "X11"):
        (tmp_path / "etc" / name).mkdir(parents=True)
    for command in ("stat", "verify", "dump"):
        log(command, tmp_path / "etc", status=2)
        log(command, tmp_path / "etc" / "dbus-1", status=2)
    assert not caplog.records
