"""The table of hosted partitions: by topic, by id, and those that should be here and cannot be served."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tidelog.broker.replication.hosted import HostedPartitions
from tidelog.common.types import TopicPartition


def partition(topic: str, number: int) -> Any:
    return SimpleNamespace(tp=TopicPartition(topic, number), topic_id=topic.encode())


def test_a_topic_is_known_by_name_and_id_as_long_as_a_partition_is_here() -> None:
    hosted = HostedPartitions()
    first, second = partition("t", 0), partition("t", 2)
    hosted.add(first)
    hosted.add(second)
    assert hosted.topic("t") == {0: first, 2: second}
    assert hosted.topic_name(b"t") == "t"
    assert hosted.remove(first.tp) is first
    assert hosted.topic_name(b"t") == "t"
    assert hosted.remove(second.tp) is second
    assert (hosted.topic("t"), hosted.topic_name(b"t"), hosted.partitions) == ({}, None, {})
    assert hosted.remove(second.tp) is None


def test_offline_ends_with_being_served_or_given_up() -> None:
    hosted = HostedPartitions()
    for end in (hosted.add, lambda one: hosted.remove(one.tp)):
        one = partition("t", 1)
        hosted.set_offline(one.tp)
        assert hosted.is_offline(one.tp)
        end(one)
        assert not hosted.is_offline(one.tp)
