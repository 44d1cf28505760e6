"""The coordinators' way to the log."""

from __future__ import annotations

from support.disks import create
from support.loop import async_test, until
from tidelog.broker.coordinator.wiring import ReplicaWriter
from tidelog.broker.purgatory.delayed import DelayedOperation
from tidelog.broker.server import Broker
from tidelog.common.errors import ErrorCode
from tidelog.common.types import NO_EPOCH, TopicPartition
from tidelog.records.format.builder import BatchBuilder


class Reader(DelayedOperation):
    """Waits for anything at all."""

    __slots__ = ("answered",)

    def __init__(self) -> None:
        super().__init__()
        self.answered = False

    def is_satisfied(self, key=None):
        return key is not None

    def on_complete(self):
        self.answered = True


@async_test
async def test_who_reads_what_a_coordinator_writes_is_answered_when_that_has_finished(tmp_path):
    """The answer may bring the reader's next request, which may be one for the shard that is just at work."""
    values = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)}
    async with Broker(values) as broker:
        await create(broker, "t")
        tp = TopicPartition("t", 0)
        reader = Reader()
        assert not broker.purgatories.fetch.try_or_watch(reader, [tp], 600_000)
        builder = BatchBuilder()
        builder.append(0, b"k", b"v")
        answers = []
        writer = ReplicaWriter(broker.replicas, broker.purgatories, 1000)
        writer.append(tp, NO_EPOCH, builder.build(), answers.append)
        assert answers == [ErrorCode.NONE]
        assert reader.completed
        assert not reader.answered
        await until(lambda: reader.answered)
