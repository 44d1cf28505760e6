"""Configurations: describing them, and changing them the old way and the new."""

from __future__ import annotations

from interop.differential.mutate import mutations
from interop.differential.scripts.topics import BAD_CONFIGS
from interop.differential.session import Session
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
KEYS = ["retention.ms", "cleanup.policy", "segment.bytes", "min.insync.replicas", "no.such.key", "index.interval.bytes"]
BROKER_KEYS = [
    "log.retention.ms",
    "log.retention.hours",
    "num.network.threads",
    "log.cleaner.threads",
    "background.threads",
    "message.max.bytes",
    "no.such.key",
    "log.segment.bytes",
    "auto.create.topics.enable",
    "compression.type",
    "num.partitions",
    "default.replication.factor",
    "group.initial.rebalance.delay.ms",
    "offsets.topic.num.partitions",
    "transactional.id.expiration.ms",
    "max.connections",
    "max.connections.per.ip",
    "socket.request.max.bytes",
    "listener.name.plaintext.max.connections",
    "log.cleaner.delete.retention.ms",
    "unclean.leader.election.enable",
    "ssl.keystore.password",
]


def describe(s: Session) -> None:
    topic = s.topic(1, {"retention.ms": "5000", "cleanup.policy": "compact"})
    Resource = DescribeConfigsRequest.DescribeConfigsResource
    for version in s.versions(ApiKey.DESCRIBE_CONFIGS):

        def base() -> DescribeConfigsRequest:
            resource = Resource(resource_type=TOPIC, resource_name=topic, configuration_keys=list(KEYS))
            return DescribeConfigsRequest(resources=[resource])

        s.ask("as it should be", base(), version)
        values = {
            "resource_type": [-1, 0, 1, 3, BROKER, LOGGER, CLIENT_METRICS, GROUP, 64, 127],
            "configuration_keys": ["retention.ms", "", "no.such.key"],
        }
        for mutation in mutations(base(), version, values=values):
            s.ask(mutation.label, mutation.apply(base()), version)
        for synonyms in (False, True) if version >= 1 else (False,):
            for kind, name, keys in (
                (TOPIC, topic, None),
                (TOPIC, topic, ["cleanup.policy", "min.compaction.lag.ms"]),
                (BROKER, "1", BROKER_KEYS),
                (BROKER, "", BROKER_KEYS),
                (BROKER, "7", BROKER_KEYS),
                (BROKER, "one", BROKER_KEYS),
                (BROKER, "-1", BROKER_KEYS),
                (LOGGER, "7", None),
                (LOGGER, "", None),
                (CLIENT_METRICS, "", None),
                (CLIENT_METRICS, "m", None),
                (GROUP, "", None),
                (GROUP, "g", None),
            ):
                resource = Resource(resource_type=kind, resource_name=name, configuration_keys=keys)
                request = DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms)
                label = "topic" if name == topic else name
                s.ask(f"{kind} {label!r} {keys and len(keys)} keys, synonyms {synonyms}", request, version)


def alter(s: Session) -> None:
    Resource, Config = AlterConfigsRequest.AlterConfigsResource, AlterConfigsRequest.AlterableConfig
    for version in s.versions(ApiKey.ALTER_CONFIGS):
        topic = s.topic(1, {"segment.bytes": "2000000"})

        def base(topic: str = topic) -> AlterConfigsRequest:
            configs = [Config(name="retention.ms", value="7000")]
            return AlterConfigsRequest(resources=[Resource(resource_type=TOPIC, resource_name=topic, configs=configs)])

        s.ask("as it should be", base(), version)
        values = {"resource_type": [-1, 0, 1, 3, LOGGER, CLIENT_METRICS, GROUP, 64, 127]}
        for mutation in mutations(base(), version, values=values):
            # Kafka 4.3 never answers to a resource that is named twice
            if mutation.label != "resources=twice" and "__consumer_offsets" not in mutation.label:
                s.ask(mutation.label, mutation.apply(base()), version)
        for key, value in BAD_CONFIGS:
            request = base()
            request.resources[0].configs = [Config(name=key, value=value)]
            s.ask(f"{key}={value}", request, version)
        for name in ("1", "", "7", "one"):
            for key, value in BROKER_CHANGES:
                config = Config(name=key, value=value)
                resource = Resource(resource_type=BROKER, resource_name=name, configs=[config])
                request = AlterConfigsRequest(resources=[resource], validate_only=True)
                s.ask(f"broker {name!r}: {key}={value}", request, version)
        _describe_again(s, topic)


BROKER_CHANGES = (
    ("log.retention.ms", "100000"),
    ("log.cleaner.threads", "2"),
    ("log.cleaner.threads", "0"),
    ("log.cleaner.threads", "many"),
    ("num.io.threads", "100000"),
    ("message.max.bytes", "-5"),
    ("node.id", "3"),
    ("listeners", "PLAINTEXT://x:1"),
    ("no.such.key", "1"),
    ("log.dirs", "elsewhere"),
    ("compression.type", "rar"),
    ("max.connections", "100"),
    ("max.connections", "-1"),
    ("listener.name.plaintext.max.connections", "100"),
    ("listener.name.plaintext.max.connections", "-5"),
    ("listener.name.plaintext.max.connections", "many"),
    ("listener.name.plaintext.max.connection.creation.rate", "50"),
    ("listener.name.other.max.connections", "100"),
)


def incremental(s: Session) -> None:
    Resource, Config = (
        IncrementalAlterConfigsRequest.AlterConfigsResource,
        IncrementalAlterConfigsRequest.AlterableConfig,
    )
    for version in s.versions(ApiKey.INCREMENTAL_ALTER_CONFIGS):
        topic = s.topic(1, {"segment.bytes": "2000000"})

        def base(topic: str = topic) -> IncrementalAlterConfigsRequest:
            configs = [Config(name="retention.ms", config_operation=SET, value="7000")]
            resource = Resource(resource_type=TOPIC, resource_name=topic, configs=configs)
            return IncrementalAlterConfigsRequest(resources=[resource])

        s.ask("as it should be", base(), version)
        values = {
            "resource_type": [-1, 0, 1, 3, CLIENT_METRICS, GROUP, 64, 127],
            "config_operation": [-1, 1, 2, 3, 4],
        }
        for mutation in mutations(base(), version, values=values):
            if "__consumer_offsets" not in mutation.label:
                s.ask(mutation.label, mutation.apply(base()), version)
        for key, value in BAD_CONFIGS:
            request = base()
            request.resources[0].configs = [Config(name=key, config_operation=SET, value=value)]
            s.ask(f"{key}={value}", request, version)
        for label, changes in _list_changes().items():
            request = base()
            request.resources[0].configs = [
                Config(name=name, config_operation=operation, value=value) for name, operation, value in changes
            ]
            s.ask(label, request, version)
            _describe_again(s, topic)
        for name in ("1", "", "7", "one"):
            for key, value in BROKER_CHANGES:
                config = Config(name=key, config_operation=SET, value=value)
                resource = Resource(resource_type=BROKER, resource_name=name, configs=[config])
                request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=True)
                s.ask(f"broker {name!r}: {key}={value}", request, version)


def _list_changes() -> dict[str, list[tuple[str, int, str | None]]]:
    return {
        "append to a list": [("cleanup.policy", APPEND, "compact")],
        "append what is there": [("cleanup.policy", APPEND, "compact")],
        "subtract from a list": [("cleanup.policy", SUBTRACT, "delete")],
        "subtract what is not there": [("cleanup.policy", SUBTRACT, "delete")],
        "append to a number": [("retention.ms", APPEND, "5")],
        "append null": [("cleanup.policy", APPEND, None)],
        "append nonsense": [("cleanup.policy", APPEND, "nonsense")],
        "delete": [("cleanup.policy", DELETE, None)],
        "delete what is not there": [("flush.ms", DELETE, None)],
        "delete unknown": [("no.such.key", DELETE, None)],
        "delete with value": [("segment.bytes", DELETE, "5")],
        "the same twice": [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        "set and delete": [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)],
        "good and bad": [("retention.ms", SET, "10"), ("segment.bytes", SET, "bad")],
    }


def _describe_again(s: Session, topic: str) -> None:
    s.settle()
    resource = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=TOPIC, resource_name=topic, configuration_keys=["retention.ms", "segment.bytes", "cleanup.policy"]
    )
    s.ask("what is set then", DescribeConfigsRequest(resources=[resource]), 4)


def list_resources(s: Session) -> None:
    for version in s.versions(ApiKey.LIST_CONFIG_RESOURCES):
        for types in ([CLIENT_METRICS], [GROUP], [1], [0], [LOGGER], [BROKER], [-1], [127], [GROUP, GROUP]):
            if version >= 1:
                s.ask(f"types {types}", ListConfigResourcesRequest(resource_types=types), version)
        if version == 0:
            s.ask("as it should be", ListConfigResourcesRequest(), version)
