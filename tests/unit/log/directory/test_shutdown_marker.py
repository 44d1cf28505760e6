"""The marker of a clean stop: ours, Kafka's, an old broker's, and none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.common.fs import LOCAL_FS
from tidelog.log.directory import shutdown_marker
from tidelog.log.names import CLEAN_SHUTDOWN_FILE


def test_ours_is_read_by_us_and_not_taken_for_kafkas(tmp_path: Path) -> None:
    assert not shutdown_marker.exists(LOCAL_FS, tmp_path)
    shutdown_marker.write(LOCAL_FS, tmp_path, 42)
    assert shutdown_marker.read_broker_epoch(LOCAL_FS, tmp_path) == 42
    assert shutdown_marker.exists(LOCAL_FS, tmp_path)
    assert not shutdown_marker.is_kafkas(LOCAL_FS, tmp_path)
    for _ in range(2):
        shutdown_marker.remove(LOCAL_FS, tmp_path)
    assert shutdown_marker.read_broker_epoch(LOCAL_FS, tmp_path) == -1


@pytest.mark.parametrize(
    ("content", "epoch"),
    [(b'{"version":0,"brokerEpoch":7}', 7), (b"", -1), (b"[]", -1), (b'{"version":1,"brokerEpoch":7}', -1)],
)
def test_what_others_leave_counts_whatever_it_says(tmp_path: Path, content: bytes, epoch: int) -> None:
    (tmp_path / CLEAN_SHUTDOWN_FILE).write_bytes(content)
    assert shutdown_marker.is_kafkas(LOCAL_FS, tmp_path)
    assert shutdown_marker.read_broker_epoch(LOCAL_FS, tmp_path) == epoch
