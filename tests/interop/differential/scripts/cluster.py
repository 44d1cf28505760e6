"""The cluster and its storage: brokers, features, quorum, directories, elections, reassignments, quotas."""

from __future__ import annotations

import random
from typing import Any

from interop.differential.mutate import mutations
from interop.differential.scripts.data import fill
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    AlterClientQuotasRequest,
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    ApiVersionsRequest,
    DescribeClientQuotasRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    ElectLeadersRequest,
    GetTelemetrySubscriptionsRequest,
    ListPartitionReassignmentsRequest,
    PushTelemetryRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
    UnregisterBrokerRequest,
    UpdateFeaturesRequest,
)


def api_versions(s: Session) -> None:
    """Name and version of the client; the keys themselves have a test of their own."""
    for version in [*s.versions(ApiKey.API_VERSIONS)]:
        request = ApiVersionsRequest(client_software_name="differ", client_software_version="1.0")
        s.ask("as it should be", request, version)
        if version >= 3:
            for mutation in mutations(request, version):
                s.ask(mutation.label, mutation.apply(ApiVersionsRequest(**_software())), version)
    for version in (9, 99, 32767):
        s.ask_raw(f"version {version}", ApiKey.API_VERSIONS, version, b"\x01\x01\x00")


def sasl(s: Session) -> None:
    """Authentication where there is none."""
    for version in s.versions(ApiKey.SASL_HANDSHAKE):
        for mechanism in ("PLAIN", "", "NO-SUCH"):
            s.ask(f"handshake {mechanism!r}", SaslHandshakeRequest(mechanism=mechanism), version)
    for version in s.versions(ApiKey.SASL_AUTHENTICATE):
        for data in (b"", b"\0user\0secret"):
            s.ask(f"authenticate {data!r}", SaslAuthenticateRequest(auth_bytes=data), version)


def _software() -> dict[str, Any]:
    return {"client_software_name": "differ", "client_software_version": "1.0"}


def telemetry(s: Session) -> None:
    """Client metrics where nobody takes them: not advertised, answered nevertheless (by Kafka 4; 3.9 is stricter)."""
    if not s.versions(ApiKey.DESCRIBE_CLUSTER):
        return

    def instance(number: int) -> bytes:
        return random.Random(f"{s.prefix}{number}").randbytes(16)

    def ask(label: str, client_id: bytes) -> int:
        found = s.ask(label, GetTelemetrySubscriptionsRequest(client_instance_id=client_id), 0)
        return int(found.subscription_id)

    def push(label: str, client_id: bytes, subscription_id: int, **fields: Any) -> None:
        fields = {"metrics": b"metrics", **fields}
        request = PushTelemetryRequest(client_instance_id=client_id, subscription_id=subscription_id, **fields)
        s.ask(label, request, 0)

    for label, client_id in (("no id", bytes(16)), ("a reserved id", (1).to_bytes(16, "big"))):
        found = s.do(GetTelemetrySubscriptionsRequest(client_instance_id=client_id), 0)
        known = found.client_instance_id in (bytes(16), client_id)
        s.note(label, ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, 0, (found.error_code, known, found.requested_metrics))
        push(label, client_id, 1)
    first = ask("an id", instance(1))
    ask("the same id again", instance(1))
    push("as it should be", instance(1), first)
    push("too early", instance(1), first)
    push("too early, but the last", instance(1), first, terminating=True)
    push("after the last", instance(1), first)
    push("never asked", instance(2), 5)
    ask("after a wrong subscription", instance(2))
    push("another subscription", instance(2), 5)
    for number, codec in enumerate((-1, 0, 4, 5, 127), 10):
        push(f"codec {codec}", instance(number), ask("an id", instance(number)), compression_type=codec)
    push("too large", instance(20), ask("an id", instance(20)), metrics=bytes((1 << 20) + 1))
    push("empty", instance(21), ask("an id", instance(21)), metrics=b"")


def describe_cluster(s: Session) -> None:
    for version in s.versions(ApiKey.DESCRIBE_CLUSTER):
        s.ask("as it should be", DescribeClusterRequest(), version)
        for mutation in mutations(DescribeClusterRequest(), version, values={"endpoint_type": [-1, 0, 2, 3, 127]}):
            s.ask(mutation.label, mutation.apply(DescribeClusterRequest()), version)


def log_dirs(s: Session) -> None:
    topic = s.topic(2)
    fill(s, topic)
    Topic = DescribeLogDirsRequest.DescribableLogDirTopic
    for version in s.versions(ApiKey.DESCRIBE_LOG_DIRS):

        def base() -> DescribeLogDirsRequest:
            return DescribeLogDirsRequest(topics=[Topic(topic=topic, partitions=[0, 1])])

        s.ask("as it should be", base(), version)
        for mutation in mutations(base(), version, values={"partitions": [0, 5, -1]}):
            if mutation.label != "topics=null":
                s.ask(mutation.label, mutation.apply(base()), version)
    Dir, DirTopic = AlterReplicaLogDirsRequest.AlterReplicaLogDir, AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic
    for version in s.versions(ApiKey.ALTER_REPLICA_LOG_DIRS):

        def move() -> AlterReplicaLogDirsRequest:
            return AlterReplicaLogDirsRequest(
                dirs=[Dir(path="/no/such/dir", topics=[DirTopic(name=topic, partitions=[0])])]
            )

        s.ask("unknown directory", move(), version)
        for mutation in mutations(move(), version, values={"path": ["", "relative", "/"], "partitions": [0, 5, -1]}):
            s.ask(mutation.label, mutation.apply(move()), version)


def elect_leaders(s: Session) -> None:
    topic = s.topic(2)
    Topic = ElectLeadersRequest.TopicPartitions
    for version in s.versions(ApiKey.ELECT_LEADERS):

        def base() -> ElectLeadersRequest:
            return ElectLeadersRequest(topic_partitions=[Topic(topic=topic, partitions=[0])], timeout_ms=60_000)

        s.ask("as it should be", base(), version)
        values = {"election_type": [-1, 0, 1, 2, 127], "partitions": [0, 1, 2, -1], "timeout_ms": [30_000]}
        for mutation in mutations(base(), version, values=values):
            if mutation.label != "topic_partitions=null":
                s.ask(mutation.label, mutation.apply(base()), version)


def reassignments(s: Session) -> None:
    topic = s.topic(2)
    Topic = AlterPartitionReassignmentsRequest.ReassignableTopic
    Part = AlterPartitionReassignmentsRequest.ReassignablePartition
    for version in s.versions(ApiKey.ALTER_PARTITION_REASSIGNMENTS):

        def base() -> AlterPartitionReassignmentsRequest:
            part = Part(partition_index=0, replicas=[1])
            return AlterPartitionReassignmentsRequest(topics=[Topic(name=topic, partitions=[part])], timeout_ms=60_000)

        s.ask("as it should be", base(), version)
        values = {"replicas": [0, 7, -1], "partition_index": [1, 2, -1], "timeout_ms": [30_000]}
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
    Listed = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
    for version in s.versions(ApiKey.LIST_PARTITION_REASSIGNMENTS):

        def ask() -> ListPartitionReassignmentsRequest:
            return ListPartitionReassignmentsRequest(
                topics=[Listed(name=topic, partition_indexes=[0])], timeout_ms=60_000
            )

        s.ask("as it should be", ask(), version)
        for mutation in mutations(ask(), version, values={"partition_indexes": [0, 5, -1], "timeout_ms": [30_000]}):
            s.ask(mutation.label, mutation.apply(ask()), version)


def quotas(s: Session) -> None:
    Entry, Entity, Op = (
        AlterClientQuotasRequest.EntryData,
        AlterClientQuotasRequest.EntityData,
        AlterClientQuotasRequest.OpData,
    )
    user = s.fresh("user")
    for version in s.versions(ApiKey.ALTER_CLIENT_QUOTAS):

        def base() -> AlterClientQuotasRequest:
            entity = [Entity(entity_type="user", entity_name=user)]
            ops = [Op(key="producer_byte_rate", value=1000.0)]
            return AlterClientQuotasRequest(entries=[Entry(entity=entity, ops=ops)], validate_only=True)

        s.ask("as it should be", base(), version)
        values = {
            "entity_type": ["client-id", "ip", "", "group", "User"],
            "entity_name": [None, "", "x" * 300, "*", "127.0.0.1", "a b"],
            "key": [
                "consumer_byte_rate",
                "request_percentage",
                "controller_mutation_rate",
                "",
                "no_such",
                "connection_creation_rate",
            ],
            "value": [0.0, -1.0, 1.5, float("nan"), float("inf"), 1e300],
        }
        for mutation in mutations(base(), version, values=values, skip={"validate_only"}):
            s.ask(mutation.label, mutation.apply(base()), version)
        for ip in ("127.0.0.1", "not an ip", "::1", None):
            request = base()
            request.entries[0].entity = [Entity(entity_type="ip", entity_name=ip)]
            request.entries[0].ops = [Op(key="connection_creation_rate", value=5.0)]
            s.ask(f"ip {ip}", request, version)
        request = base()
        request.validate_only = False
        s.ask("for real", request, version)
        s.settle()
    Component = DescribeClientQuotasRequest.ComponentData
    for version in s.versions(ApiKey.DESCRIBE_CLIENT_QUOTAS):

        def ask() -> DescribeClientQuotasRequest:
            component = Component(entity_type="user", match_type=0, match=user)
            return DescribeClientQuotasRequest(components=[component], strict=False)

        s.ask("as it should be", ask(), version)
        values = {"entity_type": ["client-id", "ip", "", "group"], "match_type": [-1, 1, 3], "match": [None, "", "x"]}
        for mutation in mutations(ask(), version, values=values):
            if mutation.label != "components=[]":
                s.ask(mutation.label, mutation.apply(ask()), version)


def features(s: Session) -> None:
    Update = UpdateFeaturesRequest.FeatureUpdateKey
    for version in s.versions(ApiKey.UPDATE_FEATURES):

        def base(version: int = version) -> UpdateFeaturesRequest:
            update = Update(feature="no.such.feature", max_version_level=1)
            return UpdateFeaturesRequest(feature_updates=[update], timeout_ms=60_000)

        s.ask("unknown feature", base(), version)
        values = {
            "feature": ["", "metadata.version"],
            "max_version_level": [-1, 0, 99, 32767],
            "upgrade_type": [-1, 0, 2, 3, 127],
            "timeout_ms": [30_000],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
    for version in s.versions(ApiKey.UNREGISTER_BROKER):
        for broker in (-1, 5, 2**31 - 1):
            s.ask(f"unregister {broker}", UnregisterBrokerRequest(broker_id=broker), version)
