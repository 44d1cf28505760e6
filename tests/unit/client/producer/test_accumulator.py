"""The accumulator by itself: what becomes of a record whose batch is answered before `send` has returned."""

from __future__ import annotations

from typing import Any

from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.common.clock import SYSTEM_CLOCK


def test_a_callback_is_known_before_anybody_can_take_the_batch() -> None:
    """To wake the sender may let it run at once, and then all may be over before the record's own thread goes on."""
    accumulator = Accumulator(
        clock=SYSTEM_CLOCK, choose=lambda topic: 0, memory=1 << 20, batch_size=300, max_request_size=1 << 20
    )
    topic = accumulator.topics["t"] = TopicBatches("t", 1)
    told: list[Any] = []

    def answer_at_once() -> None:
        batch = topic.partitions[0].taken()
        batch.seal(-1, -1, -1)
        batch.succeed(7, -1)

    accumulator.wake = answer_at_once
    future = accumulator.append(topic, 0, None, b"v", None, None, lambda metadata, error: told.append(metadata.offset))
    assert future is not None
    assert future.result(0).offset == 7
    assert told == [7]
