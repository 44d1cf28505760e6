"""The seams of the coordinators onto the broker: the log of the internal topics, and the view of all topics.

A coordinator's append is one with acks=all: it counts when every replica in sync has it, and is refused when fewer than
`min.insync.replicas` are. There is no producer whose sequence numbers would show a duplicate; it is not needed, since a
shard that does not know what became of an append reads the log again before it goes on.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from tidelog.broker.coordinator.metadata import TopicView
from tidelog.broker.replication.partition import Partition
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_EPOCH, TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin
from tidelog.records.format.attributes import MAGIC_V2
from tidelog.records.kernel._batches import BatchRun

if TYPE_CHECKING:
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager

logger = logging.getLogger(__name__)

Done = Callable[[ErrorCode], None]


class ReplicaWriter:
    """A `PartitionWriter` over the replica manager. A broker alone commits as it appends: `done` comes at once."""

    def __init__(self, replicas: ReplicaManager, purgatories: Purgatories, timeout_ms: int) -> None:
        self._replicas = replicas
        self._purgatories = purgatories
        self._timeout_ms = timeout_ms
        self._waiting: set[asyncio.Task[None]] = set()

    def append(self, tp: TopicPartition, epoch: int, batch: bytes, done: Done, *, transaction_version: int = 0) -> None:
        """Append a batch of a shard, or a marker. With `epoch` NO_EPOCH: whichever leader epoch is current (a marker
        may be written by any leader). Else the epoch that the shard was loaded in: if leadership went away and came
        back, another shard has been loaded since, and this one must not write any more.

        The batch is this broker's own, so it is not validated as a client's would be.
        """
        replicas = self._replicas
        partition = replicas.leader_or_error(tp)
        if isinstance(partition, ErrorCode):
            done(partition)
            return
        if epoch not in (NO_EPOCH, partition.leader_epoch):
            done(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            return
        try:
            partition.require_min_isr()
            if partition.rules.magic < MAGIC_V2:  # markers: coordinators' own topics are never of an old format
                raise KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
            run = BatchRun(bytearray(batch))
            run.scan()
            info = partition.append_checked(run, AppendOrigin.COORDINATOR, transaction_version=transaction_version)
        except KafkaError as error:
            done(error.code)
            return
        code: ErrorCode | None = None
        if not info.flush_required:
            if self._purgatories.anyone_waits:  # hardly ever: nobody reads these topics
                with self._purgatories.completions.later():  # a shard is at work: it can take no other request now
                    replicas.waking.on_moved(partition)
            code = partition.committed(info.last_offset + 1)
        if code is None:
            self._wait(partition, info, done)
        else:
            done(code)

    def _wait(self, partition: Partition, info: AppendInfo, done: Done) -> None:
        """For `flush.messages`, and then for the other replicas. Whatever comes of it, `done` is called: a shard that
        never hears of an append would keep all its clients waiting.
        """
        replicas = self._replicas

        async def wait() -> None:
            try:
                if info.flush_required:
                    await replicas.appends.written(partition, info)
                required = {partition.tp: (partition, info.last_offset + 1)}
                codes = await replicas.appends.commit_codes(required, self._timeout_ms)
            except KafkaError as error:
                done(error.code)
            except Exception:
                logger.exception("%s: waiting for an append failed", partition.tp)
                done(ErrorCode.UNKNOWN_SERVER_ERROR)
            else:
                done(codes.get(partition.tp, ErrorCode.UNKNOWN_SERVER_ERROR))

        task = asyncio.get_running_loop().create_task(wait())
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def read_all(self, tp: TopicPartition) -> Iterator[bytes]:
        """What is committed; a leader that has just been elected may have more, of which nobody was told."""
        return self._replicas.read_committed_batches(tp)

    def max_batch_bytes(self, tp: TopicPartition) -> int:
        """`max.message.bytes` of the topic as it is now; Kafka's default while nothing is known of it."""
        partition = self._replicas.partition(tp)
        return 1 << 20 if partition is None else partition.log.config.max_message_bytes

    async def stop(self) -> None:
        """Give up waiting. Who waits for these appends has been told by its shard, which is closed by now."""
        for task in list(self._waiting):
            task.cancel()
        await asyncio.gather(*self._waiting, return_exceptions=True)


class CacheView:
    """A `MetadataView` of the broker's metadata cache. `version` grows with every change of any topic, so that a
    consumer group sees at one glance whether it has to look at its subscriptions again.
    """

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    @property
    def version(self) -> int:
        return self._cache.version

    def topic(self, name: str) -> TopicView | None:
        image = self._cache.topics.get(name)
        return None if image is None else TopicView(name, image.topic_id, len(image.partitions))

    def topic_by_id(self, topic_id: bytes) -> TopicView | None:
        """A topic id outlives its name: None once the topic is gone, also if another one has its name now."""
        name = self._cache.topic_name(topic_id)
        return None if name is None else self.topic(name)

    def topic_names(self) -> Collection[str]:
        return self._cache.topics.keys()
