"""Both coordinators on parts that are handed in by name, in a time that is moved by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from support.coordinator import ManualScheduler
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.coordinator import sweep
from tidelog.broker.coordinator.coordinators import Coordinators
from tidelog.broker.coordinator.result import Result
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.peers.connections import PeerConnections
from tidelog.broker.purgatory.purgatories import Purgatories
from tidelog.common.errors import ErrorCode
from tidelog.common.rng import seeded_rng
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.protocol.messages import OffsetCommitRequest
from tidelog.testing.clock import ManualClock

DAY_MS = 86_400_000


class EmptyReplicas:
    """Leads what it is told to, and has nothing in its logs; what is written to them is lost."""

    def __init__(self) -> None:
        self.elect = lambda tp, epoch: None

    def on_leadership(self, callback) -> None:
        self.elect = callback

    def partitions(self) -> list:
        return []

    def partition(self, tp: TopicPartition) -> None:
        return None

    def read_committed_batches(self, tp: TopicPartition) -> Iterator[bytes]:
        return iter(())

    def leader_or_error(self, tp: TopicPartition) -> ErrorCode:
        return ErrorCode.NONE


class Parts:
    def __init__(self) -> None:
        self.clock = ManualClock()
        self.scheduler = ManualScheduler(self.clock)
        self.replicas = EmptyReplicas()
        metadata = MetadataCache()
        topics = [GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC]
        images = [
            TopicImage(name, bytes(16), [PartitionState(name, 0, bytes(16), 1, 0, (1,), (1,))], True) for name in topics
        ]
        metadata.update(UpdateMetadata(1, 1, [], images))
        self.coordinators = Coordinators(
            node_id=1,
            config=BrokerConfig({"log.dirs": "unused", "listeners": "PLAINTEXT://127.0.0.1:0"}),
            group_configs={},
            metadata=metadata,
            replicas=self.replicas,
            purgatories=Purgatories(self.clock, self.scheduler),
            peers=PeerConnections(metadata, "PLAINTEXT", "test"),
            next_producer_id=None,
            clock=self.clock,
            rng=seeded_rng(1),
            scheduler=self.scheduler,
        )
        self.coordinators.start()
        for topic in topics:
            self.replicas.elect(TopicPartition(topic, 0), 0)

    async def advance(self, ms: int) -> None:
        """Let time pass, and whatever it starts on the loop come to its end."""
        self.scheduler.advance(ms)
        for _ in range(10):
            await asyncio.sleep(0)
            self.scheduler.run()


def test_offsets_expire_when_the_clock_is_moved() -> None:
    async def main() -> None:
        parts = Parts()
        machine = parts.coordinators.group.runtime.shard_for("g").machine
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topic = OffsetCommitRequest.OffsetCommitRequestTopic(name="t", partitions=[partition])
        for record in machine.commit(OffsetCommitRequest(group_id="g", topics=[topic]), 9).records:
            machine.replay(record)
        await parts.advance(6 * DAY_MS)
        assert machine.state.offsets.get("g", ("t", 0)) is not None
        await parts.advance(DAY_MS + 600_000)  # offsets.retention.minutes, and the interval of the look-out
        assert machine.state.offsets.get("g", ("t", 0)) is None
        await parts.coordinators.stop()

    asyncio.run(main())


@pytest.mark.parametrize("cause", ["offsets expire", "ids expire", "a topic is deleted"])
def test_what_walks_over_everything_gives_way_in_between(monkeypatch: pytest.MonkeyPatch, cause: str) -> None:
    """Each look at all groups or ids is taken in slices; the requests of others come in between."""
    monkeypatch.setattr(sweep, "SLICE", 2)
    names = [f"n{number}" for number in range(5)]
    looks: list[list[str]] = []

    async def main() -> None:
        parts = Parts()
        coordinators = parts.coordinators
        group = coordinators.group.runtime.shard_for("g").machine
        transaction = coordinators.transaction.runtime.shard_for("t").machine
        monkeypatch.setattr(type(group.state.offsets), "group_ids", names)
        monkeypatch.setattr(group.state, "groups", dict.fromkeys(names))
        monkeypatch.setattr(transaction, "transactions", dict.fromkeys(names))

        def look(some: list[str] | None = None) -> Result:
            looks.append(names if some is None else some)
            return Result()

        monkeypatch.setattr(group, "expire_offsets", look)
        monkeypatch.setattr(group, "forget_topics", lambda topics, some=None, now=0: look(some))
        monkeypatch.setattr(transaction, "expire_ids", look)
        if cause == "offsets expire":
            coordinators._expire_offsets()
        elif cause == "ids expire":
            coordinators._expire_ids()
        else:
            coordinators._on_topics([], [TopicImage("t", bytes(16), [], False)])
        await parts.advance(0)
        await coordinators.stop()

    asyncio.run(main())
    assert [len(look) for look in looks] == [2, 2, 1]
    assert [name for look in looks for name in look] == names


def test_the_wait_for_markers_ends_when_the_clock_is_moved() -> None:
    async def main() -> None:
        parts = Parts()
        waiting = asyncio.ensure_future(parts.coordinators.transaction._markers_written("copier"))
        await asyncio.sleep(0)
        await parts.advance(50)
        assert not waiting.done()
        await parts.advance(51)
        await waiting
        await parts.coordinators.stop()

    asyncio.run(main())


def test_nothing_recurs_after_the_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        parts = Parts()
        await parts.coordinators.stop()
        monkeypatch.setattr(parts.coordinators, "_run", begun.append)
        await parts.advance(8 * DAY_MS)

    begun: list[object] = []
    asyncio.run(main())
    assert not begun, "sweeps after the stop"
