"""With `flush.messages` nothing that a coordinator promises is in the page cache alone: commits, offsets, markers."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from support.patience import eventually
from tidelog.broker import background
from tidelog.testing import Broker
from tidelog.testing.fs import FailingFileSystem
from tidelog.testing.fs_hooks import Operation

EACH = {"log.flush.interval.messages": "1"}


class CountingDisk(FailingFileSystem):
    """Knows which segments hold bytes that were not synced."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self.written_to: set[Path] = set()
        self.dirty: set[Path] = set()

    def after(self, operation: Operation) -> None:
        super().after(operation)
        if operation.path.suffix != ".log":
            return
        with self._lock:
            if operation.kind == "write":
                self.written_to.add(operation.path)
                self.dirty.add(operation.path)
            elif operation.kind == "sync":
                self.dirty.discard(operation.path)

    def topics(self, paths: set[Path]) -> set[str]:
        return {path.parent.name.rpartition("-")[0] for path in paths}


@pytest.fixture(autouse=True)
def nobody_else_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The background would sync in passing what an append has left."""
    monkeypatch.setattr(background, "FLUSH_SECONDS", 3600.0)


def wait_clean(disk: CountingDisk) -> None:
    """The markers of a transaction are written after its end was answered: they may be on their way."""
    eventually(lambda: disk.dirty, lambda dirty: not dirty, seconds=30)


def test_a_committed_transaction_and_its_offsets_are_synced(tmp_path: Path) -> None:
    disk = CountingDisk()
    with Broker(tmp_path, config=EACH, fs=disk) as broker:
        broker.create_topic("t")
        settings = {"bootstrap.servers": broker.address}
        group = Consumer({**settings, "group.id": "g"})
        producer = Producer({**settings, "transactional.id": "x", "linger.ms": 0})
        producer.init_transactions(60)
        assert not disk.dirty
        for committed in (True, False):
            producer.begin_transaction()
            producer.produce("t", b"in it", partition=0)
            producer.send_offsets_to_transaction([TopicPartition("t", 0, 1)], group.consumer_group_metadata(), 60)
            assert not disk.topics(disk.dirty) - {"t"}, "offsets and partitions of a transaction are acknowledged"
            (producer.commit_transaction if committed else producer.abort_transaction)(60)
            wait_clean(disk)
        assert disk.topics(disk.written_to) == {"t", "__consumer_offsets", "__transaction_state"}
        group.close()


def test_a_committed_offset_is_synced_and_a_failed_sync_is_told(tmp_path: Path) -> None:
    disk = CountingDisk()
    with Broker(tmp_path / "a", config={**EACH, "log.dirs": f"{tmp_path}/a,{tmp_path}/b"}, fs=disk) as broker:
        broker.create_topic("t")
        consumer = Consumer({"bootstrap.servers": broker.address, "group.id": "g", "enable.auto.commit": False})
        position = [TopicPartition("t", 0, 5)]
        consumer.commit(offsets=position, asynchronous=False)
        assert not disk.dirty
        assert disk.topics(disk.written_to) == {"__consumer_offsets"}
        disk.fail("sync", "__consumer_offsets-*.log", errno.EIO, times=1)
        with pytest.raises(KafkaException):
            consumer.commit(offsets=position, asynchronous=False)
        assert len(broker.server.log_manager.offline_dirs) == 1
        consumer.close()
