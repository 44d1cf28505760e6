"""Topics as the brokers tell of them (wire mode)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.client.blocking import BlockingClient
from tidelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, beginning_offsets, end_offsets, list_offsets
from tidelog.common.types import INTERNAL_TOPICS, TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.spark.offsets import Offsets


class WireTopics:
    """`boundaries.Topics` over connections. Each question is asked anew: brokers know what is true now, we do not."""

    def __init__(self, client: BlockingClient, *, read_committed: bool) -> None:
        self._client = client
        self._isolation = READ_COMMITTED if read_committed else READ_UNCOMMITTED

    def names(self) -> list[str]:
        """Internal topics are left out by their flag, and by name for brokers that do not flag them."""
        cluster = self._client.cluster
        topics = self._client.run(cluster.retry(cluster.all_topics))
        return sorted(name for name, info in topics.items() if not info.internal and name not in INTERNAL_TOPICS)

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """Freshly asked for: a topic may have grown since the last trigger."""
        cluster, names = self._client.cluster, list(topics)
        if names:
            self._client.run(cluster.retry(lambda: cluster.refresh(names)))
        return [TopicPartition(name, number) for name in names for number in cluster.metadata.partitions(name)]

    def ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        """Brokers before 2.8 tell no ids: their topics are told apart by nothing."""
        cluster, names = self._client.cluster, list(topics)
        self._client.run(cluster.retry(lambda: cluster.ensure_topics(names)))
        known = cluster.metadata.topics
        return {name: known[name].id for name in names if name in known and known[name].id != ZERO_UUID}

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return self._client.run(beginning_offsets(self._client.cluster, partitions))

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets:
        return self._client.run(end_offsets(self._client.cluster, partitions, isolation=self._isolation))

    def at_timestamp(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        found = self._client.run(list_offsets(self._client.cluster, wanted, isolation=self._isolation))
        return {tp: entry.offset for tp, entry in found.items()}
