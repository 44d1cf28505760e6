"""The Admin against Apache Kafka 3.9 that ZooKeeper coordinates: older versions of requests, another controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer as ConfluentProducer

from support.kafka import KAFKA_3, KafkaBroker
from support.patience import eventually
from tidelog.admin import (
    ConfigResource,
    ConfigSource,
    ElectionType,
    GroupState,
    NewTopic,
    OffsetSpec,
    QuotaEntity,
    ScramCredential,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
)
from tidelog.client.admin.blocking import Admin
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    with KafkaBroker(KAFKA_3, tmp_path_factory.mktemp("kafka"), mode="zookeeper") as running:
        yield running


@pytest.fixture(scope="module")
def admin(kafka: KafkaBroker) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.address, default_api_timeout_ms=30_000) as running:
        yield running


def code(found: object) -> ErrorCode:
    assert isinstance(found, KafkaError)
    return found.code


def test_topics_and_their_configs(admin: Admin, topic: Callable[[], str]) -> None:
    name, other = topic(), topic()
    made = admin.create_topics([NewTopic(name, 2, configs={"retention.ms": 1000}), other])
    assert made.of(name).partitions == 2
    found = admin.describe_topics([name, "missing"], ids=[made.of(other).topic_id])
    assert [(p.leader, p.isr) for p in found.of(name).partitions] == [(1, (1,))] * 2
    assert found.of(made.of(other).topic_id).name == other
    assert code(found["missing"]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    resource = ConfigResource.topic(name)
    admin.alter_config(resource, {"max.message.bytes": 5000, "retention.ms": None})
    entry = admin.describe_config(resource, keys=["max.message.bytes"])["max.message.bytes"]
    assert (entry.value, entry.source) == ("5000", ConfigSource.DYNAMIC_TOPIC)
    admin.create_partitions({name: 3}).result()
    assert len(admin.describe_topic(name).partitions) == 3
    assert code(admin.elect_leaders([TP(name, 0)], ElectionType.PREFERRED)[TP(name, 0)]) is (
        ErrorCode.ELECTION_NOT_NEEDED
    )
    assert admin.alter_partition_reassignments({TP(name, 0): [1]}).result() == {TP(name, 0): None}
    assert eventually(lambda: not admin.list_partition_reassignments())
    assert admin.delete_topics([name], ids=[made.of(other).topic_id]).result()


def test_records_offsets_and_groups(admin: Admin, kafka: KafkaBroker, topic: Callable[[], str]) -> None:
    name = topic()
    admin.create_topic(name)
    tp, group = TP(name, 0), f"group-{name}"
    producer = ConfluentProducer({"bootstrap.servers": kafka.address})
    for number in range(5):
        producer.produce(name, str(number), timestamp=1000 + number)
    producer.flush(60)
    assert admin.list_offsets({tp: OffsetSpec.MAX_TIMESTAMP}).of(tp).offset == 4
    assert admin.delete_records({tp: 2}).result() == {tp: 2}
    admin.alter_consumer_group_offsets(group, {tp: OffsetAndMetadata(3, -1, "x")}).result()
    assert admin.group_offsets(group) == {tp: OffsetAndMetadata(3, -1, "x")}
    assert admin.list_consumer_groups(states=[GroupState.EMPTY])[group].state is GroupState.EMPTY
    assert admin.describe_consumer_group(group).is_simple
    assert admin.delete_consumer_groups([group]).result() == {group: None}
    assert admin.describe_consumer_groups([group]).of(group).state is GroupState.DEAD
    assert admin.describe_producers([tp]).result().keys() == {tp}
    assert admin.list_transactions() == []


def test_the_cluster_and_its_users(admin: Admin) -> None:
    cluster = admin.describe_cluster()
    assert cluster.controller is not None
    assert (cluster.controller.id, len(cluster.nodes)) == (1, 1)
    assert len(admin.describe_log_dirs().of(1)) == 1
    assert admin.describe_features().supported == {}
    with pytest.raises(KafkaError, match="this cluster is too old for it, or does not offer it"):
        admin.describe_metadata_quorum()
    entity = QuotaEntity(user="alice")
    admin.alter_client_quotas({entity: {"producer_byte_rate": 1024}}).result()
    assert eventually(lambda: admin.describe_client_quotas(user="alice") == {entity: {"producer_byte_rate": 1024.0}})
    strong = ScramMechanism.SCRAM_SHA_512
    admin.alter_user_scram_credentials([ScramUpsertion("bob", "b"), ScramUpsertion("bob", "b", strong)]).result()
    assert eventually(
        lambda: (
            admin.describe_user_scram_credentials()
            == {"bob": (ScramCredential(ScramMechanism.SCRAM_SHA_256, 4096), ScramCredential(strong, 4096))}
        )
    )
    admin.alter_user_scram_credentials([ScramDeletion("bob")]).result()
    with pytest.raises(KafkaError, match=r"authorizer\.class\.name"):
        admin.describe_acls()
