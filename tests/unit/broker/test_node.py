"""A node without sockets, on a loop with virtual time: hours of its life in a second, and the same ones each time."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from contextvars import Context
from pathlib import Path
from typing import Any

import pytest

from support.appending import append
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.node import BrokerCore
from tidelog.broker.store import paths
from tidelog.broker.store.errors import NodeExistsError
from tidelog.broker.store.local import LocalStore
from tidelog.common.errors import KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.protocol.messages import OffsetCommitRequest
from tidelog.records.format.builder import BatchBuilder
from tidelog.testing.clock import LoopClock
from tidelog.testing.loop import VirtualLoop

MINUTE, HOUR = 60.0, 3600.0
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
CONFIG = {
    "listeners": "PLAINTEXT://sim:9092",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.retention.minutes": "120",
    "log.cleaner.dedupe.buffer.size": "1048576",
    # What else recurs, seldom: each checkpoint is synced to a real disk.
    "replica.high.watermark.checkpoint.interval.ms": "1800000",
    "log.flush.offset.checkpoint.interval.ms": "1800000",
    "log.cleaner.backoff.ms": "1800000",
    "transaction.partition.verification.enable": "false",  # what Produce asks the coordinator first
}
Event = tuple[float, str]


class TracedLoop(VirtualLoop):
    """Notes what is to be run, in order: when it was asked for, and what it is."""

    def __init__(self) -> None:
        super().__init__()
        self.trace: list[Event] = []

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> asyncio.Handle:
        self.trace.append((self.time(), _name(callback)))
        return super().call_soon(callback, *args, context=context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> asyncio.TimerHandle:
        self.trace.append((self.time(), f"{_name(callback)} at {when}"))
        return super().call_at(when, callback, *args, context=context)


def _name(callback: Any) -> str:
    owner = getattr(callback, "__self__", None)
    if isinstance(owner, asyncio.Task):
        return f"step of {owner.get_coro().__qualname__}"  # type: ignore[union-attr]
    return getattr(callback, "__qualname__", type(callback).__qualname__)


def batch(clock: LoopClock, values: list[bytes], producer: ProducerIdentity | None = None, sequence: int = 0) -> bytes:
    builder = BatchBuilder()
    if producer is not None:
        builder = BatchBuilder(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=sequence,
            transactional=True,
        )
    for value in values:
        builder.append(clock.time_ms(), None, value)
    return builder.build()


def commit_of(offset: int) -> OffsetCommitRequest:
    topic = OffsetCommitRequest.OffsetCommitRequestTopic
    partition = OffsetCommitRequest.OffsetCommitRequestPartition
    return OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[topic(name="t", partitions=[partition(partition_index=0, committed_offset=offset)])],
    )


async def work(node: BrokerCore, clock: LoopClock, facts: list[Any]) -> None:
    made = await node.controller.create_topics(
        [NewTopic("t", 2, 1, configs={"retention.ms": str(int(3 * HOUR * 1000)), "segment.ms": str(int(HOUR * 1000))})]
    )
    assert not isinstance(made[0], KafkaError)
    for topic in (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC):
        await node.controller.ensure_topic(topic)
    group, transaction = node.coordinators.group, node.coordinators.transaction
    await append(node.replicas, T0, batch(clock, [b"one", b"two"]))
    await group.write("g", lambda machine: machine.commit(commit_of(2), 2))

    ended = await transaction.init("ends", 60_000)
    await transaction.add_partitions("ends", ended, [T0])
    await append(node.replicas, T0, batch(clock, [b"three"], ended))
    await transaction.end("ends", ended, committed=True, version=0)
    left = await transaction.init("left", int(MINUTE * 1000))
    await transaction.add_partitions("left", left, [T1])
    await append(node.replicas, T1, batch(clock, [b"never"], left))
    await asyncio.sleep(1)
    facts.append(("at work", clock.time_ms(), *ends(node, T0), *ends(node, T1), committed(node)))

    await asyncio.sleep(2 * MINUTE)
    facts.append(("after the time-out", clock.time_ms(), *ends(node, T1)))
    await asyncio.sleep(8 * HOUR)
    facts.append(("hours later", clock.time_ms(), *ends(node, T0), *ends(node, T1), committed(node)))


def ends(node: BrokerCore, tp: TopicPartition) -> tuple[int, int, int]:
    partition = node.replicas.partition(tp)
    assert partition is not None
    return partition.log.log_start_offset, partition.log.last_stable_offset, partition.log.log_end_offset


def committed(node: BrokerCore) -> int:
    """Partitions for which the group has an offset."""
    machine = node.coordinators.group.runtime.shard_for("g").machine
    return len(machine.state.offsets.of_group("g"))


def life(home: Path) -> tuple[list[Any], list[Event]]:
    """Start, work, let hours pass, stop, start again. What was seen, and all that the loop ran."""
    loop, facts = TracedLoop(), []
    clock, rng = LoopClock(loop), seeded_rng(15)
    config = {**CONFIG, "log.dirs": str(home)}

    async def main() -> None:
        async with BrokerCore(config, clock=clock, rng=rng) as node:
            await work(node, clock, facts)
        await asyncio.sleep(HOUR)
        async with BrokerCore(config, clock=clock, rng=rng) as node:
            await asyncio.sleep(MINUTE)
            facts.append(("again", node.controller.epoch, *ends(node, T0), *ends(node, T1), committed(node)))
            assert node.failure is None

    loop.run_until_complete(main())
    loop.close()
    return facts, loop.trace


def test_hours_pass_on_a_loop_with_virtual_time(tmp_path: Path) -> None:
    facts, _ = life(tmp_path)
    start = facts[0][1]
    assert facts == [
        # t-0 has two records, one of a transaction and its marker; t-1 one of a transaction that nobody ends
        ("at work", start, 0, 4, 4, 0, 0, 1, 1),
        ("after the time-out", start + 120_000, 0, 2, 2),
        # three hours of retention, two of the group's offsets
        ("hours later", start + 120_000 + 28_800_000, 4, 4, 4, 2, 2, 2, 0),
        ("again", 2, 4, 4, 4, 2, 2, 2, 0),
    ]


def files(home: Path) -> dict[str, bytes]:
    return {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}


def test_two_lives_with_the_same_seed_are_the_same(tmp_path: Path) -> None:
    """Every callback at its moment, and every byte on disk."""
    first, second = life(tmp_path / "first"), life(tmp_path / "second")
    assert first[0] == second[0]
    for number, (one, other) in enumerate(zip(first[1], second[1], strict=False)):
        assert one == other, f"event {number}: {first[1][number - 3 : number + 3]}"
    assert len(first[1]) == len(second[1]) > 1000
    assert files(tmp_path / "first") == files(tmp_path / "second")


PROGRAM = """
import sys
sys.path[:0] = {paths!r}
from pathlib import Path
import importlib.util
spec = importlib.util.spec_from_file_location("test_node", {file!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.life(Path({home!r}))
print(sorted(name for name in sys.modules if name == "uvloop" or name.startswith("tidelog.broker.network")))
"""


def test_a_node_whose_id_is_taken_fails_in_order(tmp_path: Path) -> None:
    unheard: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: unheard.append(context))
        store = LocalStore()
        clock = LoopClock(asyncio.get_running_loop())
        nodes = [
            BrokerCore({**CONFIG, "log.dirs": str(tmp_path / name), "node.id": "1"}, clock=clock, store=store)
            for name in ("one", "two")
        ]
        async with nodes[0]:
            with pytest.raises(NodeExistsError):
                await nodes[1].start()
            assert await nodes[0].store.children(paths.BROKER_IDS) == ["1"]
        await asyncio.sleep(1)
        gc.collect()
        await store.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())
    assert unheard == []


def test_a_node_alone_needs_neither_the_network_nor_uvloop(tmp_path: Path) -> None:
    program = PROGRAM.format(paths=sys.path, file=__file__, home=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


def test_a_start_that_fails_leaves_no_task_behind(tmp_path: Path) -> None:
    class Failing(BrokerCore):
        def _meanwhile(self) -> None:
            raise OSError("not today")

    async def main() -> None:
        node = Failing({"log.dirs": str(tmp_path), **CONFIG}, clock=LoopClock(loop), rng=seeded_rng(1))
        with pytest.raises(OSError, match="not today"):
            await node.start()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    loop = VirtualLoop()
    unheard: list[Any] = []
    loop.set_exception_handler(lambda _, context: unheard.append(context))
    loop.run_until_complete(main())
    gc.collect()
    loop.close()
    assert not unheard
