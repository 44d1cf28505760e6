"""Elections and reassignments: on one broker there is little to do."""

from __future__ import annotations

from support.admin_requests import (
    create,
)
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m


def test_elections_and_reassignments_on_one_broker(ask):
    create(ask, "lonely", 1)
    elected = ask(
        m.ElectLeadersRequest(
            topic_partitions=[
                m.ElectLeadersRequest.TopicPartitions(topic="lonely", partitions=[0, 9]),
            ]
        )
    )
    assert [p.error_code for p in elected.replica_election_results[0].partition_result] == [
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    Partition = m.AlterPartitionReassignmentsRequest.ReassignablePartition
    topic = m.AlterPartitionReassignmentsRequest.ReassignableTopic(
        name="lonely",
        partitions=[
            Partition(partition_index=0, replicas=[1]),
            Partition(partition_index=0, replicas=[2]),
            Partition(partition_index=0, replicas=None),
            Partition(partition_index=5, replicas=[1]),
        ],
    )
    answer = ask(m.AlterPartitionReassignmentsRequest(topics=[topic])).responses[0]
    assert [p.error_code for p in answer.partitions] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert ask(m.ListPartitionReassignmentsRequest()).topics == []
