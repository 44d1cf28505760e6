"""All shards of one internal topic on this broker: one per partition that this broker leads.

`on_elected` starts loading a shard, `on_resigned` drops it. A request names its key (group or transactional id); the
runtime finds the shard, or the error that Kafka gives in its place. All three are retriable, and tell the client what
to do first:

    NOT_COORDINATOR                this broker does not lead the key's partition: ask FindCoordinator again
    COORDINATOR_LOAD_IN_PROGRESS   it does, and replays it at the moment: stay, and try again
    COORDINATOR_NOT_AVAILABLE      the internal topic does not exist yet, or the coordinator is stopped

The coordinator of a key is the leader of the partition that the key hashes to (`abs(javaHash(key)) mod n`), with the
topic's number of partitions as it is now. Changing that number would move groups away from their offsets, which is why
Kafka warns against it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from tidelog.broker.coordinator.ports import MachineFactory, PartitionWriter
from tidelog.broker.coordinator.records import RecordCodec
from tidelog.broker.coordinator.result import Result
from tidelog.broker.coordinator.shard import Shard, ShardState
from tidelog.common.clock import Clock
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.hashing import partition_for_id
from tidelog.common.scheduler import Scheduler
from tidelog.common.types import TopicPartition

logger = logging.getLogger(__name__)

#: How long after a failed append the shard is loaded again; each load that fails, too, doubles it, up to a minute.
RELOAD_DELAY_SECONDS = 0.1
LONGEST_RELOAD_DELAY_SECONDS = 60.0
#: How many names are remembered with their partitions.
HASHED_NAMES = 1 << 14

Done = Callable[[Any, KafkaError | None], None]


class Runtime:
    """The shards of one internal topic."""

    def __init__(
        self,
        topic: str,
        *,
        factory: MachineFactory,
        codec: RecordCodec,
        writer: PartitionWriter,
        scheduler: Scheduler,
        clock: Clock,
        partitions: Callable[[], int | None],
    ) -> None:
        self.topic = topic
        self.shards: dict[int, Shard] = {}
        self._factory = factory
        self._codec = codec
        self._writer = writer
        self._scheduler = scheduler
        self._clock = clock
        self._partitions = partitions
        self._running = True
        self._failed_loads: dict[int, int] = {}
        self._hashed: dict[str, int] = {}  # hashing a name takes longer than the rest of the way to its shard
        self._hashed_for = 0

    # -- leadership ------------------------------------------------------------------------------------------------

    def on_elected(self, partition: int, epoch: int) -> None:
        """This broker leads the partition from `epoch` on: load its shard, unless all of them have been stopped."""
        if not self._running:
            return
        present = self.shards.get(partition)
        if present is not None:
            if present.epoch >= epoch:
                return
            present.close()
        self._failed_loads.pop(partition, None)
        self._start(partition, epoch)

    def on_resigned(self, partition: int, epoch: int | None = None) -> None:
        """This broker does not lead the partition any more."""
        shard = self.shards.get(partition)
        if shard is not None and (epoch is None or shard.epoch <= epoch):
            del self.shards[partition]
            shard.close()

    def _start(self, partition: int, epoch: int) -> None:
        """A new shard, loading. The load counts as failed until it has succeeded: one that throws, or is dropped, is
        seen alike.
        """
        shard = Shard(
            TopicPartition(self.topic, partition),
            epoch,
            factory=self._factory,
            codec=self._codec,
            writer=self._writer,
            scheduler=self._scheduler,
            clock=self._clock,
            on_failed=self._reload,
        )
        self.shards[partition] = shard
        self._failed_loads[partition] = self._failed_loads.get(partition, -1) + 1  # until it is loaded
        shard.load(self._loaded)

    def _loaded(self, shard: Shard) -> None:
        del self._failed_loads[shard.tp.partition]
        logger.debug("loaded %s at epoch %d", shard.tp, shard.epoch)

    def _reload(self, failed: Shard) -> None:
        """An append or a load failed: try again after a while, as long as nobody else has taken the partition
        meanwhile. The delay doubles with each load that fails, so that a record that cannot be replayed does not keep
        the broker busy.
        """
        partition = failed.tp.partition

        def restart() -> None:
            if self._running and self.shards.get(partition) is failed:
                self._start(partition, failed.epoch)

        if self.shards.get(partition) is failed:
            delay = RELOAD_DELAY_SECONDS * 2.0 ** min(self._failed_loads.get(partition, 0), 10)
            self._scheduler.call_later(min(delay, LONGEST_RELOAD_DELAY_SECONDS), restart)

    def stop(self) -> None:
        """No request finds a shard from now on; those that wait are sent to look for another coordinator."""
        self._running = False
        for partition in list(self.shards):
            self.on_resigned(partition)

    # -- requests --------------------------------------------------------------------------------------------------

    def partition_for(self, key: str) -> int:
        """The internal-topic partition of a group or transactional id."""
        count = self._partitions()
        if count is None or not self._running:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if count != self._hashed_for or len(self._hashed) >= HASHED_NAMES:
            self._hashed.clear()
            self._hashed_for = count
        partition = self._hashed.get(key)
        if partition is None:
            partition = self._hashed[key] = partition_for_id(key, count)
        return partition

    def shard_for(self, key: str) -> Shard:
        """The active shard of the key, or the KafkaError that says why there is none here."""
        return self.active(self.partition_for(key))

    def active(self, partition: int) -> Shard:
        """The shard of a partition, if it can serve."""
        shard = self.shards.get(partition)
        if shard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        if shard.state is not ShardState.ACTIVE:  # loading, or about to be loaded again
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return shard

    def write(self, key: str, handler: Callable[[Any], Result | None], done: Done) -> None:
        """Run a handler on the key's shard; errors of finding it go to `done` too."""
        try:
            shard = self.shard_for(key)
        except KafkaError as error:
            done(None, error)
            return
        shard.write(handler, done)

    def read(self, key: str, handler: Callable[[Any], Any], done: Done) -> None:
        """Ask the key's shard; the answer waits for what was written before."""
        self.write(key, lambda machine: Result(response=handler(machine)), done)

    def active_shards(self) -> Iterator[Shard]:
        """Those that can serve now; a copy, as a shard may come or go while its caller waits."""
        return (shard for shard in list(self.shards.values()) if shard.state is ShardState.ACTIVE)

    @property
    def loading(self) -> bool:
        """Whether any shard is being loaded."""
        return any(shard.state is ShardState.LOADING for shard in self.shards.values())
