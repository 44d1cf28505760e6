"""The real file system behind the seam."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tidelog.common.fs import IOV_MAX, LOCAL_FS, File


def test_writes_and_reads_at_positions(tmp_path: Path) -> None:
    file = LOCAL_FS.open(tmp_path / "f", create=True)
    assert file.write_at(0, [b"hello ", memoryview(b"world"), bytearray(b"!")]) == 12
    assert file.write_at(3, [b"LO"]) == 2
    assert file.read_at(0, 100) == b"helLO world!"
    buffer = bytearray(20)
    assert file.read_into(6, buffer) == 6
    assert buffer[:6] == b"world!"
    file.truncate(3)
    assert file.size() == 3
    file.sync()
    file.close()
    file.close()


def test_writes_more_buffers_than_one_call_takes(tmp_path: Path) -> None:
    file = LOCAL_FS.open(tmp_path / "f", create=True)
    parts = [bytes([n % 256]) * 3 for n in range(IOV_MAX + 5)]
    assert file.write_at(0, parts) == 3 * len(parts)
    assert file.read_at(0, 1 << 20) == b"".join(parts)
    file.close()


def test_continues_a_short_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = LOCAL_FS.open(tmp_path / "f", create=True)
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda fd, buffers, position: real(fd, [b"".join(buffers)[:5]], position))
    assert file.write_at(0, [b"abc", b"defg", b"hi"]) == 9
    assert file.read_at(0, 20) == b"abcdefghi"
    file.close()


def test_an_error_is_an_oserror(tmp_path: Path) -> None:
    file = File(tmp_path / "full", os.open("/dev/full", os.O_RDWR))
    with pytest.raises(OSError, match="No space left") as caught:
        file.write_at(0, [b"x"])
    assert caught.value.errno == errno.ENOSPC
    file.close()


def test_atomic_write_replaces_whole_files(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint"
    LOCAL_FS.write_atomic(path, b"a long first version")
    LOCAL_FS.write_atomic(path, b"short")
    assert LOCAL_FS.read_bytes(path) == b"short"
    assert LOCAL_FS.listdir(tmp_path) == ["checkpoint"]


def test_maps_grow_and_shrink(tmp_path: Path) -> None:
    mapped = LOCAL_FS.map(tmp_path / "i", size=16)
    mapped.data[0:4] = b"abcd"
    mapped.resize(8)
    assert bytes(mapped.data) == b"abcd\0\0\0\0"
    mapped.resize(0)
    assert len(mapped.data) == 0
    mapped.resize(4)
    assert bytes(mapped.data) == bytes(4)
    mapped.sync()
    mapped.close()
    assert LOCAL_FS.stat(tmp_path / "i").size == 4


def test_a_sealed_map_cannot_be_written(tmp_path: Path) -> None:
    mapped = LOCAL_FS.map(tmp_path / "i", size=16)
    mapped.data[0:4] = b"abcd"
    mapped.seal(4)
    with pytest.raises(TypeError):
        mapped.data[0:1] = b"x"
    mapped.sync()
    mapped.close()
    assert (tmp_path / "i").read_bytes() == b"abcd"


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL])
def test_room_can_be_reserved_on_any_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    mapped = LOCAL_FS.map(tmp_path / "i", size=1 << 20)
    mapped.data[0:4] = b"abcd"

    def refuse(fd: int, position: int, size: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "posix_fallocate", refuse)
    mapped.reserve(4, 4092)
    mapped.reserve(4096, 65536)
    assert os.stat(tmp_path / "i").st_blocks * 512 >= 4096 + 65536
    assert bytes(mapped.data[:8]) == b"abcd\0\0\0\0"
    mapped.close()


def test_lock_is_exclusive(tmp_path: Path) -> None:
    first = LOCAL_FS.lock(tmp_path / ".lock")
    assert first is not None
    assert LOCAL_FS.lock(tmp_path / ".lock") is None
    first.release()
    second = LOCAL_FS.lock(tmp_path / ".lock")
    assert second is not None
    second.release()


def test_names_and_times(tmp_path: Path) -> None:
    LOCAL_FS.mkdir(tmp_path / "d" / "e")
    LOCAL_FS.open(tmp_path / "d" / "x", create=True).close()
    LOCAL_FS.set_mtime(tmp_path / "d" / "x", 1_700_000_000_123)
    assert LOCAL_FS.stat(tmp_path / "d" / "x").mtime_ms == 1_700_000_000_123
    LOCAL_FS.rename(tmp_path / "d" / "x", tmp_path / "d" / "y")
    assert LOCAL_FS.listdir(tmp_path / "d") == ["e", "y"]
    LOCAL_FS.unlink(tmp_path / "d" / "y")
    LOCAL_FS.unlink(tmp_path / "d" / "y", missing_ok=True)
    with pytest.raises(FileNotFoundError):
        LOCAL_FS.unlink(tmp_path / "d" / "y")
    LOCAL_FS.sync_dir(tmp_path / "d")
    LOCAL_FS.rmdir(tmp_path / "d" / "e")
    assert not LOCAL_FS.exists(tmp_path / "d" / "e")
    assert LOCAL_FS.disk_usage(tmp_path)[0] > 0


def test_a_volume_syncs_what_lies_in_it(tmp_path: Path) -> None:
    volume = LOCAL_FS.volume(tmp_path)
    if volume is None:
        pytest.skip("this platform syncs file by file")
    volume.sync()
    volume.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        volume.sync()


def test_what_lies_in_a_directory(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12")
    (tmp_path / "a").write_bytes(b"")
    assert list(LOCAL_FS.sizes(tmp_path).items()) == [("a", 0), ("b", 2)]
    (tmp_path / "d").mkdir()
    (tmp_path / "c").symlink_to(tmp_path / "d")
    assert LOCAL_FS.subdirectories(tmp_path) == ["c", "d"]


def test_a_link_that_leads_nowhere_is_not_overlooked(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    (tmp_path / "c").symlink_to("nowhere")
    assert LOCAL_FS.subdirectories(tmp_path) == ["c"], "whoever enters it finds out"
    assert LOCAL_FS.sizes(tmp_path) == {"a": 2, "b": 2, "c": len("nowhere")}, "its own size: it is no empty file"


@pytest.mark.parametrize("size", [0, 1, 1 << 16, (1 << 16) + 1, 1 << 17])
def test_reads_whole_files(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * (size // 256) + bytes(size % 256))
    assert LOCAL_FS.read_bytes(path) == path.read_bytes()
