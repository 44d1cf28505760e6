"""What a client believes about the cluster, and when it asks anew."""

from __future__ import annotations

import pytest

from tidelog.client.cluster.metadata import ClusterMetadata, Node
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.protocol.messages import MetadataResponse


def response(leader: int, epoch: int, *, topic_id: bytes = bytes(16), error: int = 0) -> MetadataResponse:
    partition = MetadataResponse.MetadataResponsePartition(
        partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2]
    )
    topic = MetadataResponse.MetadataResponseTopic(
        name="t", topic_id=topic_id, partitions=[partition], error_code=error
    )
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=number, host=f"h{number}", port=9000 + number)
        for number in (1, 2)
    ]
    return MetadataResponse(brokers=brokers, topics=[topic], controller_id=2, cluster_id="c")


def metadata(*responses: MetadataResponse) -> ClusterMetadata:
    known = ClusterMetadata(max_age_ms=1000)
    for one in responses:
        known.update(one, 0)
    return known


def test_a_partition_without_a_leader_is_asked_for_after_a_wait() -> None:
    """Fetches of the other partitions come by here many times a second while one is offline."""
    known = ClusterMetadata(max_age_ms=1000, backoff_ms=100)
    known.update(response(-1, 5), 5000)
    assert [known.missing(["t"], 5000 + age) for age in (0, 99, 100)] == [set(), set(), {"t"}]


def test_a_leader_is_found() -> None:
    known = metadata(response(1, 5))
    assert known.leader(TP("t", 0)) == Node(1, "h1", 9001)
    assert known.missing(["t", "other"], 10) == {"other"}
    assert (known.controller, known.cluster_id) == (2, "c")


def test_an_older_epoch_never_replaces_a_newer_one() -> None:
    assert metadata(response(1, 5), response(2, 4)).leader(TP("t", 0)).id == 1
    assert metadata(response(1, 5), response(2, 6)).leader(TP("t", 0)).id == 2


def test_a_topic_made_anew_starts_over() -> None:
    assert metadata(response(1, 5, topic_id=b"a" * 16), response(2, 0, topic_id=b"b" * 16)).leader(TP("t", 0)).id == 2


def test_when_to_ask_again() -> None:
    known = metadata(response(1, 5))
    assert known.missing(["t"], 999) == set()
    assert known.missing(["t"], 1000) == {"t"}
    known.mark_stale(["t"])
    assert known.missing(["t"], 1) == {"t"}
    assert metadata(response(-1, 5)).missing(["t"], 1) == {"t"}


def test_errors_are_kafkas() -> None:
    known = metadata(response(-1, 5))
    for partition, code in ((0, ErrorCode.LEADER_NOT_AVAILABLE), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)):
        with pytest.raises(KafkaError) as failure:
            known.leader(TP("t", partition))
        assert failure.value.code is code
    gone = metadata(response(1, 5), response(1, 5, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    with pytest.raises(KafkaError, match="does not exist"):
        gone.topic("t")


def test_a_topic_that_is_not_among_all_topics_is_gone() -> None:
    known = metadata(response(1, 5))
    others = response(1, 5)
    others.topics[0].name = "other"
    known.update(others, 0)
    assert set(known.topics) == {"t", "other"}, "an answer about some topics says nothing of the rest"
    known.update(others, 0, complete=True)
    assert set(known.topics) == {"other"}


def test_whether_a_topic_is_fresh_does_not_cost_a_look_at_each_partition() -> None:
    """With 24,000 partitions, and asked on each poll and send, that would be all that a client does."""

    class Unread(dict[int, object]):
        def values(self):
            raise AssertionError("every partition was looked at")

    known = metadata(response(1, 5))
    object.__setattr__(known.topics["t"], "partitions", Unread())
    assert known.missing(["t"], 1) == set()


def test_a_topic_of_many_partitions_is_told_as_it_is() -> None:
    one = response(1, 5)
    entry = MetadataResponse.MetadataResponsePartition
    one.topics[0].partitions = [
        entry(
            partition_index=i,
            leader_id=1 + i % 2,
            leader_epoch=i,
            replica_nodes=[1, 2],
            isr_nodes=[1],
            offline_replicas=[2],
        )
        for i in range(24_000)
    ]
    known = metadata(one)
    assert len(known.partitions("t")) == 24_000
    assert known.leader(TP("t", 23_999)).id == 2
    assert known.partition(TP("t", 7)).isr == (1,)
    assert known.partition(TP("t", 7)).offline == (2,)
    assert known.missing(["t"], 1) == set()
    one.topics[0].partitions[-1].leader_id = -1
    one.topics[0].partitions[-1].leader_epoch = 24_001
    known.update(one, 0)
    assert known.missing(["t"], 1) == {"t"}


def test_a_topic_that_is_forgotten_leaves_nothing_behind() -> None:
    """Neither when somebody says so nor when a list of all topics does not have it any more."""
    known, other = metadata(response(1, 5)), metadata(response(1, 5))
    known.mark_stale(["t"])
    known.forget("t")
    other.update(MetadataResponse(topics=[]), 0, complete=True)
    for each in (known, other):
        assert (each.topics, each._updated_ms, each._stale) == ({}, {}, set())
        assert each.missing(["t"], 10) == {"t"}
        each.update(response(2, 4), 0)
        assert each.leader(TP("t", 0)).id == 2
