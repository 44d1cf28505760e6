"""Leaders: who leads each partition that is written to, asked again when an answer says otherwise or in time.

Metadata is asked for in passing, one question at a time, with growing waits while it brings no leader; batches stay in
their deques meanwhile. It is also asked for when it is older than `metadata.max.age.ms`: that is how a producer hears
of partitions that were added. A topic that nothing was sent to for `metadata.max.idle.ms` is forgotten; what brokers
remember of us there, the sequence numbers, is not (`recovery`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer._accumulator import Accumulator
from tidelog.client.producer._partition_batches import PartitionBatches, TopicBatches
from tidelog.client.producer.delivery import Delivery
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.pauses import pause

logger = logging.getLogger("tidelog.client.producer")


class Leaders:
    """What a sender asks of the cluster's metadata. `changed` is called when there is news, `forgotten` with a topic
    that nobody writes to any more, `gone` with partitions that are no more.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        accumulator: Accumulator,
        delivery: Delivery,
        *,
        start: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
        changed: Callable[[], None],
        forgotten: Callable[[TopicBatches], None],
        gone: Callable[[list[PartitionBatches]], None],
    ) -> None:
        self.next_refresh = cluster.clock.monotonic() + delivery.max_age
        self._cluster = cluster
        self._accumulator = accumulator
        self._max_age = delivery.max_age
        self._max_idle = delivery.max_idle
        self._start = start
        self._changed = changed
        self._forgotten = forgotten
        self._gone = gone
        self._wanted: set[str] = set()
        self._refreshing: asyncio.Task[None] | None = None

    def of(self, tp: TopicPartition) -> int | None:
        """The partition's leader, if it has one that is known."""
        metadata = self._cluster.metadata
        topic = metadata.topics.get(tp.topic)
        found = topic.partitions.get(tp.partition) if topic is not None else None
        return found.leader if found is not None and found.leader in metadata.nodes else None

    def want(self, topics: Iterable[str]) -> None:
        """Ask who leads these now, in passing."""
        self._wanted.update(topics)
        if self._wanted and self._refreshing is None:
            self._refreshing = self._start(self._refresh())

    def refresh_all(self, now: float) -> None:
        """Metadata has become old: forget topics that nobody writes to, and ask for the others."""
        self.next_refresh = now + self._max_age
        topics = self._accumulator.topics
        for name in [name for name, topic in topics.items() if self._is_idle(topic, now)]:
            self._forgotten(topics.pop(name))
        self.want(topics)

    def _is_idle(self, topic: TopicBatches, now: float) -> bool:
        """Nothing of it is queued, under way or in an open transaction, nor was for a while. The next record asks for
        it again.
        """
        if now - topic.used_at <= self._max_idle:
            return False
        return not any(
            queue.waiting or queue.in_flight or queue.returned or queue.in_transaction for queue in topic.partitions
        )

    # There is one refresh at a time, however many partitions ask for one: whoever comes meanwhile adds its topic to the
    # next question. The waits between them keep a cluster that elects leaders from being asked by everybody at once.

    async def _refresh(self) -> None:
        """Until every partition that waits has a leader. One question at a time, with growing waits."""
        attempt = 0
        try:
            while self._wanted:
                topics, self._wanted = self._wanted, set()
                try:
                    await self._cluster.refresh(topics)
                    self._grow(topics)
                    self._changed()
                except KafkaError as error:
                    logger.debug("no metadata: %s", error)
                    self._wanted |= topics
                if self._wanted:
                    await pause(self._cluster.wait_before_retry(attempt))
                    attempt += 1
        finally:
            self._refreshing = None

    def _grow(self, topics: Iterable[str]) -> None:
        """Partitions may have been added; a topic that was made anew may have fewer. (Of the same topic fewer are what
        a broker says that has not heard of the others yet. Brokers before 2.8 do not tell which topic it is.)
        """
        for name in topics:
            known, info = self._accumulator.topics.get(name), self._cluster.metadata.topics.get(name)
            if known is None or info is None or not info.partitions:
                continue
            count = len(info.partitions)
            if count < len(known.partitions) and (info.id != known.topic_id or info.id == ZERO_UUID):
                self._gone(known.resize(count))
            known.grow(count)
            known.topic_id = info.id
