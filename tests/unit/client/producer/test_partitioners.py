"""The choice of the next partition for records without a key: leaders, queues, brokers that take nothing."""

from __future__ import annotations

from collections import Counter

import pytest

from tidelog.client.cluster.metadata import ClusterMetadata, Node, PartitionInfo, TopicInfo
from tidelog.client.producer._batch import BufferPool, ProducerBatch
from tidelog.client.producer._partition_batches import TopicBatches
from tidelog.client.producer.partitioners import (
    Cluster,
    RandomPartitioner,
    RoundRobinPartitioner,
    StickyChoice,
    partitioner_of,
)
from tidelog.common.errors import UsageError
from tidelog.common.rng import seeded_rng
from tidelog.common.types import TopicPartition


def metadata(*leaders: int) -> ClusterMetadata:
    made = ClusterMetadata(1000)
    made.nodes = {number: Node(number, "h", 1) for number in {*leaders} - {-1}}
    made.topics["t"] = TopicInfo("t", partitions={at: PartitionInfo(leader) for at, leader in enumerate(leaders)})
    return made


def waiting(topic: TopicBatches, partition: int, count: int) -> None:
    pool = BufferPool(1 << 20, 100)
    queue = topic.partitions[partition]
    for _ in range(count):
        queue.waiting.append(ProducerBatch(pool, queue, queue.topic_partition, 100, 0.0))


def test_a_partition_without_a_leader_is_not_chosen() -> None:
    choose = StickyChoice(metadata(1, -1, 2), seeded_rng(1), adaptive=False)
    assert {choose(TopicBatches("t", 3)) for _ in range(100)} == {0, 2}


def test_without_any_leader_all_are_chosen() -> None:
    choose = StickyChoice(metadata(-1, -1), seeded_rng(1), adaptive=True)
    assert {choose(TopicBatches("t", 2)) for _ in range(100)} == {0, 1}


@pytest.mark.parametrize("adaptive", [True, False])
def test_long_queues_are_chosen_less_often(adaptive: bool) -> None:
    topic = TopicBatches("t", 3)
    waiting(topic, 0, 8)
    choose = StickyChoice(metadata(1, 1, 1), seeded_rng(1), adaptive=adaptive)
    counts = Counter(choose(topic) for _ in range(1000))
    assert (counts[0] < 120) is adaptive
    assert abs(counts[1] - counts[2]) < 120


def test_a_broker_that_takes_nothing_is_left_out() -> None:
    choose = StickyChoice(metadata(1, 2, 1), seeded_rng(1), adaptive=True, unavailable=lambda leader: leader == 1)
    assert {choose(TopicBatches("t", 3)) for _ in range(50)} == {1}
    nobody = StickyChoice(metadata(1, 2, 1), seeded_rng(1), adaptive=True, unavailable=lambda leader: True)
    assert {nobody(TopicBatches("t", 3)) for _ in range(100)} == {0, 1, 2}


def test_what_a_partitioner_sees_of_the_cluster() -> None:
    cluster = Cluster(metadata(1, -1, 2))
    assert cluster.partitions_for_topic("t") == [0, 1, 2]
    assert cluster.available_partitions_for_topic("t") == [0, 2]
    assert cluster.leader_for(TopicPartition("t", 2)) == Node(2, "h", 1)
    assert cluster.leader_for(TopicPartition("t", 1)) is None
    assert cluster.partition(TopicPartition("t", 0)).leader == 1
    assert sorted(node.id for node in cluster.nodes) == [1, 2]


def test_round_robin_skips_who_has_no_leader_and_counts_by_topic() -> None:
    partitioner = RoundRobinPartitioner()
    cluster = Cluster(metadata(1, -1, 2))
    assert [partitioner.partition("t", None, None, b"", b"", cluster) for _ in range(4)] == [0, 2, 0, 2]


def test_by_name() -> None:
    rng = seeded_rng(1)
    java = "org.apache.kafka.clients.producer.RoundRobinPartitioner"
    assert isinstance(partitioner_of(java, {}, rng), RoundRobinPartitioner)
    assert isinstance(partitioner_of("random", {}, rng), RandomPartitioner)
    assert isinstance(partitioner_of(RoundRobinPartitioner, {}, rng), RoundRobinPartitioner)
    assert partitioner_of(None, {}, rng) is None
    with pytest.raises(UsageError, match="no method partition"):
        partitioner_of(object(), {}, rng)
    with pytest.raises(UsageError, match="cannot be imported"):
        partitioner_of("no.such.Thing", {}, rng)
