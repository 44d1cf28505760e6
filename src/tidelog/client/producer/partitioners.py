"""Partitioners: which partition a record goes to, if its sender does not say.

    unset        by the key's murmur2 hash, as every Java client does; without a key sticky, see `StickyChoice`
    round_robin  one partition after the other, whatever the key
    random       any partition, whatever the key
    own          a class with `partition(topic, key, key_bytes, value, value_bytes, cluster)`

The default lives in compiled code (`_accumulator`), but for the choice of the next sticky partition, which comes once
per batch and is made here. Equal keys go to equal partitions as long as nobody adds partitions to the topic: that is
what the order of a key rests on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tidelog.client.cluster.metadata import ClusterMetadata, Node, PartitionInfo, TopicInfo
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.client.producer._steps import choose_by_load
from tidelog.client.producer.interceptors import imported
from tidelog.common.errors import UsageError
from tidelog.common.rng import Rng, seeded_rng
from tidelog.common.types import TopicPartition

#: The leader of each partition, and the partitions that have one.
_Leaders = tuple[dict[int, int], list[int]]


class Cluster:
    """What a partitioner may know of the cluster: Java's `Cluster`, read only."""

    def __init__(self, metadata: ClusterMetadata) -> None:
        self._metadata = metadata

    def partitions_for_topic(self, topic: str) -> list[int]:
        return self._metadata.partitions(topic)

    def partition_count_for_topic(self, topic: str) -> int:
        return len(self._metadata.topic(topic).partitions)

    def available_partitions_for_topic(self, topic: str) -> list[int]:
        """Those that have a leader at present."""
        partitions = self._metadata.topic(topic).partitions
        return sorted(number for number, info in partitions.items() if info.leader >= 0)

    def partition(self, tp: TopicPartition) -> PartitionInfo:
        return self._metadata.partition(tp)

    def leader_for(self, tp: TopicPartition) -> Node | None:
        return self._metadata.nodes.get(self._metadata.partition(tp).leader)

    @property
    def nodes(self) -> list[Node]:
        return list(self._metadata.nodes.values())


class Partitioner:
    """Inherit for one of your own. One instance serves all threads of a producer."""

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Gets all of the producer's settings, those that the producer does not know included."""

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        raise NotImplementedError

    def close(self) -> None:
        """The producer is closed."""


class RoundRobinPartitioner(Partitioner):
    """One after the other, among the partitions that have a leader (all, if none has): twelve records over four
    partitions are three in each, in turn.
    """

    def __init__(self) -> None:
        self._next: dict[str, int] = {}

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        turn = self._next.get(topic, 0)
        self._next[topic] = turn + 1
        usable = cluster.available_partitions_for_topic(topic) or cluster.partitions_for_topic(topic)
        return usable[turn % len(usable)]


class RandomPartitioner(Partitioner):
    """Any of the partitions that have a leader."""

    def __init__(self, rng: Rng) -> None:
        self._rng = rng

    def partition(
        self, topic: str, key: Any, key_bytes: bytes | None, value: Any, value_bytes: bytes | None, cluster: Cluster
    ) -> int:
        usable = cluster.available_partitions_for_topic(topic) or cluster.partitions_for_topic(topic)
        return self._rng.choice(usable)


class StickyChoice:
    """The next partition for records without a key, once a batch is full (KIP-480, KIP-794).

    Any partition that has a leader; with `adaptive` those with many batches waiting are taken less often: a partition
    with q waiting has (longest - q + 1) chances. `unavailable` says whether a leader took nothing for too long.
    """

    def __init__(
        self, metadata: ClusterMetadata, rng: Rng, *, adaptive: bool, unavailable: Callable[[int], bool] | None = None
    ) -> None:
        self._metadata = metadata
        # Chance of our own: to ask the system for some takes a call that gives the GIL away, for each batch.
        self._rng = seeded_rng(rng.getrandbits(64))
        self._adaptive = adaptive
        self._unavailable = unavailable
        self._told: dict[str, tuple[TopicInfo | None, int, _Leaders]] = {}

    def __call__(self, topic: TopicBatches) -> int:
        leaders, usable = self._leaders(topic)
        if self._adaptive and self._unavailable is not None:
            usable = [number for number in usable if not self._unavailable(leaders[number])] or usable
        if not usable:
            return self._rng.randrange(len(topic.partitions))
        if not self._adaptive or len(usable) == 1:
            return usable[int(self._rng.random() * len(usable))]
        return choose_by_load(topic, usable, self._rng.random())

    def _leaders(self, topic: TopicBatches) -> _Leaders:
        """Leaders, and the partitions that have one: found out once for what metadata says, not for each batch."""
        known, count = self._metadata.topics.get(topic.name), len(topic.partitions)
        told = self._told.get(topic.name)
        if told is None or told[0] is not known or told[1] != count:
            leaders = {number: info.leader for number, info in known.partitions.items()} if known is not None else {}
            usable = [number for number in range(count) if leaders.get(number, -1) >= 0]
            told = self._told[topic.name] = (known, count, (leaders, usable))
        return told[2]


def partitioner_of(wanted: Any, configs: Mapping[str, Any], rng: Rng) -> Any:
    """The partitioner that a setting names, configured; None: the default one."""
    if wanted is None:
        return None
    if isinstance(wanted, str):
        name = wanted.rpartition(".")[2].removesuffix("Partitioner").lower().replace("_", "")
        if name == "roundrobin":
            wanted = RoundRobinPartitioner()
        elif name == "random":
            wanted = RandomPartitioner(rng)
        else:
            wanted = imported(wanted, "partitioner")
    made = wanted() if isinstance(wanted, type) else wanted
    if not hasattr(made, "partition"):
        raise UsageError(f"partitioner.class {wanted!r} has no method partition")
    if hasattr(made, "configure"):
        made.configure(configs)
    return made
