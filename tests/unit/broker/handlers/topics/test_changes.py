"""Topics are made, grown and deleted: codes and values, as Apache Kafka gives them."""

from __future__ import annotations

import pytest

from support.admin_requests import (
    create,
    metadata,
)
from tidelog.common.errors import ErrorCode
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol import messages as m


def test_creation_answers_what_was_made(ask):
    made = create(ask, "made", 3, configs=[("retention.ms", "99")])
    assert (made.error_code, made.num_partitions, made.replication_factor) == (0, 3, 1)
    assert made.topic_id != ZERO_UUID
    retention = next(config for config in made.configs if config.name == "retention.ms")
    assert (retention.value, retention.config_source, retention.read_only) == ("99", 1, False)
    found = metadata(ask, "made").topics[0]
    assert (found.topic_id, len(found.partitions), found.partitions[0].leader_id) == (made.topic_id, 3, 1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"name": "a/b"}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ({"name": "x", "partitions": 0}, ErrorCode.INVALID_PARTITIONS),
        ({"name": "x", "factor": 3}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ({"name": "x", "configs": [("retention.ms", "soon")]}, ErrorCode.INVALID_CONFIG),
        ({"name": "x", "configs": [("no.such.key", "1")]}, ErrorCode.INVALID_CONFIG),
        ({"name": "x", "configs": [("retention.ms", None)]}, ErrorCode.INVALID_CONFIG),
        ({"name": "__cluster_metadata"}, ErrorCode.INVALID_REQUEST),
        (
            {"name": "x", "partitions": -1, "factor": -1, "assignments": [(0, [9])]},
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ),
    ],
)
def test_creation_refused(ask, arguments, code):
    answer = create(ask, **arguments)
    assert answer.error_code == code
    assert answer.error_message


def test_validation_makes_nothing(ask):
    assert create(ask, "only-asked", validate_only=True).error_code == 0
    assert metadata(ask, "only-asked").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_name_twice_in_one_request(ask):
    topic = m.CreateTopicsRequest.CreatableTopic(name="twice", num_partitions=1, replication_factor=1)
    answer = ask(m.CreateTopicsRequest(topics=[topic, topic]))
    assert [(t.name, t.error_code) for t in answer.topics] == [("twice", ErrorCode.INVALID_REQUEST)]


def test_partitions_are_added(ask):
    create(ask, "grows", 1)
    Topic = m.CreatePartitionsRequest.CreatePartitionsTopic

    def grow(count, **options):
        request = m.CreatePartitionsRequest(topics=[Topic(name="grows", count=count, assignments=None)], **options)
        return ask(request).results[0].error_code

    assert grow(4, validate_only=True) == 0
    assert len(metadata(ask, "grows").topics[0].partitions) == 1
    assert grow(4) == 0
    assert len(metadata(ask, "grows").topics[0].partitions) == 4
    assert grow(2) == ErrorCode.INVALID_PARTITIONS


def test_deletion_by_name_and_id(ask, broker):
    create(ask, "doomed-1")
    topic_id = create(ask, "doomed-2").topic_id
    State = m.DeleteTopicsRequest.DeleteTopicState
    answer = ask(
        m.DeleteTopicsRequest(
            topics=[
                State(name="doomed-1"),
                State(topic_id=topic_id),
                State(name="never"),
                State(),
                State(topic_id=b"y" * 16),
            ]
        )
    )
    codes = {(r.name, r.error_code) for r in answer.responses}
    assert codes == {
        ("doomed-1", 0),
        ("doomed-2", 0),
        ("never", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (None, ErrorCode.INVALID_REQUEST),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    assert metadata(ask, "doomed-1").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not (broker.data_dir / "doomed-1-0").exists()
    assert create(ask, "doomed-2").topic_id != topic_id
