"""A broker with several log directories against a model: whatever is made, deleted, made again, moved, grown, set and
written, and however the broker ends in between, each topic has its own records and no other's.

- A kill takes nothing that was acknowledged.
- A power loss may take records from a log's end, but none that was flushed (by a flush, a clean stop, or by being in a
  copy that took the place of a flushed log). What is left is a beginning of what was written.
- Topics, partitions and configs are the store's: they survive everything.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
import uvloop
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from support.disks import SLOW, broker_on, create, log_of
from support.loop import until
from support.managed_logs import all_records
from support.perishable import PerishableFileSystem
from support.wire import WireClient, batch
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey
from tidelog.testing.fs import PowerLoss, Survival

T = TypeVar("T")
DIRS = ("a", "b", "c")
#: Never deleted: what the group commits offsets of.
BASE = TopicPartition("base", 0)
OFFSETS = TopicPartition("__consumer_offsets", 0)
#: Small segments, an index entry per batch, and names that stay long enough to be found by a mistake.
CONFIGS = {"internal.segment.bytes": "600", "index.interval.bytes": "0", "file.delete.delay.ms": "60000"}
losses = st.one_of(st.sampled_from(list(Survival)), st.integers(0, 1000).map(PowerLoss))
names = st.sampled_from(["x", "y"])
#: Which of the partitions that there are.
choices = st.integers(0, 99)


class Partition:
    def __init__(self) -> None:
        self.values: list[bytes] = []
        #: How many of them a power loss must not take.
        self.flushed = 0


class DisksMachine(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="tidelog-disks-")) / "disks"
        for name in DIRS:
            (self.root / name).mkdir(parents=True)
        self.loop = uvloop.new_event_loop()
        self.partitions: dict[TopicPartition, Partition] = {}
        self.configs: dict[str, dict[str, str]] = {}
        #: What the group committed, in order; and which of it a power loss must not take.
        self.commits: list[int] = []
        self.durable_commits = 0
        self.count = 0
        self.running = False
        self.start()
        self._create("base", 1)
        self.commit()

    # -- the broker ------------------------------------------------------------------------------------------------

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(asyncio.wait_for(coroutine, 120))

    def start(self, *, slow_moves: bool = False) -> None:
        self.fs = PerishableFileSystem(self.root)
        dirs = [self.root / name for name in DIRS]
        # Small indexes: the disk double keeps its maps in memory.
        self.broker = broker_on(*dirs, fs=self.fs, log_index_size_max_bytes="4096", **(SLOW if slow_moves else {}))
        self.run(self.broker.start())
        self.running = True
        assert not self.broker.log_manager.offline_dirs

    def stop(self) -> None:
        self.running = False
        self.run(self.broker.stop())

    def end(self, loss: Survival | PowerLoss | None) -> None:
        """Kill the broker, or the machine."""
        self.fs.die()
        self.stop()
        if loss is not None:
            self.fs.lose_power(loss)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            if self.running:
                self.stop()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
            self.loop.close()
            shutil.rmtree(self.root.parent)

    async def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        host, _, port = self.broker.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            return await WireClient(reader, writer).ask(key, version, request)
        finally:
            writer.close()

    def values(self, tp: TopicPartition) -> list[bytes | None]:
        return [record.value for record in all_records(log_of(self.broker, tp))]

    def pick(self, choice: int) -> TopicPartition:
        hosted = [*sorted(self.partitions), OFFSETS]
        return hosted[choice % len(hosted)]

    # -- changes ---------------------------------------------------------------------------------------------------

    def _create(self, name: str, partitions: int) -> None:
        self.run(create(self.broker, name, partitions, CONFIGS))
        self.configs[name] = dict(CONFIGS)
        self.partitions |= {TopicPartition(name, number): Partition() for number in range(partitions)}

    @rule(name=names, partitions=st.integers(1, 2))
    def create_topic(self, name: str, partitions: int) -> None:
        if name not in self.configs:
            self._create(name, partitions)

    @rule(name=names, again=st.booleans())
    def delete_topic(self, name: str, again: bool) -> None:
        if name in self.configs:
            self.run(self.broker.controller.delete_topics([name]))
            del self.configs[name]
            self.partitions = {tp: partition for tp, partition in self.partitions.items() if tp.topic != name}
            if again:
                self._create(name, 1)

    @rule(name=names)
    def grow(self, name: str) -> None:
        count = sum(tp.topic == name for tp in self.partitions)
        if 0 < count < 3:
            self.run(self.broker.controller.create_partitions(name, count + 1, None))
            self.partitions[TopicPartition(name, count)] = Partition()

    @rule(name=names, size=st.integers(100_000, 200_000))
    def configure(self, name: str, size: int) -> None:
        if name in self.configs:
            self.configs[name]["max.message.bytes"] = str(size)
            wanted = dict(self.configs[name])
            self.run(self.broker.controller.change_topic_config(name, lambda before: wanted))

    @rule(choice=choices, count=st.integers(1, 4))
    def produce(self, choice: int, count: int) -> None:
        tp = sorted(self.partitions)[choice % len(self.partitions)]
        values = [b"%s %d" % (str(tp).encode(), self.count + n) for n in range(count)]
        self.count += count
        data = m.ProduceRequest.PartitionProduceData(
            index=tp.partition, records=batch(*values, timestamp=self.broker.clock.time_ms())
        )
        topic = m.ProduceRequest.TopicProduceData(name=tp.topic, partition_data=[data])
        request = m.ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=[topic])
        answer = self.run(self.ask(ApiKey.PRODUCE, 9, request)).responses[0].partition_responses[0]
        assert (answer.error_code, answer.base_offset) == (0, len(self.partitions[tp].values)), answer
        self.partitions[tp].values += values

    @rule()
    def commit(self) -> None:
        self.count += 1
        partition = m.OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=self.count)
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name="base", partitions=[partition])
        request = m.OffsetCommitRequest(group_id="g", topics=[topic])

        async def until_taken() -> None:
            while (code := (await self.ask(ApiKey.OFFSET_COMMIT, 7, request)).topics[0].partitions[0].error_code) != 0:
                assert code in (14, 15, 16), code  # loading, not available, not here yet
                await self.ask(ApiKey.FIND_COORDINATOR, 2, m.FindCoordinatorRequest(key="g"))

        self.run(until_taken())
        self.commits.append(self.count)

    @rule(choice=choices, to=st.sampled_from(DIRS))
    def move(self, choice: int, to: str) -> None:
        tp = self.pick(choice)
        partition = self.broker.replicas.partition(tp)
        assert partition is not None
        directory = next(d for d in self.broker.log_manager.dirs if d.path.name == to)

        async def begin() -> None:
            self.broker.movers.move(partition, directory)
            await asyncio.sleep(0.002)  # it is under way, or done, or not begun: all of that must go

        self.run(begin())

    @rule()
    def moves_end(self) -> None:
        """Unless they are slow."""
        if "replica.alter.log.dirs.io.max.bytes.per.second" not in self.broker.config.explicit_values():
            self.run(until(lambda: not self.broker.log_manager.future))

    @rule(choice=choices)
    def flush(self, choice: int) -> None:
        tp = self.pick(choice)
        log_of(self.broker, tp).flush()
        if tp == OFFSETS:
            self.durable_commits = len(self.commits)
        else:
            self.partitions[tp].flushed = len(self.partitions[tp].values)

    # -- ends ------------------------------------------------------------------------------------------------------

    @rule(slow_moves=st.booleans())
    def restart(self, slow_moves: bool) -> None:
        self.stop()
        for partition in self.partitions.values():
            partition.flushed = len(partition.values)
        self.durable_commits = len(self.commits)
        self.start(slow_moves=slow_moves)
        self.check()

    @rule(slow_moves=st.booleans())
    def kill(self, slow_moves: bool) -> None:
        self.end(None)
        self.start(slow_moves=slow_moves)
        self.check()

    @rule(loss=losses)
    def power_loss(self, loss: Survival | PowerLoss) -> None:
        self.end(loss)
        self.start()
        self.accept_losses()
        self.check()

    @rule(operations=st.integers(0, 40), loss=st.none() | losses)
    def end_in_the_middle_of_moves(self, operations: int, loss: Survival | PowerLoss | None) -> None:
        """So many changes of the disk later; moves that are slow are hurried."""
        self.fs.left = operations
        self.broker.config.apply_dynamic({}, {"replica.alter.log.dirs.io.max.bytes.per.second": str(1 << 40)})

        async def hurry() -> None:
            await self.broker.movers.stop()
            self.broker.movers.resume()
            await until(lambda: self.fs.dead or not self.broker.log_manager.future)

        self.run(hurry())
        self.end(loss)
        self.start()
        if loss is not None:
            self.accept_losses()
        self.check()

    def accept_losses(self) -> None:
        """What a power loss took is gone; it must not be what was flushed."""
        for tp, partition in self.partitions.items():
            found = self.values(tp)
            assert found == partition.values[: len(found)], tp
            assert len(found) >= partition.flushed, (tp, partition.flushed)
            del partition.values[len(found) :]
        committed = self.committed()
        kept = self.commits.index(committed) + 1 if committed >= 0 else 0
        assert kept >= self.durable_commits
        del self.commits[kept:]

    def committed(self) -> int:
        topic = m.OffsetFetchRequest.OffsetFetchRequestTopic(name="base", partition_indexes=[0])
        request = m.OffsetFetchRequest(group_id="g", topics=[topic])

        async def found() -> int:
            while True:
                answer = await self.ask(ApiKey.OFFSET_FETCH, 5, request)
                if answer.error_code == 0:
                    return int(answer.topics[0].partitions[0].committed_offset)
                assert answer.error_code in (14, 15, 16), answer
                await asyncio.sleep(0.001)

        return self.run(found())

    @rule()
    def check(self) -> None:
        manager = self.broker.log_manager
        assert self.broker.failure is None
        assert not manager.offline_dirs
        assert not manager.stray
        hosted = {tp for tp in manager.logs if tp.topic != OFFSETS.topic}
        assert hosted == self.partitions.keys(), (hosted, self.partitions.keys())
        for tp, partition in self.partitions.items():
            assert self.values(tp) == partition.values, tp
            assert log_of(self.broker, tp).high_watermark == len(partition.values)
            assert log_of(self.broker, tp).verifications.required
        for name, configs in self.configs.items():
            assert self.broker.configs.overrides(name) == configs
            size = int(configs.get("max.message.bytes", 1_048_588))
            sizes = {log_of(self.broker, tp).config.max_message_bytes for tp in self.partitions if tp.topic == name}
            assert sizes == {size}
        plain = [path.name for name in DIRS for path in (self.root / name).iterdir() if path.is_dir()]
        assert sorted(name for name in plain if "." not in name) == sorted(map(str, manager.logs))
        assert sum(name.endswith("-future") for name in plain) == len(manager.future)
        assert self.committed() == (self.commits[-1] if self.commits else -1)


TestDisks = DisksMachine.TestCase
TestDisks.settings = settings(
    max_examples=10, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)


@pytest.mark.soak
class TestDisksForLong(DisksMachine.TestCase):  # type: ignore[name-defined,misc]  # made by hypothesis
    settings = settings(
        max_examples=400, stateful_step_count=50, deadline=None, suppress_health_check=list(HealthCheck)
    )
