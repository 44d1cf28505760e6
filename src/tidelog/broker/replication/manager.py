"""Every partition that this broker hosts: made, given its role, found, and given up.

The controller decides and calls `apply_leader_and_isr` and `stop_replicas` (by way of `control_requests.py`); handlers
and coordinators ask for partitions. Making a new partition's files takes a millisecond on an ordinary file system;
those of a large topic may be announced (`expect`) instead: each is made when somebody asks for it, the others in
passing.

Its parts are reached by name: `waking` tells those who wait, `appends` is what a producer waits for, `flusher` syncs.
Everything here runs on the event loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from tidelog.broker import config as keys
from tidelog.broker.metadata.images import PartitionState
from tidelog.broker.replication.appends import Appends
from tidelog.broker.replication.committed_reads import committed_batches
from tidelog.broker.replication.flusher import Flusher
from tidelog.broker.replication.hosted import HostedPartitions
from tidelog.broker.replication.isr_changes import AlterIsr, IsrChanges
from tidelog.broker.replication.waking import Waking
from tidelog.common.errors import ErrorCode, KafkaError, StorageError
from tidelog.common.types import INTERNAL_TOPICS, NO_EPOCH, TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.directory.log_dir import LogDir
from tidelog.net.pauses import breathe

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.metadata.topic_configs import TopicConfigs
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.fetcher import Fetchers
    from tidelog.broker.replication.partition import Partition
    from tidelog.common.clock import Clock
    from tidelog.log.manager.manager import LogManager
    from tidelog.log.partition.partition_log import PartitionLog

logger = logging.getLogger("tidelog.replication")

#: Runs a task that must not die: its failure is the broker's.
Spawn = Callable[[str, Coroutine[Any, Any, None]], "asyncio.Task[None]"]
LeadershipCallback = Callable[[TopicPartition, "int | None"], None]
#: How many expected partitions are made between two breaths of the event loop.
MAKE_CHUNK = 8


class ReplicaManager:
    def __init__(
        self,
        *,
        node_id: int,
        config: BrokerConfig,
        topic_configs: TopicConfigs,
        logs: LogManager,
        metadata: MetadataCache,
        purgatories: Purgatories,
        alter_isr: AlterIsr,
        fetchers: Fetchers,
        clock: Clock,
        spawn: Spawn,
    ) -> None:
        self.node_id = node_id
        self._config = config
        self._topic_configs = topic_configs
        self._logs = logs
        self._metadata = metadata
        self._clock = clock
        self._spawn = spawn
        self._fetchers = fetchers
        self._hosted = HostedPartitions()
        self._partitions = self._hosted.partitions
        #: Roles in partitions that are yet to be made.
        self._expected: dict[TopicPartition, PartitionState] = {}
        self._making: asyncio.Task[None] | None = None
        self._leadership: list[LeadershipCallback] = []
        self._changes: list[Callable[[], None]] = []
        self.flusher = Flusher(logs)
        self.waking = Waking(purgatories)
        self.appends = Appends(self.flusher, self.waking, purgatories)
        self._isr_changes = IsrChanges(
            alter=alter_isr,
            partitions=self._partitions.values,
            on_changed=self._on_isr_changed,
            config=config,
            clock=clock,
            timer=purgatories.timer,
        )
        logs.on_dir_failure(self._on_dir_failure)
        config.on_change(self._on_config)

    # -- looking up --------------------------------------------------------------------------------------------------

    def partition(self, tp: TopicPartition) -> Partition | None:
        return self._partitions.get(tp) or self._made(tp)

    def partitions(self) -> Iterable[Partition]:
        return self._partitions.values()

    def topic(self, name: str) -> dict[int, Partition]:
        """The hosted partitions of a topic, by number."""
        return self._hosted.topic(name)

    def topic_name(self, topic_id: bytes) -> str | None:
        """The name of a topic of which a partition is hosted here."""
        return self._hosted.topic_name(topic_id)

    def hosted(self, topic: str) -> list[TopicPartition]:
        return [partition.tp for partition in self.topic(topic).values()]

    def partition_or_error(self, tp: TopicPartition) -> Partition | ErrorCode:
        """The hosted partition, or what to answer: it fails to be here, or anywhere."""
        partition = self.partition(tp)
        if partition is not None:
            return ErrorCode.KAFKA_STORAGE_ERROR if partition.offline else partition
        if self._hosted.is_offline(tp):
            return ErrorCode.KAFKA_STORAGE_ERROR
        known = self._metadata.partition(tp) is not None
        return ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def leader_or_error(self, tp: TopicPartition, current_leader_epoch: int = NO_EPOCH) -> Partition | ErrorCode:
        """The partition if this broker leads it in that epoch (-1: any)."""
        partition = self.partition_or_error(tp)
        if isinstance(partition, ErrorCode):
            return partition
        return partition.check_leader(current_leader_epoch) or partition

    # -- what the controller decides ---------------------------------------------------------------------------------

    def apply_leader_and_isr(self, states: Sequence[PartitionState]) -> dict[TopicPartition, ErrorCode]:
        """Take on the roles; answers the partitions that could not, with the reason.

        What is older than what is known here is refused and changes nothing: messages may come late, or twice.
        """
        failures: dict[TopicPartition, ErrorCode] = {}
        for state in states:
            if (refusal := self._outdated(state)) is not None:
                logger.warning("%s: what the controller says is out of date: %s", state.tp, refusal)
                failures[state.tp] = refusal.code
                continue
            try:
                self._apply(state)
            except KafkaError as error:
                logger.error("%s could not be opened: %s", state.tp, error)
                failures[state.tp] = error.code
                self._hosted.set_offline(state.tp)
        self._changed()
        return failures

    def expect(self, states: Sequence[PartitionState]) -> None:
        """Take on the roles in new partitions, but make those later: when asked for them, or as time allows."""
        self._expected.update((state.tp, state) for state in states if self._outdated(state) is None)
        if self._making is None or self._making.done():
            self._making = self._spawn("make-partitions", self._make_expected())

    async def _make_expected(self) -> None:
        while self._expected:
            chunk = list(islice(self._expected.values(), MAKE_CHUNK))
            self.apply_leader_and_isr(chunk)
            for state in chunk:  # also what was refused: it is not tried again
                self._expected.pop(state.tp, None)
            await breathe()

    def _made(self, tp: TopicPartition) -> Partition | None:
        """An expected partition, made now."""
        state = self._expected.get(tp)
        if state is not None:
            self.apply_leader_and_isr([state])
        return self._partitions.get(tp)

    def _outdated(self, state: PartitionState) -> KafkaError | None:
        """Why a role is not to be taken on: it belongs to a time, or to a topic, that is not the present one.

        Within a leader epoch the partition epoch decides: a leader that changed its in-sync set knows of it by the
        answer, which may overtake a message that the controller sent before.
        """
        known = self._partitions.get(state.tp) or self._expected.get(state.tp)
        if known is None:
            return None
        if state.topic_id != known.topic_id:
            return KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, "another topic of that name is hosted here")
        now = (known.leader_epoch, known.partition_epoch)
        if (state.leader_epoch, state.partition_epoch) < now:
            return KafkaError(ErrorCode.STALE_CONTROLLER_EPOCH, f"epochs {now} are known")
        return None

    def _apply(self, state: PartitionState) -> None:
        tp = state.tp
        self._expected.pop(tp, None)
        partition = self._partitions.get(tp)
        if partition is None:
            from tidelog.broker.replication.partition import Partition  # what a broker with no partitions goes without

            log = self._log_of(state)
            partition = Partition(
                tp, state.topic_id, log, self.node_id, self._clock, self._fetchers, self._on_disk_failure
            )
            self._equip(partition, log)
            self._hosted.add(partition)
        if len(state.replicas) > 1:
            self._isr_changes.watch()
        if partition.become(state):
            self._tell_leadership(tp, state.leader_epoch if partition.is_leader else None)
        self.waking.on_moved(partition)

    def _log_of(self, state: PartitionState) -> PartitionLog:
        """The partition's log, made if it is new. Raises KafkaError."""
        manager, tp = self._logs, state.tp
        log = manager.get(tp)
        if log is None:
            if manager.offline_dirs and not state.is_new:
                raise StorageError(f"{tp} is in none of the log directories that serve; it may lie in an offline one")
            return manager.create(tp, self._topic_configs.log_config(tp.topic), state.topic_id)
        if log.topic_id is None:  # made before topic ids
            log.assign_topic_id(state.topic_id)
        elif log.topic_id != state.topic_id:
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{log.dir} belongs to another topic of that name")
        return log

    def _equip(self, partition: Partition, log: PartitionLog) -> None:
        """Give a partition its log, and the log everything that is set from outside: it may just have been loaded, or
        copied from another directory while the settings changed."""
        if log is not partition.log:
            log.verifications.take_over(partition.log.verifications)
        partition.log = log
        self._set_verification(partition)
        config = self._topic_configs.log_config(partition.tp.topic)
        if log.config is not config:
            partition.update_config(config)

    def _set_verification(self, partition: Partition) -> None:
        """Whether a client's transactional writes are verified; the coordinators verify those to their own topics."""
        wanted = self._config[keys.TRANSACTION_PARTITION_VERIFICATION_ENABLE]
        partition.log.verifications.required = wanted and partition.tp.topic not in INTERNAL_TOPICS

    def _on_config(self, names: frozenset[str]) -> None:
        if keys.TRANSACTION_PARTITION_VERIFICATION_ENABLE.name in names:
            for partition in self._partitions.values():
                self._set_verification(partition)

    def stop_replicas(self, tps: Iterable[TopicPartition], *, delete: bool) -> dict[TopicPartition, ErrorCode]:
        """Host these partitions no more; `delete` also gives up their logs."""
        failures: dict[TopicPartition, ErrorCode] = {}
        wanted = list(tps)
        hosted = [tp for tp in wanted if self._forget(tp) is not None]
        if delete:
            try:
                self._logs.delete_many(wanted)
            except KafkaError as error:
                failures = dict.fromkeys(wanted, error.code)
        for tp in hosted:
            self.waking.wake(tp)
        self._changed()
        return failures

    def _forget(self, tp: TopicPartition) -> Partition | None:
        self._expected.pop(tp, None)
        partition = self._hosted.remove(tp)
        if partition is None:
            return None
        partition.resign()
        self._tell_leadership(tp, None)
        return partition

    def replace_log(self, tp: TopicPartition, log: PartitionLog) -> None:
        """The replica was moved to another directory: this is its log from now on."""
        partition = self._partitions.get(tp)
        if partition is not None:
            self._equip(partition, log)
            self._changed()
            self.waking.on_moved(partition)

    def update_topic_config(self, topic: str, config: LogConfig) -> None:
        for partition in self.topic(topic).values():
            partition.update_config(config)
        self._changed()

    def _on_disk_failure(self, partition: Partition, error: StorageError) -> None:
        """An append failed: its log directory goes offline, and the log manager calls `_on_dir_failure`."""
        cause = error.__cause__ if isinstance(error.__cause__, OSError) else OSError(str(error))
        manager = self._logs
        manager.fail_dir(manager.dir_of(partition.log), cause)

    def _on_dir_failure(self, directory: LogDir, tps: Iterable[TopicPartition]) -> None:
        """A log directory is offline: its partitions answer KAFKA_STORAGE_ERROR."""
        for tp in tps:
            partition = self._forget(tp)
            if partition is not None:
                partition.offline = True
                self.waking.wake(tp)
            self._hosted.set_offline(tp)
        self._changed()

    def shutdown(self) -> None:
        """Lead nothing any more; the logs belong to the log manager."""
        self._expected.clear()
        self._isr_changes.stop()
        for partition in list(self._partitions.values()):
            self._forget(partition.tp)
            self.waking.wake(partition.tp)
        self._changed()

    # -- callbacks ---------------------------------------------------------------------------------------------------

    def on_leadership(self, callback: LeadershipCallback) -> None:
        """Have `callback(tp, leader_epoch)` called on becoming leader, `callback(tp, None)` on ceasing to be."""
        self._leadership.append(callback)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Have `callback()` called when roles or configs changed: what was derived from them is stale."""
        self._changes.append(callback)

    def _changed(self) -> None:
        for callback in self._changes:
            callback()

    def _tell_leadership(self, tp: TopicPartition, epoch: int | None) -> None:
        for callback in self._leadership:
            callback(tp, epoch)

    def _on_isr_changed(self, partition: Partition) -> None:
        self._changed()
        self.waking.on_moved(partition)

    # -- followers and coordinators ----------------------------------------------------------------------------------

    def on_follower_fetch(self, partition: Partition, node: int, offset: int, log_start_offset: int) -> bool:
        """A follower has everything before `offset`; whether the high watermark moved by that."""
        moved = partition.on_follower_fetch(node, offset, log_start_offset, self._clock.monotonic())
        self._isr_changes.on_fetch(partition, node)
        if moved:
            self.waking.on_moved(partition)
        else:
            self.waking.on_log_start_moved(partition.tp)
        return moved

    def read_committed_batches(self, tp: TopicPartition, start: int | None = None) -> Iterator[bytes]:
        """Everything up to the high watermark, in chunks of whole batches: what a coordinator loads."""
        partition = self.leader_or_error(tp)
        if isinstance(partition, ErrorCode):
            raise KafkaError(partition)
        return committed_batches(partition.log, start)
