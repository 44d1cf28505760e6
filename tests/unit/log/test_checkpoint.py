from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.errors import KafkaError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID, uuid_from_text
from tidelog.log import checkpoint, partition_metadata
from tidelog.log.checkpoint import CheckpointError


def test_bytes(tmp_path: Path) -> None:
    path = tmp_path / "recovery-point-offset-checkpoint"
    offsets = {TopicPartition("orders", 0): 4711, TopicPartition("a-b", 12): 0}
    checkpoint.write_offsets(LOCAL_FS, path, offsets)
    assert path.read_bytes() == b"0\n2\norders 0 4711\na-b 12 0\n"
    assert checkpoint.read_offsets(LOCAL_FS, path) == offsets
    assert [child.name for child in tmp_path.iterdir()] == [path.name]


def test_missing_and_empty_have_no_entries(tmp_path: Path) -> None:
    assert checkpoint.read_offsets(LOCAL_FS, tmp_path / "none") == {}
    (tmp_path / "empty").touch()
    assert checkpoint.read_lines(LOCAL_FS, tmp_path / "empty") == []
    checkpoint.write_offsets(LOCAL_FS, tmp_path / "zero", {})
    assert (tmp_path / "zero").read_bytes() == b"0\n0\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1\n0\n", "expected version 0, found '1'"),
        ("0\n", "expected the number of entries"),
        ("0\nx\n", "expected the number of entries"),
        ("0\n2\na 0 1\n", "expected 2 entries, found 1"),
        ("0\n0\na 0 1\n", "expected 0 entries, found 1"),
        ("0\n1\na 0\n", "expected 3 fields"),
        ("0\n1\na b 1\n", "expected a number, found 'b'"),
    ],
)
def test_malformed(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "file").write_text(text)
    with pytest.raises(CheckpointError, match=expected):
        checkpoint.read_offsets(LOCAL_FS, tmp_path / "file")


@given(st.binary(max_size=60))
def test_any_bytes_give_entries_or_a_clean_error(data: bytes) -> None:
    try:
        rows = checkpoint.decode_rows(data, "file")
    except CheckpointError:
        return
    assert all(isinstance(row, str) for row in rows)


def test_partition_metadata(tmp_path: Path) -> None:
    topic_id = uuid_from_text("3JvTuSVrQ4uxBPwnnbXm6g")
    assert partition_metadata.read(LOCAL_FS, tmp_path) is None
    partition_metadata.write(LOCAL_FS, tmp_path, topic_id)
    assert (tmp_path / "partition.metadata").read_bytes() == b"version: 0\ntopic_id: 3JvTuSVrQ4uxBPwnnbXm6g"
    assert partition_metadata.read(LOCAL_FS, tmp_path) == topic_id
    path = tmp_path / "partition.metadata"
    whole = path.read_bytes()
    for size in range(len(whole)):  # what a crash may leave of it
        for rest in (b"", bytes(len(whole) - size)):
            path.write_bytes(whole[:size] + rest)
            assert partition_metadata.read(LOCAL_FS, tmp_path) is None, size
    path.write_bytes(whole)


@pytest.mark.parametrize(
    "text",
    [
        "version: 1\ntopic_id: 3JvTuSVrQ4uxBPwnnbXm6g",
        "version: 0\ntopic_id: 3JvTuSVrQ4uxBPwnnbXm6g3JvT",
        "topic_id: 3JvT",
        "\xff\xfe",
    ],
)
def test_bad_partition_metadata(tmp_path: Path, text: str) -> None:
    (tmp_path / "partition.metadata").write_text(text, encoding="latin-1")
    with pytest.raises(KafkaError):
        partition_metadata.read(LOCAL_FS, tmp_path)


def test_the_zero_id_names_no_topic() -> None:
    with pytest.raises(KafkaError, match="zero id"):
        partition_metadata.decode(partition_metadata.encode(ZERO_UUID), "file")
