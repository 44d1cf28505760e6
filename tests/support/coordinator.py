"""A coordinator without a broker: real runtime, shards and machines over a log in memory and a clock moved by hand."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from tidelog.broker.coordinator.config import GroupConfig, TransactionConfig
from tidelog.broker.coordinator.group.machine import GroupMachine
from tidelog.broker.coordinator.metadata import StaticMetadata, TopicView
from tidelog.broker.coordinator.records import GROUP_CODEC, TRANSACTION_CODEC
from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.coordinator.transaction.machine import MarkerJob, TransactionMachine
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, TopicPartition
from tidelog.testing.clock import ManualClock


class ManualScheduler:
    """An event loop of two queues: what is due now, and what is due later."""

    class Handle:
        def __init__(self, callback: Callable[[], object]) -> None:
            self.callback: Callable[[], object] | None = callback

        def cancel(self) -> None:
            self.callback = None

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._soon: list[ManualScheduler.Handle] = []
        self._later: list[tuple[float, int, ManualScheduler.Handle]] = []
        self._numbers = itertools.count()

    def call_soon(self, callback: Callable[[], object], /) -> Handle:
        handle = self.Handle(callback)
        self._soon.append(handle)
        return handle

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Handle:
        handle = self.Handle(callback)
        heapq.heappush(self._later, (self._clock.monotonic() + delay, next(self._numbers), handle))
        return handle

    def run(self) -> None:
        """Run everything that is due, and what it makes due."""
        while self._soon:
            ready, self._soon = self._soon, []
            for handle in ready:
                if handle.callback is not None:
                    handle.callback()

    def advance(self, ms: int) -> None:
        """Let time pass; timers fire in order, each at its own time."""
        self.run()
        end = self._clock.monotonic() + ms / 1000
        while self._later and self._later[0][0] <= end + 1e-9:
            due, _, handle = heapq.heappop(self._later)
            self._clock.advance(max(due - self._clock.monotonic(), 0))
            if handle.callback is not None:
                handle.callback()
            self.run()
        self._clock.advance(max(end - self._clock.monotonic(), 0))


class MemoryLog:
    """A `PartitionWriter` in memory.

    `hold` keeps appends uncommitted; `fail_next` refuses the next one, `break_next` raises instead.
    """

    def __init__(self) -> None:
        self.batches: dict[TopicPartition, list[bytes]] = {}
        self.hold = False
        self.fail_next: ErrorCode | None = None
        self.break_next: Exception | None = None
        self.limit = 1_048_588
        self._held: list[Callable[[ErrorCode], None]] = []

    def append(
        self,
        tp: TopicPartition,
        epoch: int,
        batch: bytes,
        done: Callable[[ErrorCode], None],
        *,
        transaction_version: int = 0,
    ) -> None:
        if self.break_next is not None:
            broken, self.break_next = self.break_next, None
            raise broken
        if self.fail_next is not None:
            error, self.fail_next = self.fail_next, None
            done(error)
            return
        self.batches.setdefault(tp, []).append(batch)
        if self.hold:
            self._held.append(done)
        else:
            done(ErrorCode.NONE)

    def release(self, error: ErrorCode = ErrorCode.NONE) -> None:
        self.hold = False
        held, self._held = self._held, []
        for done in held:
            done(error)

    def read_all(self, tp: TopicPartition) -> Iterator[bytes]:
        yield from list(self.batches.get(tp, ()))

    def max_batch_bytes(self, tp: TopicPartition) -> int:
        return self.limit


class Answer:
    """What a request got, if anything yet."""

    def __init__(self) -> None:
        self.response: Any = None
        self.error: KafkaError | None = None
        self.done = False

    def __call__(self, response: Any, error: KafkaError | None = None) -> None:
        assert not self.done, "answered twice"
        self.done, self.response, self.error = True, response, error

    @property
    def code(self) -> ErrorCode:
        assert self.done, "not answered yet"
        return ErrorCode.NONE if self.error is None else self.error.code


class Harness:
    """The shards of one internal topic with `partitions` partitions, all led here."""

    def __init__(self, topic: str, factory: Any, codec: Any, partitions: int = 1, seed: int = 1) -> None:
        self.clock = ManualClock()
        self.scheduler = ManualScheduler(self.clock)
        self.log = MemoryLog()
        self.rng = seeded_rng(seed)
        self.partitions = partitions
        self.epoch = 0
        self.runtime = Runtime(
            topic,
            factory=factory,
            codec=codec,
            writer=self.log,
            scheduler=self.scheduler,
            clock=self.clock,
            partitions=lambda: partitions,
        )
        self.elect()

    def elect(self) -> None:
        self.epoch += 1
        for partition in range(self.partitions):
            self.runtime.on_elected(partition, self.epoch)
        self.scheduler.run()

    def reload(self) -> None:
        """Leadership goes away and comes back: everything soft is lost, the log is replayed."""
        for partition in range(self.partitions):
            self.runtime.on_resigned(partition)
        self.elect()

    def write(self, key: str, handler: Callable[[Any], Any]) -> Answer:
        answer = Answer()
        self.runtime.write(key, handler, answer)
        self.scheduler.run()
        return answer

    def request(self, key: str, handler: Callable[[Any, Callable[[Any], None]], Any]) -> Answer:
        """A request whose answer may come later, by the reply that its handler is given."""
        answer = Answer()
        self.runtime.write(key, lambda machine: handler(machine, answer), answer)
        self.scheduler.run()
        return answer

    def advance(self, ms: int) -> None:
        self.scheduler.advance(ms)

    def machine(self, key: str = "") -> Any:
        return self.runtime.shard_for(key).machine

    def replayed(self, key: str = "") -> Any:
        """A second machine that has replayed the same log: what a reload would bring."""
        shard = self.runtime.shard_for(key)
        other = Runtime(
            shard.tp.topic,
            factory=self.runtime._factory,
            codec=shard.codec,
            writer=self.log,
            scheduler=self.scheduler,
            clock=self.clock,
            partitions=lambda: self.partitions,
        )
        other.on_elected(shard.tp.partition, self.epoch)
        self.scheduler.run()
        machine = other.active(shard.tp.partition).machine
        for loaded in other.active_shards():
            loaded.timers.cancel_all()
        return machine


class GroupHarness(Harness):
    def __init__(self, config: GroupConfig | None = None, topics: dict[str, int] | None = None, **options: Any) -> None:
        self.config = config or GroupConfig()
        self.view = StaticMetadata()
        self.set_topics(topics or {})

        def factory(partition: int, epoch: int, timers: Any) -> GroupMachine:
            return GroupMachine(timers=timers, clock=self.clock, rng=self.rng, view=self.view, config=self.config)

        super().__init__(GROUP_METADATA_TOPIC, factory, GROUP_CODEC, **options)

    def set_topics(self, topics: dict[str, int]) -> None:
        self.view.replace([TopicView(name, topic_id(name), count) for name, count in topics.items()])


class TransactionHarness(Harness):
    """Markers are kept in `markers` until `finish` says that they are written."""

    def __init__(self, config: TransactionConfig | None = None, **options: Any) -> None:
        self.config = config or TransactionConfig()
        self.markers: list[MarkerJob] = []
        self.next_producer_id = 1000

        def factory(partition: int, epoch: int, timers: Any) -> TransactionMachine:
            return TransactionMachine(
                coordinator_epoch=epoch, clock=self.clock, config=self.config, send_markers=self.markers.append
            )

        super().__init__(TRANSACTION_STATE_TOPIC, factory, TRANSACTION_CODEC, **options)

    def replayed(self, key: str = "") -> Any:
        markers, self.markers[:] = self.markers[:], []
        machine = super().replayed(key)
        self.markers[:] = markers
        return machine

    def producer_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id

    def finish(self) -> None:
        jobs, self.markers[:] = self.markers[:], []
        for job in jobs:
            self.write(job.transactional_id, lambda machine, job=job: machine.complete(job))


def topic_id(name: str) -> bytes:
    """A readable id."""
    return name.encode().ljust(16, b"\0")[:16]
