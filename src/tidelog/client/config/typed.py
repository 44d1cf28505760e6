"""The clients' keys as types, for editors and type checkers.

Rendered by `tools/render_client_config.py`; do not edit.

    settings: ProducerConfig = {"bootstrap.servers": "localhost:9092", "linger.ms": 20}

`…Config` has Kafka's names, for dicts; `…Keywords` the same with underscores, for the constructors. Numbers and
booleans may be texts, as in a properties file. Nothing here is imported at run time unless a program asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict


class CommonKeywords(TypedDict, total=False):
    bootstrap_servers: str | Sequence[str]
    client_id: str
    client_dns_lookup: Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]
    request_timeout_ms: int | str
    default_api_timeout_ms: int | str
    retry_backoff_ms: int | str
    retry_backoff_max_ms: int | str
    metadata_max_age_ms: int | str
    metadata_recovery_strategy: Literal["rebootstrap", "none"]
    metadata_recovery_rebootstrap_trigger_ms: int | str
    socket_connection_setup_timeout_ms: int | str
    socket_connection_setup_timeout_max_ms: int | str
    connections_max_idle_ms: int | str
    reconnect_backoff_ms: int | str
    reconnect_backoff_max_ms: int | str
    send_buffer_bytes: int | str
    receive_buffer_bytes: int | str
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    ssl_truststore_location: str | None
    ssl_truststore_certificates: str | None
    ssl_truststore_type: str | None
    ssl_keystore_location: str | None
    ssl_keystore_certificate_chain: str | None
    ssl_keystore_key: str | None
    ssl_keystore_type: str | None
    ssl_key_password: str | None
    ssl_protocol: str
    ssl_enabled_protocols: str | Sequence[str]
    ssl_cipher_suites: str | Sequence[str] | None
    ssl_endpoint_identification_algorithm: Literal["https", ""]
    sasl_mechanism: str
    sasl_username: str | None
    sasl_password: str | None
    sasl_jaas_config: str | None
    sasl_login_callback_handler_class: object


CommonConfig = TypedDict(
    "CommonConfig",
    {
        "bootstrap.servers": "str | Sequence[str]",
        "client.id": "str",
        "client.dns.lookup": 'Literal["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]',
        "request.timeout.ms": "int | str",
        "default.api.timeout.ms": "int | str",
        "retry.backoff.ms": "int | str",
        "retry.backoff.max.ms": "int | str",
        "metadata.max.age.ms": "int | str",
        "metadata.recovery.strategy": 'Literal["rebootstrap", "none"]',
        "metadata.recovery.rebootstrap.trigger.ms": "int | str",
        "socket.connection.setup.timeout.ms": "int | str",
        "socket.connection.setup.timeout.max.ms": "int | str",
        "connections.max.idle.ms": "int | str",
        "reconnect.backoff.ms": "int | str",
        "reconnect.backoff.max.ms": "int | str",
        "send.buffer.bytes": "int | str",
        "receive.buffer.bytes": "int | str",
        "security.protocol": 'Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]',
        "ssl.truststore.location": "str | None",
        "ssl.truststore.certificates": "str | None",
        "ssl.truststore.type": "str | None",
        "ssl.keystore.location": "str | None",
        "ssl.keystore.certificate.chain": "str | None",
        "ssl.keystore.key": "str | None",
        "ssl.keystore.type": "str | None",
        "ssl.key.password": "str | None",
        "ssl.protocol": "str",
        "ssl.enabled.protocols": "str | Sequence[str]",
        "ssl.cipher.suites": "str | Sequence[str] | None",
        "ssl.endpoint.identification.algorithm": 'Literal["https", ""]',
        "sasl.mechanism": "str",
        "sasl.username": "str | None",
        "sasl.password": "str | None",
        "sasl.jaas.config": "str | None",
        "sasl.login.callback.handler.class": "object",
    },
    total=False,
)


class ProducerKeywords(CommonKeywords, total=False):
    key_serializer: object
    value_serializer: object
    interceptor_classes: object
    acks: Literal["all", "-1", "0", "1", -1, 0, 1]
    enable_idempotence: bool | str
    transactional_id: str | None
    transaction_timeout_ms: int | str
    retries: int | str
    delivery_timeout_ms: int | str
    linger_ms: int | str
    batch_size: int | str
    buffer_memory: int | str
    max_block_ms: int | str
    max_request_size: int | str
    max_in_flight_requests_per_connection: int | str
    compression_type: Literal["none", "gzip", "snappy", "lz4", "zstd"]
    compression_gzip_level: int | str
    compression_lz4_level: int | str
    compression_zstd_level: int | str
    partitioner_class: object
    partitioner_ignore_keys: bool | str
    partitioner_adaptive_partitioning_enable: bool | str
    partitioner_availability_timeout_ms: int | str
    metadata_max_idle_ms: int | str


_ProducerConfig = TypedDict(
    "_ProducerConfig",
    {
        "key.serializer": "object",
        "value.serializer": "object",
        "interceptor.classes": "object",
        "acks": 'Literal["all", "-1", "0", "1", -1, 0, 1]',
        "enable.idempotence": "bool | str",
        "transactional.id": "str | None",
        "transaction.timeout.ms": "int | str",
        "retries": "int | str",
        "delivery.timeout.ms": "int | str",
        "linger.ms": "int | str",
        "batch.size": "int | str",
        "buffer.memory": "int | str",
        "max.block.ms": "int | str",
        "max.request.size": "int | str",
        "max.in.flight.requests.per.connection": "int | str",
        "compression.type": 'Literal["none", "gzip", "snappy", "lz4", "zstd"]',
        "compression.gzip.level": "int | str",
        "compression.lz4.level": "int | str",
        "compression.zstd.level": "int | str",
        "partitioner.class": "object",
        "partitioner.ignore.keys": "bool | str",
        "partitioner.adaptive.partitioning.enable": "bool | str",
        "partitioner.availability.timeout.ms": "int | str",
        "metadata.max.idle.ms": "int | str",
    },
    total=False,
)


class ProducerConfig(CommonConfig, _ProducerConfig, total=False):
    """Every key of a `Producer`."""


class ConsumerKeywords(CommonKeywords, total=False):
    key_deserializer: object
    value_deserializer: object
    interceptor_classes: object
    group_id: str | None
    group_instance_id: str | None
    group_protocol: Literal["classic", "consumer"]
    group_remote_assignor: str | None
    partition_assignment_strategy: object
    session_timeout_ms: int | str
    heartbeat_interval_ms: int | str
    max_poll_interval_ms: int | str
    max_poll_records: int | str
    enable_auto_commit: bool | str
    auto_commit_interval_ms: int | str
    auto_offset_reset: str
    fetch_min_bytes: int | str
    fetch_max_wait_ms: int | str
    fetch_max_bytes: int | str
    max_partition_fetch_bytes: int | str
    check_crcs: bool | str
    isolation_level: Literal["read_uncommitted", "read_committed"]
    exclude_internal_topics: bool | str
    allow_auto_create_topics: bool | str
    client_rack: str


_ConsumerConfig = TypedDict(
    "_ConsumerConfig",
    {
        "key.deserializer": "object",
        "value.deserializer": "object",
        "interceptor.classes": "object",
        "group.id": "str | None",
        "group.instance.id": "str | None",
        "group.protocol": 'Literal["classic", "consumer"]',
        "group.remote.assignor": "str | None",
        "partition.assignment.strategy": "object",
        "session.timeout.ms": "int | str",
        "heartbeat.interval.ms": "int | str",
        "max.poll.interval.ms": "int | str",
        "max.poll.records": "int | str",
        "enable.auto.commit": "bool | str",
        "auto.commit.interval.ms": "int | str",
        "auto.offset.reset": "str",
        "fetch.min.bytes": "int | str",
        "fetch.max.wait.ms": "int | str",
        "fetch.max.bytes": "int | str",
        "max.partition.fetch.bytes": "int | str",
        "check.crcs": "bool | str",
        "isolation.level": 'Literal["read_uncommitted", "read_committed"]',
        "exclude.internal.topics": "bool | str",
        "allow.auto.create.topics": "bool | str",
        "client.rack": "str",
    },
    total=False,
)


class ConsumerConfig(CommonConfig, _ConsumerConfig, total=False):
    """Every key of a `Consumer`."""


class AdminKeywords(CommonKeywords, total=False):
    retries: int | str


class _AdminConfig(TypedDict, total=False):
    retries: int | str


class AdminConfig(CommonConfig, _AdminConfig, total=False):
    """Every key of an `Admin`."""
