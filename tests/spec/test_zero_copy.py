"""Zero copy as the operating system sees it: 000 零拷贝, 001 四. 零拷贝, 003 4、零拷贝."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support import strace
from support.blocking_wire import BlockingWire
from support.logs import batch
from support.tidelog import TidelogServer
from support.wire import fetch_request, produce_request
from tidelog.protocol.api import ApiKey
from tidelog.records.format.batch import iter_batches

BATCHES = 8
VALUE = bytes(range(256)) * 3600
READERS = 4


class Watched(TidelogServer):
    """A broker process whose reads of files are written down, perhaps with calls that fail."""

    inject: str | None = None

    @property
    def output(self) -> Path:
        return self.home / "reads"

    def command(self) -> list[str]:
        return strace.watcher(self.output, *super().command(), inject=self.inject)


@pytest.fixture
def server(tmp_path: Path) -> Watched:
    if not strace.available():
        pytest.skip("strace is missing, or may not trace here")
    return Watched(tmp_path)


def serve_readers(server: Watched) -> list[strace.Moved]:
    """Several consumers read the topic whole, at once; returns what the broker did with its `.log` files for it."""
    with server:
        pid = server.pid
        with BlockingWire(server.address, timeout=120) as wire:
            wire.create_topic("t")
            # A segment's first batch is looked at once, for the time from which its age counts: let it be small.
            for data in (batch(), *[batch([VALUE])] * BATCHES):
                answer = wire.ask(ApiKey.PRODUCE, 9, produce_request({"t": {0: data}}))
                assert answer.responses[0].partition_responses[0].error_code == 0
        with ThreadPoolExecutor(READERS) as threads:
            found = list(threads.map(lambda _: read_whole(server.address), range(READERS)))
    for records in found:
        assert [r.value for one in iter_batches(records, check_crc=True) for r in one] == [b"value", *[VALUE] * BATCHES]
    return strace.moved(server.output, pid, ".log")


def read_whole(address: str) -> bytes:
    with BlockingWire(address, timeout=120) as wire:
        request = fetch_request({"t": {0: 0}}, max_bytes=1 << 30, partition_max_bytes=1 << 30)
        return bytes(wire.ask(ApiKey.FETCH, 12, request).responses[0].partitions[0].records)


def size_of(moves: list[strace.Moved], *calls: str) -> int:
    return sum(size for call, size in moves if call in calls and size > 0)


def test_a_fetch_leaves_by_sendfile_and_its_records_are_read_by_nobody(server: Watched) -> None:
    """000 零拷贝, 001 四, 003 4: the kernel moves bytes from the file to the socket; the broker sees headers only."""
    moves = serve_readers(server)
    assert size_of(moves, "sendfile") >= READERS * BATCHES * len(VALUE)
    assert not [call for call, _ in moves if call in ("mmap", "splice", "copy_file_range")]
    assert size_of(moves, "read", "readv", "pread64", "preadv", "preadv2") < 20_000


@pytest.mark.parametrize("error", ["ENOSYS", "EINVAL"])
def test_where_there_is_no_sendfile_records_are_copied(server: Watched, error: str) -> None:
    """003 4、零拷贝: where the system, or the file's, has no sendfile, a fetch works all the same, by copying."""
    server.inject = f"sendfile:error={error}"
    moves = serve_readers(server)
    assert size_of(moves, "sendfile") == 0
    assert size_of(moves, "pread64") >= READERS * BATCHES * len(VALUE)
