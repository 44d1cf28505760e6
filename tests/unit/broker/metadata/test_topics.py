"""Topics by name and by id, always together."""

from __future__ import annotations

from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.broker.metadata.topics import TopicTable
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID

OLD, NEW = b"o" * 16, b"n" * 16


def image(name: str, topic_id: bytes, partitions: int = 1) -> TopicImage:
    states = [PartitionState(name, number, topic_id, 1, 0, (1,), (1,)) for number in range(partitions)]
    return TopicImage(name, topic_id, states, False)


def test_a_topic_that_was_made_anew_is_not_found_by_its_old_id() -> None:
    table = TopicTable()
    table.put([image("t", OLD)])
    table.put([image("t", NEW, 2)])
    assert (table.topic_name(OLD), table.topic_name(NEW), table.topic_id("t")) == (None, "t", NEW)
    assert (table.partition_count("t"), table.partition_total) == (2, 2)
    assert [one.topic_id for one in table.remove(["t", "other"])] == [NEW]
    assert (table.topic_name(NEW), table.topic_id("t"), table.partition_count("t")) == (None, ZERO_UUID, None)


def test_partitions_that_there_are_not() -> None:
    table = TopicTable()
    table.put([image("t", OLD)])
    assert table.partition(TopicPartition("t", 0)) is table.topics["t"].partitions[0]
    for tp in (TopicPartition("t", 1), TopicPartition("t", -1), TopicPartition("u", 0)):
        assert table.partition(tp) is None


def test_topics_without_an_id_are_found_by_name_only() -> None:
    table = TopicTable()
    table.put([image("t", ZERO_UUID)])
    assert table.topic_name(ZERO_UUID) is None
