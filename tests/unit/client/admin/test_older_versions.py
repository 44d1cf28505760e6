"""The Admin on a cluster as old as Kafka 2.3: our broker serves those versions, the client is told of no others."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tidelog.admin import (
    Admin,
    ConfigResource,
    ConfigSource,
    GroupState,
    NewTopic,
    OffsetSpec,
    QuotaEntity,
    TransactionState,
)
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP
from tidelog.net.node_client import NodeClient, VersionRange
from tidelog.protocol.api import ApiKey
from tidelog.testing import Broker

#: What Kafka 2.3 serves of the requests that an Admin sends.
NEWEST = {
    ApiKey.LIST_OFFSETS: 5,
    ApiKey.METADATA: 8,
    ApiKey.OFFSET_COMMIT: 7,
    ApiKey.OFFSET_FETCH: 5,
    ApiKey.FIND_COORDINATOR: 2,
    ApiKey.LEAVE_GROUP: 2,
    ApiKey.DESCRIBE_GROUPS: 3,
    ApiKey.LIST_GROUPS: 2,
    ApiKey.API_VERSIONS: 2,
    ApiKey.CREATE_TOPICS: 3,
    ApiKey.DELETE_TOPICS: 3,
    ApiKey.DELETE_RECORDS: 1,
    ApiKey.INIT_PRODUCER_ID: 1,
    ApiKey.DESCRIBE_CONFIGS: 2,
    ApiKey.ALTER_REPLICA_LOG_DIRS: 1,
    ApiKey.DESCRIBE_LOG_DIRS: 1,
    ApiKey.CREATE_PARTITIONS: 1,
    ApiKey.DELETE_GROUPS: 1,
    ApiKey.ELECT_LEADERS: 0,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: 0,
}


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Admin]:
    negotiate = NodeClient._negotiate

    async def as_of_2_3(self: NodeClient) -> None:
        await negotiate(self)
        self.versions = {
            key: VersionRange(self.versions[key].low, newest) for key, newest in NEWEST.items() if key in self.versions
        }

    monkeypatch.setattr(NodeClient, "_negotiate", as_of_2_3)
    with Broker() as broker, Admin(bootstrap_servers=broker.address) as running:
        yield running


def test_what_was_there_then_works(admin: Admin) -> None:
    made = admin.create_topics([NewTopic("orders", 2, 1, {"retention.ms": 1000}), NewTopic("other", 1, 1)])
    assert made.of("orders") == ("orders", "", -1, -1, None), "CreateTopics told no more then"
    assert admin.topics() == ["orders", "other"]
    found = admin.describe_topics(["orders", "missing"], authorized_operations=True)
    assert [p.leader for p in found.of("orders").partitions] == [1, 1]
    error = found["missing"]
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    admin.create_partitions({"orders": 3}).result()
    assert len(admin.describe_topic("orders").partitions) == 3
    resource = ConfigResource.topic("orders")
    admin.alter_config(resource, {"retention.ms": 2000})
    entry = admin.describe_config(resource)["retention.ms"]
    assert (entry.value, entry.source) == ("2000", ConfigSource.DYNAMIC_TOPIC)
    tp = TP("orders", 0)
    assert admin.end_offsets([tp]) == {tp: 0}
    assert admin.delete_records({tp: 0}).result() == {tp: 0}
    admin.alter_consumer_group_offsets("g", {tp: OffsetAndMetadata(0, -1, "x")}).result()
    assert admin.group_offsets("g") == {tp: OffsetAndMetadata(0, -1, "x")}
    assert admin.list_consumer_groups()["g"].state is GroupState.UNKNOWN, "ListGroups told no states then"
    assert admin.describe_consumer_group("g").state is GroupState.EMPTY
    admin.delete_group("g")
    assert [len(admin.describe_cluster().nodes), len(admin.describe_log_dirs().of(1))] == [1, 1]
    assert admin.fence_producers(["job"]).of("job").epoch >= 0
    admin.delete_topics(["orders", "other"]).result()


@pytest.mark.parametrize(
    "ask",
    [
        lambda admin: admin.list_offsets({TP("t", 0): OffsetSpec.MAX_TIMESTAMP}).result(),
        lambda admin: admin.list_groups(states=[GroupState.EMPTY]),
        lambda admin: admin.list_transactions(states=[TransactionState.ONGOING]),
        lambda admin: admin.remove_members_from_consumer_group("g", ["one"]).result(),
        lambda admin: admin.alter_client_quotas({QuotaEntity(user="a"): {"producer_byte_rate": 1}}).result(),
        lambda admin: admin.delete_topics(ids=["AAAAAAAAAAAAAAAAAAAAQA"]).result(),
        lambda admin: admin.describe_metadata_quorum(),
    ],
)
def test_what_came_later_is_refused_before_it_is_sent(admin: Admin, ask: object) -> None:
    admin.create_topic("t", 1, replication_factor=1)
    assert callable(ask)
    with pytest.raises(KafkaError) as raised:
        ask(admin)
    assert raised.value.code is ErrorCode.UNSUPPORTED_VERSION
