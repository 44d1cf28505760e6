"""What the control-plane handlers answer: codes and values, as Apache Kafka gives them."""

from __future__ import annotations

import logging
import time

import pytest
from confluent_kafka import Producer

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.config_changes import check_group_values
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol import messages as m

CONFIG_TOPIC, CONFIG_BROKER, CONFIG_LOGGER, CONFIG_METRICS, CONFIG_GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def create(ask, name, partitions=1, factor=1, *, version=None, validate_only=False, configs=(), assignments=()):
    topic = m.CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[m.CreateTopicsRequest.CreatableTopicConfig(name=k, value=v) for k, v in configs],
        assignments=[
            m.CreateTopicsRequest.CreatableReplicaAssignment(partition_index=i, broker_ids=b) for i, b in assignments
        ],
    )
    return ask(m.CreateTopicsRequest(topics=[topic], validate_only=validate_only), version).topics[0]


def metadata(ask, *names, version=None, create=False):
    topics = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return ask(m.MetadataRequest(topics=topics, allow_auto_topic_creation=create), version)


def describe(ask, kind, name, keys=None):
    resource = m.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=keys
    )
    return ask(
        m.DescribeConfigsRequest(resources=[resource], include_synonyms=True, include_documentation=True)
    ).results[0]


def alter(ask, kind, name, *changes, validate_only=False):
    configs = [
        m.IncrementalAlterConfigsRequest.AlterableConfig(name=key, config_operation=op, value=value)
        for key, op, value in changes
    ]
    resource = m.IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=kind, resource_name=name, configs=configs
    )
    request = m.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)
    return ask(request).responses[0]


def value_of(result, name):
    return next(entry for entry in result.configs if entry.name == name)


# -- topics ----------------------------------------------------------------------------------------------------------


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


def test_metadata_creates_when_both_sides_allow_it(ask):
    assert metadata(ask, "by-the-way").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    made = metadata(ask, "by-the-way", create=True).topics[0]
    assert (made.error_code, len(made.partitions)) == (0, 2)
    assert metadata(ask, "not ok", create=True).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_metadata_by_id(ask):
    topic_id = create(ask, "by-id").topic_id
    Topic = m.MetadataRequest.MetadataRequestTopic
    answer = ask(m.MetadataRequest(topics=[Topic(topic_id=topic_id, name=None), Topic(topic_id=b"x" * 16, name=None)]))
    assert {(topic.name, topic.error_code) for topic in answer.topics} == {
        ("by-id", 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    refused = ask(m.MetadataRequest(topics=[Topic(topic_id=topic_id, name=None)]), 11)
    assert refused.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_large_metadata_is_kept_encoded_until_something_changes(ask, broker):
    create(ask, "large", 200)
    first = metadata(ask, "large")
    assert metadata(ask, "large") == first
    create(ask, "large-2", 1)
    assert len(ask(m.MetadataRequest(topics=None)).topics) > 2
    assert len(metadata(ask, "large").topics[0].partitions) == 200


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


def test_topic_partitions_page_by_page(ask):
    create(ask, "page-a", 3)
    create(ask, "page-b", 2)
    Topic = m.DescribeTopicPartitionsRequest.TopicRequest
    wanted = [Topic(name="page-a"), Topic(name="page-b"), Topic(name="page-none")]
    seen, cursor = [], None
    for _ in range(6):
        answer = ask(m.DescribeTopicPartitionsRequest(topics=wanted, response_partition_limit=2, cursor=cursor))
        seen += [(t.name, p.partition_index) for t in answer.topics for p in t.partitions]
        if answer.next_cursor is None:
            break
        cursor = m.DescribeTopicPartitionsRequest.Cursor(
            topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index
        )
    assert seen == [("page-a", 0), ("page-a", 1), ("page-a", 2), ("page-b", 0), ("page-b", 1)]
    assert answer.topics[-1].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- configs ---------------------------------------------------------------------------------------------------------


def test_a_topic_config_shows_its_sources(ask):
    create(ask, "configured", configs=[("segment.ms", "1000")])
    entry = value_of(describe(ask, CONFIG_TOPIC, "configured"), "segment.ms")
    assert (entry.value, entry.config_source, entry.config_type) == ("1000", 1, 5)
    assert [(s.name, s.value, s.source) for s in entry.synonyms] == [("segment.ms", "1000", 1)]
    assert entry.documentation
    only = describe(ask, CONFIG_TOPIC, "configured", ["segment.ms", "retention.ms"])
    assert {entry.name for entry in only.configs} == {"segment.ms", "retention.ms"}


def test_a_topic_config_takes_effect_at_once(ask, broker):
    create(ask, "live")
    log = next(p.log for p in broker.server.replicas.partitions() if p.tp.topic == "live")
    assert (
        alter(ask, CONFIG_TOPIC, "live", ("retention.ms", SET, "5"), ("cleanup.policy", APPEND, "compact")).error_code
        == 0
    )
    assert (log.config.retention_ms, sorted(log.config.cleanup_policy)) == (5, ["compact", "delete"])
    assert (
        alter(
            ask, CONFIG_TOPIC, "live", ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)
        ).error_code
        == 0
    )
    assert (log.config.retention_ms, sorted(log.config.cleanup_policy)) == (604_800_000, ["compact"])


@pytest.mark.parametrize(
    ("kind", "name", "change", "code"),
    [
        (CONFIG_TOPIC, "none", ("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (CONFIG_TOPIC, "", ("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_TOPIC, "target", ("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (CONFIG_TOPIC, "target", ("retention.ms", SET, "x"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_TOPIC, "target", ("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "7", ("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "x", ("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "1", ("num.partitions", SET, "1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "", ("listeners", SET, "PLAINTEXT://:1"), ErrorCode.INVALID_REQUEST),
        (CONFIG_BROKER, "1", ("log.retention.ms", SET, "x"), ErrorCode.INVALID_REQUEST),
        (CONFIG_LOGGER, "1", ("no.such", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (CONFIG_LOGGER, "1", ("root", SET, "LOUD"), ErrorCode.INVALID_CONFIG),
        (CONFIG_LOGGER, "1", ("root", DELETE, None), ErrorCode.INVALID_REQUEST),
        (CONFIG_GROUP, "g", ("no.such", SET, "1"), ErrorCode.INVALID_CONFIG),
        (CONFIG_GROUP, "", ("consumer.session.timeout.ms", SET, "50000"), ErrorCode.INVALID_REQUEST),
        (99, "x", ("a", SET, "b"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_changes_refused(ask, kind, name, change, code):
    create(ask, "target")
    answer = alter(ask, kind, name, change)
    assert answer.error_code == code
    assert answer.error_message


def test_broker_configs_layer_over_each_other_and_reach_the_logs(ask, broker):
    create(ask, "inherits")
    log = next(p.log for p in broker.server.replicas.partitions() if p.tp.topic == "inherits")
    try:
        assert alter(ask, CONFIG_BROKER, "", ("log.retention.ms", SET, "7000")).error_code == 0
        assert log.config.retention_ms == 7000
        assert alter(ask, CONFIG_BROKER, "1", ("log.retention.ms", SET, "8000")).error_code == 0
        assert log.config.retention_ms == 8000
        entry = value_of(describe(ask, CONFIG_BROKER, "1"), "log.retention.ms")
        assert (entry.value, entry.config_source, entry.read_only) == ("8000", 2, False)
        assert [(s.value, s.source) for s in entry.synonyms] == [("8000", 2), ("7000", 3), ("168", 5)]
        assert [e.name for e in describe(ask, CONFIG_BROKER, "").configs] == ["log.retention.ms"]
        topic = value_of(describe(ask, CONFIG_TOPIC, "inherits"), "retention.ms")
        assert (topic.value, topic.config_source) == ("8000", 2)
    finally:
        alter(ask, CONFIG_BROKER, "1", ("log.retention.ms", DELETE, None))
        alter(ask, CONFIG_BROKER, "", ("log.retention.ms", DELETE, None))
    assert log.config.retention_ms == 604_800_000


def test_passwords_are_never_shown(ask):
    assert alter(ask, CONFIG_BROKER, "1", ("ssl.keystore.password", SET, "secret")).error_code == 0
    entry = value_of(describe(ask, CONFIG_BROKER, "1"), "ssl.keystore.password")
    assert (entry.value, entry.is_sensitive) == (None, True)
    assert all(synonym.value is None for synonym in entry.synonyms)
    alter(ask, CONFIG_BROKER, "1", ("ssl.keystore.password", DELETE, None))


def test_levels_of_loggers_change_while_it_runs(ask):
    name = "tidelog.requests"
    assert alter(ask, CONFIG_LOGGER, "1", (name, SET, "DEBUG")).error_code == 0
    assert logging.getLogger(name).level == logging.DEBUG
    assert value_of(describe(ask, CONFIG_LOGGER, "1"), name).value == "DEBUG"
    assert alter(ask, CONFIG_LOGGER, "1", (name, DELETE, None)).error_code == 0
    assert logging.getLogger(name).level == logging.NOTSET


def test_the_old_alter_replaces_everything(ask):
    create(ask, "old-style", configs=[("retention.ms", "1"), ("segment.ms", "2")])
    resource = m.AlterConfigsRequest.AlterConfigsResource(
        resource_type=CONFIG_TOPIC,
        resource_name="old-style",
        configs=[m.AlterConfigsRequest.AlterableConfig(name="flush.ms", value="3")],
    )
    assert ask(m.AlterConfigsRequest(resources=[resource])).responses[0].error_code == 0
    set_now = {e.name: e.value for e in describe(ask, CONFIG_TOPIC, "old-style").configs if e.config_source == 1}
    assert set_now == {"flush.ms": "3"}
    twice = ask(m.AlterConfigsRequest(resources=[resource, resource])).responses
    assert [r.error_code for r in twice] == [ErrorCode.INVALID_REQUEST] * 2


def test_groups_and_client_metrics_have_configs_too(ask):
    assert alter(ask, CONFIG_GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")).error_code == 0
    entry = value_of(describe(ask, CONFIG_GROUP, "g"), "consumer.session.timeout.ms")
    assert (entry.value, entry.config_source) == ("50000", 8)
    assert alter(ask, CONFIG_METRICS, "m", ("interval.ms", SET, "1000")).error_code == 0
    assert value_of(describe(ask, CONFIG_METRICS, "m"), "interval.ms").value == "1000"
    listed = ask(m.ListConfigResourcesRequest(resource_types=[CONFIG_GROUP, CONFIG_METRICS]))
    assert [(r.resource_name, r.resource_type) for r in listed.config_resources] == [("g", 32), ("m", 16)]
    assert [r.resource_name for r in ask(m.ListConfigResourcesRequest(), 0).config_resources] == ["m"]


@pytest.mark.parametrize(
    ("values", "limit"),
    [
        ({"consumer.session.timeout.ms": "44999"}, "group.consumer.min.session.timeout.ms"),
        ({"consumer.session.timeout.ms": "60001"}, "group.consumer.max.session.timeout.ms"),
        ({"consumer.heartbeat.interval.ms": "4999"}, "group.consumer.min.heartbeat.interval.ms"),
        ({"consumer.heartbeat.interval.ms": "15001"}, "group.consumer.max.heartbeat.interval.ms"),
        ({"consumer.assignment.interval.ms": "15001"}, "group.consumer.max.assignment.interval.ms"),
        ({"share.record.lock.duration.ms": "14999"}, "group.share.min.record.lock.duration.ms"),
        ({"share.session.timeout.ms": "60001"}, "group.share.max.session.timeout.ms"),
        ({"consumer.session.timeout.ms": "45000", "consumer.heartbeat.interval.ms": "15000"}, None),
        ({"consumer.session.timeout.ms": "60000", "consumer.assignment.interval.ms": "0"}, None),
        ({"share.record.lock.duration.ms": "15000"}, None),
    ],
)
def test_a_group_keeps_within_the_brokers_limits(ask, values, limit):
    """As Apache Kafka 4.3.1 answers."""
    answer = alter(
        ask, CONFIG_GROUP, "bounded", *((name, SET, value) for name, value in values.items()), validate_only=True
    )
    assert answer.error_code == (ErrorCode.INVALID_CONFIG if limit else ErrorCode.NONE)
    assert limit is None or f"than or equal to {limit} (" in answer.error_message


def test_a_groups_session_outlasts_its_heartbeat():
    config = BrokerConfig({"log.dirs": "unused", "group.consumer.min.session.timeout.ms": "1000"})
    check_group_values({"consumer.session.timeout.ms": "5001"}, config)
    with pytest.raises(KafkaError, match=r"greater than consumer\.heartbeat\.interval\.ms"):
        check_group_values({"consumer.session.timeout.ms": "5000"}, config)


# -- cluster ---------------------------------------------------------------------------------------------------------


def test_the_cluster_is_described(ask, broker):
    answer = ask(m.DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert answer.cluster_id == broker.server.metadata.cluster_id
    assert [(b.broker_id, b.host, b.port) for b in answer.brokers] == [(1, "127.0.0.1", broker.port)]
    assert answer.controller_id == 1
    assert answer.cluster_authorized_operations == 8096
    assert ask(m.DescribeClusterRequest(endpoint_type=2)).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE


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


def test_what_needs_security_is_refused_with_kafkas_codes(ask):
    known = {"operation": 3, "permission_type": 3}
    assert ask(m.DescribeAclsRequest(resource_type_filter=2, **known)).error_code == ErrorCode.SECURITY_DISABLED
    creation = m.CreateAclsRequest.AclCreation(
        resource_type=2, resource_name="x", principal="User:a", host="*", **known
    )
    assert ask(m.CreateAclsRequest(creations=[creation])).results[0].error_code == ErrorCode.SECURITY_DISABLED
    asked = m.DeleteAclsRequest.DeleteAclsFilter(resource_type_filter=2, **known)
    assert ask(m.DeleteAclsRequest(filters=[asked])).filter_results[0].error_code == ErrorCode.SECURITY_DISABLED
    assert ask(m.CreateDelegationTokenRequest()).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    assert ask(m.DescribeDelegationTokenRequest()).error_code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


def test_quorum_features_and_registration(ask):
    topic = m.DescribeQuorumRequest.TopicData(
        topic_name="__cluster_metadata", partitions=[m.DescribeQuorumRequest.PartitionData(partition_index=0)]
    )
    quorum = ask(m.DescribeQuorumRequest(topics=[topic])).topics[0].partitions[0]
    assert (quorum.error_code, quorum.leader_id, [v.replica_id for v in quorum.current_voters]) == (0, 1, [1])
    assert ask(m.UnregisterBrokerRequest(broker_id=7)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    update = m.UpdateFeaturesRequest.FeatureUpdateKey(feature="metadata.version", max_version_level=99)
    assert ask(m.UpdateFeaturesRequest(feature_updates=[update])).error_code == ErrorCode.INVALID_UPDATE_VERSION


def test_scram_credentials_are_kept(ask):
    Up = m.AlterUserScramCredentialsRequest.ScramCredentialUpsertion
    up = Up(name="alice", mechanism=1, iterations=4096, salt=b"salt", salted_password=b"x" * 32)
    assert ask(m.AlterUserScramCredentialsRequest(upsertions=[up])).results[0].error_code == 0
    described = ask(m.DescribeUserScramCredentialsRequest(users=None)).results
    assert [(r.user, [(c.mechanism, c.iterations) for c in r.credential_infos]) for r in described] == [
        ("alice", [(1, 4096)])
    ]
    weak = Up(name="bob", mechanism=1, iterations=10, salt=b"", salted_password=b"")
    assert ask(m.AlterUserScramCredentialsRequest(upsertions=[weak])).results[0].error_code == (
        ErrorCode.UNACCEPTABLE_CREDENTIAL
    )
    gone = m.AlterUserScramCredentialsRequest.ScramCredentialDeletion(name="alice", mechanism=1)
    assert ask(m.AlterUserScramCredentialsRequest(deletions=[gone])).results[0].error_code == 0
    assert (
        ask(m.AlterUserScramCredentialsRequest(deletions=[gone])).results[0].error_code == ErrorCode.RESOURCE_NOT_FOUND
    )
    user = m.DescribeUserScramCredentialsRequest.UserName(name="alice")
    assert (
        ask(m.DescribeUserScramCredentialsRequest(users=[user])).results[0].error_code == ErrorCode.RESOURCE_NOT_FOUND
    )


def test_client_quotas_are_kept_and_filtered(ask):
    Entry, Entity, Op = (
        m.AlterClientQuotasRequest.EntryData,
        m.AlterClientQuotasRequest.EntityData,
        m.AlterClientQuotasRequest.OpData,
    )

    def set_quota(entity, key, value, *, remove=False):
        parts = [Entity(entity_type=kind, entity_name=name) for kind, name in entity.items()]
        entry = Entry(entity=parts, ops=[Op(key=key, value=value, remove=remove)])
        return ask(m.AlterClientQuotasRequest(entries=[entry])).entries[0].error_code

    def filtered(*components, strict=False):
        Component = m.DescribeClientQuotasRequest.ComponentData
        parts = [Component(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
        answer = ask(m.DescribeClientQuotasRequest(components=parts, strict=strict))
        return {
            tuple((e.entity_type, e.entity_name) for e in entry.entity): {v.key: v.value for v in entry.values}
            for entry in answer.entries
        }

    assert set_quota({"user": "a/b"}, "producer_byte_rate", 1000) == 0
    assert set_quota({"user": None, "client-id": "c"}, "request_percentage", 12.5) == 0
    assert set_quota({"ip": "10.0.0.1"}, "connection_creation_rate", 5) == 0
    assert set_quota({"user": "u"}, "connection_creation_rate", 5) == ErrorCode.INVALID_REQUEST
    assert set_quota({"user": "u"}, "producer_byte_rate", -1) == ErrorCode.INVALID_REQUEST
    assert set_quota({"team": "u"}, "producer_byte_rate", 1) == ErrorCode.INVALID_REQUEST
    assert filtered(("user", 0, "a/b")) == {(("user", "a/b"),): {"producer_byte_rate": 1000.0}}
    assert set(filtered(("user", 2, None))) == {(("user", "a/b"),), (("user", None), ("client-id", "c"))}
    assert set(filtered(("user", 2, None), strict=True)) == {(("user", "a/b"),)}
    assert len(filtered()) == 3
    assert set_quota({"user": "a/b"}, "producer_byte_rate", 0, remove=True) == 0
    assert len(filtered()) == 2


# -- log directories -------------------------------------------------------------------------------------------------


def test_a_replica_moves_to_another_directory_while_it_serves(ask, broker):
    create(ask, "moves", 1)
    producer = Producer({"bootstrap.servers": broker.address})
    for index in range(500):
        producer.produce("moves", str(index).encode() * 100)
    assert producer.flush(60) == 0

    def places():
        results = ask(m.DescribeLogDirsRequest(topics=None)).results
        assert all(result.total_bytes > result.usable_bytes >= 0 for result in results)
        return {
            result.log_dir: p for result in results for t in result.topics if t.name == "moves" for p in t.partitions
        }

    (here,) = places()
    size = places()[here].partition_size
    other = next(str(d.path) for d in broker.server.log_manager.dirs if str(d.path) != here)

    def move(path, partition=0):
        topic = m.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name="moves", partitions=[partition])
        wanted = m.AlterReplicaLogDirsRequest.AlterReplicaLogDir(path=path, topics=[topic])
        return ask(m.AlterReplicaLogDirsRequest(dirs=[wanted])).results[0].partitions[0].error_code

    assert move("/nowhere") == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(other, 9) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(here) == 0
    assert move(other) == 0
    deadline = time.monotonic() + 120
    while set(places()) != {other} and time.monotonic() < deadline:
        time.sleep(0.02)
    assert places()[other].partition_size == size
    producer.produce("moves", b"after")
    assert producer.flush(60) == 0
    assert (
        broker.server.replicas.partition(next(iter(broker.server.replicas.hosted("moves")))).log.log_end_offset == 501
    )


def test_limits_of_one_listener_are_checked_and_take_effect(ask, broker):
    name = "listener.name.plaintext.max.connections"
    for wrong in ("-5", "many"):
        assert alter(ask, CONFIG_BROKER, "1", (name, SET, wrong)).error_code == ErrorCode.INVALID_REQUEST
    assert alter(ask, CONFIG_BROKER, "1", (name, SET, "777")).error_code == 0
    assert broker.server.network.table.limits.of("PLAINTEXT").max_connections == 777
    assert alter(ask, CONFIG_BROKER, "1", (name, DELETE, None)).error_code == 0
    assert broker.server.network.table.limits.of("PLAINTEXT").max_connections == (1 << 31) - 1


def test_a_deleted_topic_is_missed_once_before_it_is_made_anew(ask):
    create(ask, "phoenix")
    ask(m.DeleteTopicsRequest(topic_names=["phoenix"], timeout_ms=60_000), 5)
    first, second = (metadata(ask, "phoenix", create=True).topics[0] for _ in range(2))
    assert (first.error_code, len(first.partitions)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    assert (second.error_code, len(second.partitions)) == (0, 2)
    assert metadata(ask, "never-seen", create=True).topics[0].error_code == 0, "a new name is in the first answer"


def test_a_broker_shows_the_id_that_it_found_for_itself(ask):
    result = describe(ask, CONFIG_BROKER, "1")
    assert [value_of(result, name).value for name in ("node.id", "broker.id")] == ["1", "1"]
    assert value_of(result, "node.id").config_source == 4
