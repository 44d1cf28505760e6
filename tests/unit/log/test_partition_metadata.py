"""Which topic a directory belongs to: a part of the file says nothing, anything else that is none is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.common.errors import KafkaError
from tidelog.common.fs import LOCAL_FS
from tidelog.common.uuids import ZERO_UUID
from tidelog.log import partition_metadata
from tidelog.log.names import PARTITION_METADATA_FILE

TOPIC_ID = bytes(range(16))


def test_written_and_read(tmp_path: Path) -> None:
    assert partition_metadata.read(LOCAL_FS, tmp_path) is None
    partition_metadata.write(LOCAL_FS, tmp_path, TOPIC_ID)
    partition_metadata.sync(LOCAL_FS, tmp_path)
    assert partition_metadata.read(LOCAL_FS, tmp_path) == TOPIC_ID
    assert (tmp_path / PARTITION_METADATA_FILE).read_bytes() == b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"


@pytest.mark.parametrize("cut", range(len(partition_metadata.encode(TOPIC_ID))))
def test_a_part_of_the_file_says_nothing(tmp_path: Path, cut: int) -> None:
    for rest in (b"", b"\0" * 20):
        (tmp_path / PARTITION_METADATA_FILE).write_bytes(partition_metadata.encode(TOPIC_ID)[:cut] + rest)
        assert partition_metadata.read(LOCAL_FS, tmp_path) is None


@pytest.mark.parametrize(
    "data", [b"version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw", partition_metadata.encode(ZERO_UUID), b"something else"]
)
def test_another_file_is_an_error(data: bytes) -> None:
    with pytest.raises(KafkaError):
        partition_metadata.decode(data, "here")
