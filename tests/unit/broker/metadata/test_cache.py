"""The metadata cache: changed by UpdateMetadata, and by nothing else."""

from __future__ import annotations

from tidelog.broker.metadata.cache import DELETED_NAMES, MetadataCache
from tidelog.broker.metadata.control_messages import UpdateMetadata
from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID

HERE = BrokerImage(1, {"PLAINTEXT": ("h", 9092)})


def topic(name: str, topic_id: bytes = bytes(range(16)), partitions: int = 1) -> TopicImage:
    states = [PartitionState(name, number, topic_id, 1, 0, (1,), (1,)) for number in range(partitions)]
    return TopicImage(name, topic_id, states, False)


def test_an_update_replaces_the_brokers_and_adds_topics():
    cache, heard = MetadataCache(), []
    cache.on_change(lambda changed, gone: heard.append(([i.name for i in changed], [i.name for i in gone])))
    cache.update(UpdateMetadata(1, 5, [HERE, BrokerImage(2, {})], [topic("a", partitions=2)]))
    assert (cache.controller_id, cache.controller_epoch, set(cache.brokers)) == (1, 5, {1, 2})
    cache.update(UpdateMetadata(2, 6, [HERE]))
    assert (cache.controller_id, cache.controller_epoch, set(cache.brokers)) == (2, 6, {1})
    assert cache.is_alive(1)
    assert not cache.is_alive(2)
    assert (cache.version, cache.partition_total, cache.partition_count("a")) == (2, 2, 2)
    assert heard == [(["a"], [])], "who watches topics does not hear of brokers"


def test_a_topic_made_anew_is_another():
    cache = MetadataCache()
    old, new = bytes(range(16)), bytes(range(1, 17))
    cache.update(UpdateMetadata(1, 1, [HERE], [topic("a", old)]))
    assert cache.topic_name(old) == "a"
    cache.update(UpdateMetadata(1, 1, [HERE], deleted=["a", "unknown"]))
    assert cache.was_deleted("a")
    assert not cache.was_deleted("unknown")
    assert cache.topic_name(old) is None
    assert cache.partition(TopicPartition("a", 0)) is None
    cache.update(UpdateMetadata(1, 1, [HERE], [topic("a", new)]))
    assert not cache.was_deleted("a")
    assert (cache.topic_name(old), cache.topic_name(new), cache.topic_id("a")) == (None, "a", new)


def test_an_image_of_another_id_takes_the_name():
    cache = MetadataCache()
    old, new = bytes(range(16)), bytes(range(1, 17))
    for topic_id in (old, new, ZERO_UUID):
        cache.update(UpdateMetadata(1, 1, [HERE], [topic("a", topic_id)]))
    assert [cache.topic_name(topic_id) for topic_id in (old, new, ZERO_UUID)] == [None, None, None]


def test_not_every_deleted_name_is_remembered():
    cache = MetadataCache()
    names = [f"t{number}" for number in range(DELETED_NAMES + 1)]
    cache.update(UpdateMetadata(1, 1, [HERE], [topic(name, ZERO_UUID) for name in names]))
    cache.update(UpdateMetadata(1, 1, [HERE], deleted=names))
    assert [cache.was_deleted(name) for name in (names[0], names[1], names[-1])] == [False, True, True]
