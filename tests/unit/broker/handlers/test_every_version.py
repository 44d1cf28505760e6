"""Every version of every control-plane request that we advertise is answered, in that version."""

from __future__ import annotations

import pytest

from tidelog.broker.handlers import HANDLERS
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey, request_class, response_class

CREATE = m.CreateTopicsRequest
REQUESTS = {
    ApiKey.METADATA: [
        m.MetadataRequest(topics=[]),
        m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="every")]),
    ],
    ApiKey.CREATE_TOPICS: [
        CREATE(topics=[CREATE.CreatableTopic(name=name, num_partitions=1, replication_factor=1)], timeout_ms=1000)
        for name in ("every", "a b")
    ],
    ApiKey.DESCRIBE_ACLS: [m.DescribeAclsRequest(resource_type_filter=2, operation=3, permission_type=3)],
    ApiKey.DELETE_TOPICS: [m.DeleteTopicsRequest(topic_names=["none"], timeout_ms=1000)],
    ApiKey.CREATE_PARTITIONS: [
        m.CreatePartitionsRequest(
            topics=[m.CreatePartitionsRequest.CreatePartitionsTopic(name="every", count=1, assignments=None)]
        )
    ],
    ApiKey.DESCRIBE_CONFIGS: [
        m.DescribeConfigsRequest(
            resources=[
                m.DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=kind, resource_name=name, configuration_keys=None
                )
            ]
        )
        for kind, name in ((2, "every"), (2, "none"), (4, "1"), (4, ""), (8, "1"), (16, "c"), (32, "g"), (99, "x"))
    ],
    ApiKey.ALTER_CONFIGS: [
        m.AlterConfigsRequest(
            resources=[
                m.AlterConfigsRequest.AlterConfigsResource(
                    resource_type=2,
                    resource_name=name,
                    configs=[m.AlterConfigsRequest.AlterableConfig(name="retention.ms", value="7")],
                )
            ]
        )
        for name in ("every", "none")
    ],
    ApiKey.ELECT_LEADERS: [m.ElectLeadersRequest(topic_partitions=None)],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [m.ListPartitionReassignmentsRequest()],
    ApiKey.DESCRIBE_LOG_DIRS: [m.DescribeLogDirsRequest(topics=None)],
}
OURS = [row for row in HANDLERS if row.room in ("topics", "configs", "cluster", "security")]


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.key.name)
def test_every_version_is_answered(ask, row):
    requests = REQUESTS.get(row.key) or [request_class(row.key)()]
    for version in range(row.min_version, row.max_version + 1):
        for request in requests:
            if row.key is ApiKey.DELETE_TOPICS and version >= 6:
                request = m.DeleteTopicsRequest(
                    topics=[m.DeleteTopicsRequest.DeleteTopicState(name="none")], timeout_ms=1000
                )
            assert isinstance(ask(request, version), response_class(row.key))
