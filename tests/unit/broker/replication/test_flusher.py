"""`flush.messages`: an append counts as written, and is shown, when it is synced; no failed sync is tried again."""

from __future__ import annotations

import asyncio
import errno
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from support.loop import until
from support.wire import batch, connected, produce_request, run, serving
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.testing.fs import FailingFileSystem
from tidelog.testing.fs_hooks import Operation

TP = TopicPartition("t", 0)
EACH = {"flush.messages": "1"}


class SlowDisk(FailingFileSystem):
    """Syncs of segments wait until they may go on."""

    def __init__(self):
        super().__init__()
        self.go_on = threading.Event()
        self.syncs = 0

    def before(self, operation: Operation) -> None:
        if operation.kind == "sync" and operation.path.suffix == ".log":
            self.syncs += 1
            assert self.go_on.wait(60)
        super().before(operation)

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """A test that fails in here must not make the broker's stop wait for its disk."""
        try:
            yield
        finally:
            self.go_on.set()


def test_a_failed_sync_takes_the_directory_offline_and_is_not_retried(tmp_path):
    disk = FailingFileSystem()

    async def main():
        async with serving(tmp_path, fs=disk) as broker, connected(broker) as client:
            broker.create_topic("t", config=EACH)
            assert (await client.produce("t", batch(b"a"))).error_code == 0
            log = broker.log_manager.get(TP)
            assert log.recovery_point == 1
            disk.fail("sync", "*.log", errno.EIO, times=1)
            assert (await client.produce("t", batch(b"b"))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert [directory.path for directory in broker.log_manager.offline_dirs] == [tmp_path]
            assert (await client.produce("t", batch(b"c"))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert log.recovery_point == 1

    run(main())
    assert not (tmp_path / ".kafka_cleanshutdown").exists()


def test_nothing_is_acknowledged_or_shown_before_it_is_synced(tmp_path):
    disk = SlowDisk()

    async def main():
        async with (
            serving(tmp_path, fs=disk) as broker,
            connected(broker) as client,
            connected(broker) as other,
            disk.released(),
        ):
            broker.create_topic("t", config=EACH)
            first = asyncio.ensure_future(client.produce("t", batch(b"a")))
            await until(lambda: disk.syncs == 1)
            second = asyncio.ensure_future(other.produce("t", batch(b"b")))
            await until(lambda: broker.log_manager.get(TP).log_end_offset == 2)
            async with connected(broker) as reader:
                part = (await reader.fetch("t")).responses[0].partitions[0]
                assert (part.high_watermark, bytes(part.records or b"")) == (0, b"")
            assert not first.done()
            assert not second.done()
            disk.go_on.set()
            assert [(await first).base_offset, (await second).base_offset] == [0, 1]
            assert broker.replicas.partition(TP).log.high_watermark == 2

    run(main())


def test_a_retry_of_what_is_not_synced_yet_waits_as_well(tmp_path):
    disk = SlowDisk()
    data = batch(b"a", producer_id=9, producer_epoch=0, base_sequence=0)

    async def main():
        async with (
            serving(tmp_path, fs=disk) as broker,
            connected(broker) as client,
            connected(broker) as other,
            disk.released(),
        ):
            broker.create_topic("t", config=EACH)
            first = asyncio.ensure_future(client.produce("t", bytearray(data)))
            await until(lambda: disk.syncs == 1)
            again = asyncio.ensure_future(other.produce("t", bytearray(data)))
            async with connected(broker) as third:
                await third.fetch("t")  # a whole turn of requests later
            assert not again.done()
            disk.go_on.set()
            assert [(await first).base_offset, (await again).base_offset] == [0, 0]

    run(main())


def test_who_leaves_during_a_sync_leaves_only_the_waiting(tmp_path):
    disk = SlowDisk()

    async def main():
        async with serving(tmp_path, fs=disk) as broker, disk.released():
            broker.create_topic("t", config=EACH)
            async with connected(broker) as client:
                client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"a")}}))
                await until(lambda: disk.syncs == 1)
            log = broker.log_manager.get(TP)
            assert log.recovery_point == 0
            disk.go_on.set()
            await until(lambda: log.recovery_point == 1)
            assert log.flush_job() is None, "nothing is forgotten and nothing left"

    run(main())
    assert (tmp_path / "t-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert (tmp_path / ".kafka_cleanshutdown").exists()


def test_what_an_unclean_start_finds_is_shown_at_once(tmp_path):
    each = {"log.flush.interval.messages": "1"}

    async def write():
        async with serving(tmp_path, each) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a", b"b"))

    async def start():
        async with serving(tmp_path, each) as broker, connected(broker) as client:
            broker.create_topic("t")
            log = broker.log_manager.get(TP)
            assert (log.recovery_point, log.high_watermark) == (0, 2), "it has been acknowledged before"
            assert (await client.produce("t", batch(b"c"))).base_offset == 2
            assert (log.recovery_point, log.high_watermark) == (3, 3)

    run(write())
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint", "replication-offset-checkpoint"):
        (tmp_path / name).unlink()
    (tmp_path / "t-0" / "partition.metadata").unlink()  # the topic is made by hand, under another id
    run(start())
