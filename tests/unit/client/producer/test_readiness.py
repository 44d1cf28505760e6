"""Which partitions are ready, by size, by time, and by whoever flushes; with leaders that are known or not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.client.producer.readiness import Readiness
from tidelog.testing.clock import ManualClock


class Bench:
    """A partition, and a look at it with a clock that is moved by hand."""

    def __init__(self, leader: int | None = 1) -> None:
        self.clock = ManualClock()
        self.accumulator = Accumulator(
            clock=self.clock, choose=lambda topic: 0, memory=1 << 20, batch_size=300, max_request_size=1 << 20
        )
        self.topic = self.accumulator.topics["t"] = TopicBatches("t", 1)
        self.queue = self.topic.partitions[0]
        self.wanted: list[str] = []
        leaders: Any = SimpleNamespace(of=lambda tp: leader, want=self.wanted.extend)
        cluster: Any = SimpleNamespace(clock=self.clock)
        self.readiness = Readiness(cluster, self.accumulator, leaders, 1.0)

    def send(self, count: int) -> None:
        for _ in range(count):
            assert self.accumulator.append(self.topic, 0, None, b"x" * 100, None, None, None) is not None

    def look(self) -> bool:
        self.readiness.take_in(*self.accumulator.begin_turn(), self.clock.monotonic())
        return self.queue.ready


def test_a_full_batch_is_ready_and_an_open_one_lingers() -> None:
    bench = Bench()
    bench.send(1)
    assert not bench.look()
    bench.send(2)
    assert bench.look()


def test_a_batch_that_has_lingered_is_ready() -> None:
    bench = Bench()
    bench.send(1)
    assert not bench.look()
    assert bench.readiness.next_due == bench.clock.monotonic() + 1
    bench.clock.advance(1)
    assert bench.look()


def test_old_news_of_a_full_batch_does_not_hurry_the_next() -> None:
    bench = Bench()
    bench.send(3)
    bench.queue.taken()  # it has left with the turn that was under way
    assert not bench.look()


def test_nothing_lingers_while_somebody_flushes_or_waits_for_room() -> None:
    for hurry in ("flush", "room"):
        bench = Bench()
        bench.send(1)
        if hurry == "flush":
            bench.readiness.flushing += 1
        else:
            bench.accumulator.waiters.append(lambda: None)
        assert bench.look()


def test_a_partition_without_a_leader_waits_for_metadata() -> None:
    bench = Bench(leader=None)
    bench.send(3)
    assert not bench.look()
    assert bench.wanted == ["t"]
    assert bench.queue in bench.readiness.homeless


def test_what_failed_is_ready_after_its_wait() -> None:
    bench = Bench()
    bench.send(3)
    assert bench.look()
    bench.queue.ready = False
    bench.readiness.links[1].ready.clear()
    bench.readiness.retry_later(bench.queue, bench.clock.monotonic() + 0.5)
    bench.readiness.mark_all()
    assert not bench.look()
    bench.clock.advance(0.5)
    assert bench.look()


def test_one_by_one_a_batch_does_not_overtake_what_a_former_leader_has() -> None:
    """A is under way to leader 1 when 2 takes over. B must not leave for 2 before A is answered, or it comes first."""
    bench = Bench(leader=2)
    bench.queue.leader, bench.queue.in_flight = 1, 1
    bench.send(4)
    bench.readiness.one_by_one = True
    assert not bench.look()
    bench.queue.in_flight = 0
    bench.readiness.mark(bench.queue)
    assert bench.queue.ready
    assert bench.queue.leader == 2
