from __future__ import annotations

import pytest

from tidelog.common.types import TopicPartition
from tidelog.log import names


def test_files_have_twenty_digits() -> None:
    assert names.file_name(42, names.LOG) == "00000000000000000042.log"
    assert names.file_name(0, names.INDEX, names.SWAP) == "00000000000000000000.index.swap"
    assert names.file_name(2**63 - 1, names.TIME_INDEX) == "09223372036854775807.timeindex"
    assert names.file_name(7, names.TXN_INDEX) == "00000000000000000007.txnindex"
    assert names.snapshot_name(7, names.DELETED) == "00000000000000000007.snapshot.deleted"


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("00000000000000000042.log", (42, ".log", "")),
        ("00000000000000000042.index.swap", (42, ".index", ".swap")),
        ("00000000000000000042.snapshot.deleted", (42, ".snapshot", ".deleted")),
        ("leader-epoch-checkpoint", None),
        ("42.log", None),
        ("partition.metadata", None),
        ("0000000000000000004x.log", None),
    ],
)
def test_split(name: str, parts: tuple[int, str, str] | None) -> None:
    assert names.split_name(name) == parts


@pytest.mark.parametrize(
    ("name", "topic", "partition", "kind"),
    [
        ("orders-0", "orders", 0, ""),
        ("a-b-c-12", "a-b-c", 12, ""),
        ("orders.v1-3", "orders.v1", 3, ""),
        ("orders-0.7a3f-delete", "orders", 0, "delete"),
        ("orders-0.7a3f-future", "orders", 0, "future"),
        ("a.b-1.7a3f-stray", "a.b", 1, "stray"),
    ],
)
def test_directories(name: str, topic: str, partition: int, kind: str) -> None:
    assert names.parse_dir(name) == (TopicPartition(topic, partition), kind)


@pytest.mark.parametrize(
    "name", ["orders", "orders-", "-1", "orders-x", "orders-delete", "lost+found", "a-99999999999"]
)
def test_not_a_partition(name: str) -> None:
    assert names.parse_dir(name) is None


def test_marked_directories_fit_and_parse_back() -> None:
    long = TopicPartition("t" * 249, 12345)
    for make in (names.delete_dir_name, names.stray_dir_name):
        name = make(long, "f" * 32)
        assert len(name) == 255
        parsed = names.parse_dir(name)
        assert parsed is not None
        assert parsed.topic_partition.partition == 12345
    short = TopicPartition("orders", 1)
    assert names.future_dir_name(short, "f00") == "orders-1.f00-future"
    assert names.delete_dir_name(short, "f00") == "orders-1.f00-delete"
