"""The Admin against Apache Kafka 4.3: every method, with what our own broker does not have yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer as ConfluentConsumer
from confluent_kafka import Producer as ConfluentProducer

from support import group_members
from support.everything_kafka import EverythingKafka
from support.guides import run_guide
from support.kafka import KAFKA_4
from support.patience import eventually
from tidelog.admin import (
    ANY,
    DEFAULT,
    HIGH_WATERMARK,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    Append,
    ConfigResource,
    ConfigSource,
    ConfigType,
    ElectionType,
    Endpoint,
    FeatureUpdate,
    GroupState,
    GroupType,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    PatternType,
    QuotaEntity,
    Replica,
    ResourceType,
    ScramCredential,
    ScramDeletion,
    ScramMechanism,
    ScramUpsertion,
    Subtract,
    TransactionState,
    UpgradeType,
    ValueType,
)
from tidelog.client.admin.blocking import Admin
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition as TP

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EverythingKafka]:
    with EverythingKafka(KAFKA_4, tmp_path_factory.mktemp("kafka")) as running:
        yield running


@pytest.fixture(scope="module")
def admin(kafka: EverythingKafka) -> Iterator[Admin]:
    with Admin(bootstrap_servers=kafka.address, default_api_timeout_ms=30_000) as running:
        yield running


@pytest.fixture
def orders(admin: Admin, topic: Callable[[], str]) -> str:
    """A fresh topic with two partitions."""
    name = topic()
    admin.create_topic(name, partitions=2)
    return name


def fill(kafka: EverythingKafka, name: str, count: int, partition: int = 0, timestamp: int = 0) -> None:
    producer = ConfluentProducer({"bootstrap.servers": kafka.address})
    for number in range(count):
        producer.produce(name, str(number), partition=partition, timestamp=timestamp + number)
    assert producer.flush(60) == 0


def code(found: object) -> ErrorCode:
    assert isinstance(found, KafkaError)
    return found.code


# --- topics and partitions --------------------------------------------------------------------------------------------


def test_topics_are_created_described_and_deleted(admin: Admin, topic: Callable[[], str]) -> None:
    first, second, third = topic(), topic(), topic()
    made = admin.create_topics(
        [NewTopic(first, 3, configs={"retention.ms": 1000}), NewTopic(second, assignments={0: [1]}), NewTopic(third, 0)]
    )
    assert (made.of(first).partitions, made.of(first).replication_factor) == (3, 1)
    configs = made.of(first).configs
    assert configs is not None
    assert configs["retention.ms"].value == "1000"
    assert code(made[third]) is ErrorCode.INVALID_PARTITIONS
    assert admin.create_topic(first, exists_ok=True).partitions == 3
    with pytest.raises(KafkaError, match=r"exists_ok=True\) takes it as it is"):
        admin.create_topic(first)
    found = admin.describe_topics([first, third], ids=[made.of(second).topic_id], authorized_operations=True)
    assert [(p.partition, p.leader, p.replicas, p.isr) for p in found.of(first).partitions] == [
        (number, 1, (1,), (1,)) for number in range(3)
    ]
    assert AclOperation.WRITE in (found.of(first).authorized_operations or ())
    assert found.of(made.of(second).topic_id).name == second
    assert code(found[third]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {first, second} <= set(admin.topics())
    assert admin.list_topics()[first].topic_id == made.of(first).topic_id
    gone = admin.delete_topics([first, third], ids=[made.of(second).topic_id])
    assert (gone[first], gone[made.of(second).topic_id]) == (None, None)
    assert code(gone[third]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert eventually(lambda: not {first, second} & set(admin.topics()))
    admin.delete_topic(first, missing_ok=True)


def test_nothing_is_done_when_it_is_only_validated(admin: Admin, orders: str, topic: Callable[[], str]) -> None:
    name = topic()
    assert admin.create_topic(name, 7, validate_only=True).partitions == 7
    assert admin.create_partitions({orders: 5}, validate_only=True).result() == {orders: None}
    assert name not in admin.topics()
    assert len(admin.describe_topic(orders).partitions) == 2


def test_many_partitions_come_page_by_page(admin: Admin, topic: Callable[[], str]) -> None:
    first, second = topic(), topic()
    admin.create_topics([NewTopic(first, 5), NewTopic(second, 4)]).result()
    found = admin.describe_topics([second, first], partitions_per_response=3).result()
    assert list(found) == [second, first]
    assert [[p.partition for p in each.partitions] for each in found.values()] == [list(range(4)), list(range(5))]


def test_partitions_are_added_elected_and_reassigned(admin: Admin, orders: str) -> None:
    assert admin.create_partitions({orders: NewPartitions(3, [[1]]), "missing": 2})[orders] is None
    assert len(admin.describe_topic(orders).partitions) == 3
    with pytest.raises(KafkaError, match="never taken away"):
        admin.create_partitions({orders: 1}).result()
    tp = TP(orders, 0)
    assert code(admin.elect_leaders([tp])[tp]) is ErrorCode.ELECTION_NOT_NEEDED
    assert code(admin.elect_leaders([tp], ElectionType.UNCLEAN)[tp]) is ErrorCode.ELECTION_NOT_NEEDED
    assert admin.elect_leaders() == {}
    outcome = admin.alter_partition_reassignments({tp: [1], TP(orders, 1): [1, 9], TP(orders, 2): None})
    assert outcome[tp] is None
    assert code(outcome[TP(orders, 1)]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert code(outcome[TP(orders, 2)]) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert admin.list_partition_reassignments() == {}
    assert admin.list_partition_reassignments([tp]) == {}


def test_offsets_and_records(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    tp, other, missing = TP(orders, 0), TP(orders, 1), TP(orders, 7)
    fill(kafka, orders, 10, timestamp=1_000_000)
    when = datetime.fromtimestamp(1_000.004, UTC)
    assert admin.end_offsets([tp, other]) == {tp: 10, other: 0}
    assert admin.list_offsets({tp: when}).of(tp)[:2] == (4, 1_000_004)
    assert admin.list_offsets({tp: OffsetSpec.MAX_TIMESTAMP}).of(tp).offset == 9
    assert admin.list_offsets({tp: 2_000_000}).of(tp).offset == -1
    found = admin.delete_records({tp: 3, other: HIGH_WATERMARK, missing: 1}, timeout=8)
    assert (found[tp], found[other]) == (3, 0)
    assert code(found[missing]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.beginning_offsets([tp]) == {tp: 3}
    assert code(admin.delete_records({tp: 99})[tp]) is ErrorCode.OFFSET_OUT_OF_RANGE


# --- configs ----------------------------------------------------------------------------------------------------------


def test_configs_of_topics(admin: Admin, orders: str) -> None:
    resource = ConfigResource.topic(orders)
    admin.alter_config(resource, {"retention.ms": 5000, "cleanup.policy": Append("compact"), "preallocate": True})
    found = eventually(
        lambda: admin.describe_config(resource, synonyms=True, documentation=True),
        lambda found: found["retention.ms"].value == "5000",
    )
    assert found["retention.ms"].source is ConfigSource.DYNAMIC_TOPIC
    assert found["retention.ms"].type is ValueType.LONG
    assert found["retention.ms"].documentation
    assert found["retention.ms"].synonyms[0].name == "retention.ms"
    assert found["cleanup.policy"].value == "delete,compact"
    assert found["preallocate"].value == "true"
    admin.alter_config(resource, {"cleanup.policy": Subtract("delete"), "retention.ms": None})
    found = eventually(
        lambda: admin.describe_config(resource, keys=["cleanup.policy", "retention.ms"]),
        lambda found: found["retention.ms"].is_default,
    )
    assert {key: (each.value, each.is_default) for key, each in found.items()} == {
        "cleanup.policy": ("compact", False),
        "retention.ms": ("604800000", True),
    }
    both = admin.incremental_alter_configs(
        {resource: {"retention.ms": "soon"}, ConfigResource.topic("missing"): {"retention.ms": 1}}, validate_only=True
    )
    assert [code(each) for each in both.values()] == [
        ErrorCode.INVALID_CONFIG,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_configs_of_brokers_groups_and_client_metrics(admin: Admin) -> None:
    broker, everybody = ConfigResource.broker(1), ConfigResource.broker()
    group, metrics = ConfigResource.group("accounting"), ConfigResource.client_metrics("latencies")
    admin.incremental_alter_configs(
        {
            broker: {"log.cleaner.threads": 2},
            everybody: {"log.cleaner.backoff.ms": 20_000},
            ConfigResource.loggers(1): {"kafka.server.KafkaApis": "DEBUG"},
            group: {"consumer.session.timeout.ms": 50_000},
            metrics: {"interval.ms": 1000, "metrics": "org.apache.kafka.producer."},
        }
    ).result()
    expected = [
        (broker, "log.cleaner.threads", "2", ConfigSource.DYNAMIC_BROKER),
        (everybody, "log.cleaner.backoff.ms", "20000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
        (group, "consumer.session.timeout.ms", "50000", ConfigSource.DYNAMIC_GROUP),
        (metrics, "interval.ms", "1000", ConfigSource.DYNAMIC_CLIENT_METRICS),
    ]
    for resource, key, value, source in expected:
        eventually(
            lambda resource=resource, key=key: admin.describe_configs({resource: [key]}).of(resource)[key],
            lambda entry, value=value, source=source: (entry.value, entry.source) == (value, source),
        )
    levels = admin.describe_config(ConfigResource.loggers(1))
    assert levels["kafka.server.KafkaApis"].value == "DEBUG"
    assert admin.list_client_metrics_resources() == ["latencies"]
    assert {group, metrics} <= set(admin.list_config_resources())
    assert admin.list_config_resources([ConfigType.GROUP]) == [group]
    assert code(admin.describe_configs([ConfigResource.broker(7)])[ConfigResource.broker(7)]) is (
        ErrorCode.BROKER_NOT_AVAILABLE
    )
    with pytest.raises(KafkaError, match="describe_cluster"):
        admin.describe_config(ConfigResource.broker(7))


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_classic_group(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    group = f"classic-{orders}"
    fill(kafka, orders, 3)
    settings = {"bootstrap.servers": kafka.address, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = ConfluentConsumer({**settings, "group.instance.id": "one", "enable.auto.commit": False})
    consumer.subscribe([orders])
    assert consumer.poll(60) is not None
    consumer.commit(asynchronous=False)
    described = admin.describe_consumer_group(group, authorized_operations=True)
    assert (described.type, described.state) == (GroupType.CLASSIC, GroupState.STABLE)
    assert described.coordinator is not None
    assert described.coordinator.id == 1
    assert set(described.members[0].assignment) == {TP(orders, 0), TP(orders, 1)}
    assert described.members[0].instance_id == "one"
    assert AclOperation.READ in (described.authorized_operations or ())
    assert admin.describe_classic_groups([group]).of(group).assignor == "range"
    assert admin.list_groups(types=[GroupType.CLASSIC], states=[GroupState.STABLE])[group].protocol_type == "consumer"
    assert group in admin.list_consumer_groups()
    assert group in admin.groups()
    assert code(admin.delete_consumer_groups([group])[group]) is ErrorCode.NON_EMPTY_GROUP
    assert code(admin.delete_consumer_group_offsets(group, [TP(orders, 0)])[TP(orders, 0)]) is (
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    )
    removed = admin.remove_members_from_consumer_group(group, ["one", "two"])
    assert removed["one"] is None
    assert code(removed["two"]) is ErrorCode.UNKNOWN_MEMBER_ID
    consumer.close()
    assert eventually(lambda: admin.describe_consumer_group(group).state is GroupState.EMPTY)
    assert admin.group_offsets(group) == {TP(orders, 0): OffsetAndMetadata(1, 0, "")}
    admin.delete_group(group)
    with pytest.raises(KafkaError, match="list_groups"):
        admin.delete_group(group)
    admin.delete_group(group, missing_ok=True)


def test_all_members_are_removed(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    group = f"crowd-{orders}"
    consumer = ConfluentConsumer({"bootstrap.servers": kafka.address, "group.id": group})
    consumer.subscribe([orders])
    assert eventually(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()))
    members = admin.describe_consumer_group(group).members
    assert list(admin.remove_members_from_consumer_group(group).result()) == [members[0].member_id]
    consumer.close()


def test_a_group_of_the_new_protocol(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    group = f"new-{orders}"
    group_members.join_consumer(kafka.address, group, orders)
    described = admin.describe_consumer_group(group)
    assert described.type is GroupType.CONSUMER
    assert described.epoch is not None
    member = described.members[0]
    assert (member.member_id, member.subscribed_topics) == (group_members.MEMBER, (orders,))
    assert member.target_assignment is not None
    assert set(member.target_assignment) == {TP(orders, 0), TP(orders, 1)}
    assert admin.list_groups(types=[GroupType.CONSUMER])[group].type is GroupType.CONSUMER
    group_members.leave_consumer(kafka.address, group)
    assert admin.delete_consumer_groups([group]).result() == {group: None}
    missing = admin.describe_consumer_groups([group])
    assert code(missing[group]) is ErrorCode.GROUP_ID_NOT_FOUND


def test_offsets_of_groups(admin: Admin, orders: str) -> None:
    group, tp, other = f"reader-{orders}", TP(orders, 0), TP(orders, 1)
    altered = admin.alter_consumer_group_offsets(group, {tp: OffsetAndMetadata(5, 2, "half"), other: 7, TP("no", 0): 1})
    assert (altered[tp], altered[other]) == (None, None)
    assert code(altered[TP("no", 0)]) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert admin.group_offsets(group) == {tp: OffsetAndMetadata(5, 2, "half"), other: OffsetAndMetadata(7)}
    found = admin.list_consumer_group_offsets({group: [tp, TP(orders, 9)], "nobody": None}, require_stable=True)
    assert found.of(group) == {tp: OffsetAndMetadata(5, 2, "half"), TP(orders, 9): None}
    assert admin.delete_consumer_group_offsets(group, [other]).result() == {other: None}
    assert list(admin.group_offsets(group)) == [tp]


def test_share_groups(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    group, tp = f"share-{orders}", TP(orders, 0)
    fill(kafka, orders, 5)
    group_members.join_share(kafka.address, group, orders)
    described = admin.describe_share_groups([group]).of(group)
    assert (described.type, described.members[0].subscribed_topics) == (GroupType.SHARE, (orders,))
    assert admin.list_groups(types=[GroupType.SHARE])[group].protocol_type == "share"
    assert code(admin.alter_share_group_offsets(group, {tp: 2})[tp]) is ErrorCode.NON_EMPTY_GROUP
    group_members.leave_share(kafka.address, group)
    assert admin.alter_share_group_offsets(group, {tp: 2, TP(orders, 1): 0}).result().keys() == {tp, TP(orders, 1)}
    found = admin.list_share_group_offsets({group: [tp]}).of(group)
    assert found[tp].start_offset == 2
    assert set(admin.list_share_group_offsets([group]).of(group)) == {tp, TP(orders, 1)}
    assert admin.delete_share_group_offsets(group, [orders]).result() == {orders: None}
    assert admin.delete_share_groups([group]).result() == {group: None}


def test_streams_groups(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    group, tp = f"streams-{orders}", TP(orders, 0)
    group_members.join_streams(kafka.address, group, orders)
    described = admin.describe_streams_groups([group]).of(group)
    assert described.subtopologies[0].source_topics == (orders,)
    assert described.members[0].process_id == "process-1"
    assert described.members[0].client_tags == {"zone": "north"}
    group_members.leave_streams(kafka.address, group)
    assert admin.alter_streams_group_offsets(group, {tp: 4}).result() == {tp: None}
    assert admin.list_streams_group_offsets([group]).of(group) == {tp: OffsetAndMetadata(4)}
    assert admin.delete_streams_group_offsets(group, [tp]).result() == {tp: None}
    assert admin.delete_streams_groups([group]).result() == {group: None}


# --- transactions -----------------------------------------------------------------------------------------------------


def test_transactions(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    name, tp = f"job-{orders}", TP(orders, 0)
    producer = ConfluentProducer({"bootstrap.servers": kafka.address, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(orders, b"x", partition=0)
    producer.flush(60)
    (state,) = admin.describe_producers([tp]).of(tp)
    assert state.transaction_start_offset == 0
    assert admin.describe_producers([tp], broker=1).of(tp) == [state]
    found = admin.describe_transactions([name, "nobody"])
    described = found.of(name)
    assert (described.state, described.producer_id) == (TransactionState.ONGOING, state.producer_id)
    assert (described.partitions, described.coordinator) == (frozenset([tp]), 1)
    assert code(found["nobody"]) is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    listed = admin.list_transactions(states=[TransactionState.ONGOING], id_pattern="job-.*", longer_than_ms=0)
    assert [each.transactional_id for each in listed] == [name]
    assert admin.list_transactions(producer_ids=[state.producer_id + 999]) == []
    with pytest.raises(KafkaError):
        admin.abort_transaction(tp, state.producer_id, state.epoch - 1, 0)
    fenced = admin.fence_producers([name]).of(name)
    assert (fenced.producer_id, fenced.epoch > state.epoch) == (state.producer_id, True)
    assert eventually(lambda: admin.describe_producers([tp]).of(tp)[0].transaction_start_offset is None)
    admin.force_terminate_transaction(name)


def test_a_hanging_transaction_is_aborted_where_it_hangs(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    name, tp = f"stuck-{orders}", TP(orders, 1)
    producer = ConfluentProducer({"bootstrap.servers": kafka.address, "transactional.id": name})
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(orders, b"x", partition=1)
    producer.flush(60)
    (state,) = admin.describe_producers([tp]).of(tp)
    admin.abort_transaction(tp, state.producer_id, state.epoch, state.coordinator_epoch or 0)
    assert eventually(lambda: admin.describe_producers([tp]).of(tp)[0].transaction_start_offset is None)


# --- the cluster ------------------------------------------------------------------------------------------------------


def test_the_cluster(admin: Admin) -> None:
    found = admin.describe_cluster(authorized_operations=True, fenced_brokers=True)
    assert [node.id for node in found.nodes] == [1]
    assert found.controller is not None
    assert found.cluster_id
    assert AclOperation.ALTER in (found.authorized_operations or ())
    with pytest.raises(KafkaError) as refused:
        admin.unregister_broker(77)
    assert refused.value.code is ErrorCode.BROKER_ID_NOT_REGISTERED
    quorum = admin.describe_metadata_quorum()
    assert (quorum.leader, [voter.id for voter in quorum.voters]) == (1, [1])
    assert quorum.high_watermark > 0
    with pytest.raises(KafkaError):  # its voters are in its properties file, and cannot be changed
        admin.add_raft_voter(2, "AAAAAAAAAAAAAAAAAAAAQA", [Endpoint("CONTROLLER", "127.0.0.1", 1)], timeout=5)
    with pytest.raises(KafkaError):
        admin.remove_raft_voter(2, "AAAAAAAAAAAAAAAAAAAAQA", timeout=5)


def test_features(admin: Admin) -> None:
    found = admin.describe_features()
    assert found.finalized["metadata.version"].high >= 1
    assert found.supported["transaction.version"].high >= 2
    assert admin.describe_features(broker=1).finalized == found.finalized
    level = found.finalized["group.version"].high
    same = admin.update_features({"group.version": level}, validate_only=True)
    assert same.result() == {"group.version": None}
    with pytest.raises(KafkaError):
        admin.update_features({"group.version": FeatureUpdate(99, UpgradeType.UPGRADE)}).result()


def test_log_directories(admin: Admin, kafka: EverythingKafka, orders: str) -> None:
    fill(kafka, orders, 3)
    paths = {str(path) for path in kafka.directories}
    found = admin.describe_log_dirs().of(1)
    assert set(found) == paths
    assert all(each.total_bytes for each in found.values())
    replica = Replica(orders, 0, 1)
    place = admin.describe_replica_log_dirs([replica, Replica("missing", 0, 1)])
    here = place.of(replica).current
    assert here in paths
    assert place.of(Replica("missing", 0, 1)) == (None, None, None, None)
    assert found[str(here)].replicas[TP(orders, 0)].size > 0
    there = (paths - {str(here)}).pop()
    moved = admin.alter_replica_log_dirs(
        {replica: there, Replica(orders, 1, 1): "/nowhere", Replica(orders, 0, 9): "x"}
    )
    assert moved[replica] is None
    assert code(moved[Replica(orders, 1, 1)]) is ErrorCode.LOG_DIR_NOT_FOUND
    assert code(moved[Replica(orders, 0, 9)]) is ErrorCode.BROKER_NOT_AVAILABLE
    assert eventually(lambda: admin.describe_replica_log_dirs([replica]).of(replica).current == there)


# --- security ---------------------------------------------------------------------------------------------------------


def test_quotas(admin: Admin) -> None:
    alice, nobody, app = QuotaEntity(user="alice"), QuotaEntity(user=DEFAULT), QuotaEntity("alice", "app")
    address = QuotaEntity(ip="10.0.0.1")
    changes: dict[QuotaEntity, dict[str, float | None]] = {
        alice: {"producer_byte_rate": 1000.0, "request_percentage": 50},
        nobody: {"consumer_byte_rate": 2000.0},
        app: {"producer_byte_rate": 10},
        address: {"connection_creation_rate": 5},
        QuotaEntity(client_id="x"): {"no_such_key": 1},
    }
    altered = admin.alter_client_quotas(changes)
    assert code(altered[QuotaEntity(client_id="x")]) is ErrorCode.INVALID_REQUEST
    assert list(altered.ok) == [alice, nobody, app, address]
    assert eventually(lambda: len(admin.describe_client_quotas()) == 4)
    assert admin.describe_client_quotas(user="alice", strict=True) == {
        alice: {"producer_byte_rate": 1000.0, "request_percentage": 50.0}
    }
    assert set(admin.describe_client_quotas(user=ANY)) == {alice, nobody, app}
    assert admin.describe_client_quotas(user=DEFAULT) == {nobody: {"consumer_byte_rate": 2000.0}}
    admin.alter_client_quotas({alice: {"request_percentage": None}}, validate_only=True).result()
    admin.alter_client_quotas({alice: {"producer_byte_rate": None, "request_percentage": None}}).result()
    assert eventually(lambda: alice not in admin.describe_client_quotas(user=ANY))


def test_scram_users(admin: Admin, kafka: EverythingKafka) -> None:
    strong = ScramMechanism.SCRAM_SHA_512
    altered = admin.alter_user_scram_credentials(
        [
            ScramUpsertion("bob", "bobs", iterations=8192),
            ScramUpsertion("bob", "bobs", strong, salt=b"salt-of-bob"),
            ScramDeletion("carol"),
            ScramUpsertion("dave", "x", iterations=1),
        ]
    )
    assert altered["bob"] is None
    assert code(altered["carol"]) is ErrorCode.RESOURCE_NOT_FOUND
    assert code(altered["dave"]) is ErrorCode.UNACCEPTABLE_CREDENTIAL
    expected = (ScramCredential(ScramMechanism.SCRAM_SHA_256, 8192), ScramCredential(strong, 4096))
    found = eventually(
        lambda: admin.describe_user_scram_credentials(["bob", "carol"]), lambda found: found["bob"] == expected
    )
    assert code(found["carol"]) is ErrorCode.RESOURCE_NOT_FOUND
    assert admin.describe_user_scram_credentials() == {"bob": expected}
    settings = {**kafka.sasl_settings, "sasl.mechanism": "SCRAM-SHA-256"}
    settings |= {"sasl.username": "bob", "sasl.password": "bobs"}
    with Admin(settings) as bob:
        assert bob.describe_cluster().nodes
    admin.alter_user_scram_credentials([ScramDeletion("bob"), ScramDeletion("bob", strong)]).result()
    assert eventually(lambda: admin.describe_user_scram_credentials() == {})


def test_acls(admin: Admin) -> None:
    read = AclBinding("User:eve", AclOperation.READ, ResourceType.TOPIC, "pay-", PatternType.PREFIXED)
    deny = AclBinding(
        "User:eve", AclOperation.DELETE, ResourceType.GROUP, "g", host="10.0.0.1", permission=AclPermission.DENY
    )
    wrong = AclBinding("eve", AclOperation.READ, ResourceType.TOPIC, "x")
    made = admin.create_acls([read, deny, wrong])
    assert (made[read], made[deny]) == (None, None)
    assert isinstance(made[wrong], KafkaError)
    assert eventually(lambda: set(admin.describe_acls(AclFilter(principal="User:eve"))) == {read, deny})
    assert admin.describe_acls(AclFilter(resource=ResourceType.TOPIC, name="pay-roll", pattern=PatternType.MATCH)) == [
        read
    ]
    gone = admin.delete_acls([AclFilter(principal="User:eve"), AclFilter(principal="User:nobody")]).result()
    assert [each.result().keys() for each in gone.values()] == [{read, deny}, set()]
    assert eventually(lambda: admin.describe_acls() == [])


def test_delegation_tokens(admin: Admin, kafka: EverythingKafka) -> None:
    with pytest.raises(KafkaError, match="tokens are given over SASL") as refused:
        admin.create_delegation_token()
    assert refused.value.code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    with Admin(kafka.sasl_settings) as alice:
        token = alice.create_delegation_token(renewers=["User:bob"], max_lifetime_ms=3_600_000)
        assert (token.owner, token.requester, token.renewers) == ("User:alice", "User:alice", ("User:bob",))
        assert token.max_ms - token.issued_ms == 3_600_000
        assert eventually(lambda: alice.describe_delegation_token(["User:alice"]) == [token])
        assert alice.describe_delegation_token() == [token]
        assert token.issued_ms < alice.renew_delegation_token(token.hmac, renew_period_ms=60_000) <= token.max_ms
        alice.expire_delegation_token(token.hmac)
        assert eventually(lambda: alice.describe_delegation_token() == [])
        with pytest.raises(KafkaError, match="describe_delegation_token lists"):
            alice.renew_delegation_token(b"none")


def test_the_admin_itself(admin: Admin) -> None:
    with pytest.raises(KafkaError) as refused:  # no receiver of metrics is installed
        admin.client_instance_id()
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
    assert admin.metrics()["request-total"] > 0


def test_the_code_of_the_guide_runs(kafka: EverythingKafka) -> None:
    assert run_guide("admin", kafka.address, everything=True) >= 8
