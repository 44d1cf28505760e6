"""DescribeConfigs, versions 0 to 4: the configs of topics, brokers, loggers, groups and client metrics.

Every resource is answered by itself. A value comes with its source and, on request, with its synonyms: what would hold
if it were not set, in Kafka's order (`metadata/config_entries.py`). Values of passwords are never told. Version 0 knew
no sources, only whether a value is the default.

Topics and brokers are shown as they are in force on this broker, from memory; groups and client metrics as they are
stored. A stored value that this version cannot read counts as not set, and has been warned of.
"""

from __future__ import annotations

from collections.abc import Collection

from tidelog.broker import logging_setup
from tidelog.broker.controller.config_changes import CLIENT_METRICS_KEYS, GROUP_KEYS, Resource
from tidelog.broker.controller.loading import readable_config
from tidelog.broker.handlers.configs.nodes import check_node
from tidelog.broker.handlers.configs.services import ConfigServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.metadata.config_entries import (
    ConfigEntry,
    ConfigSource,
    broker_entries,
    client_metrics_entries,
    default_broker_entries,
    group_entries,
    topic_entries,
)
from tidelog.broker.metadata.names import check_topic_name
from tidelog.broker.metadata.topic_configs import usable_overrides
from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import DescribeConfigsRequest, DescribeConfigsResponse

Described = DescribeConfigsResponse.DescribeConfigsResult

DESCRIBABLE = frozenset(
    (Resource.TOPIC, Resource.BROKER, Resource.BROKER_LOGGER, Resource.CLIENT_METRICS, Resource.GROUP)
)


async def handle(
    services: ConfigServices, ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """One resource of a type that nobody knows spoils the request: all are INVALID_REQUEST then, as in Kafka.

    Otherwise an error is one resource's. A topic that does not exist has an empty message, other errors say why.
    """
    response = DescribeConfigsResponse()
    strange = [resource.resource_type for resource in request.resources if resource.resource_type not in DESCRIBABLE]
    for resource in request.resources:
        result = Described(resource_type=resource.resource_type, resource_name=resource.resource_name)
        try:
            if strange:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {strange[0]}")
            names = resource.configuration_keys
            entries = await _entries(services, resource.resource_type, resource.resource_name, names)
            result.configs = [_described(entry, request, ctx.header.api_version) for entry in entries]
        except KafkaError as error:
            unknown = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            result.error_code, result.error_message = error.code, "" if unknown else error.message
        response.results.append(result)
    return response


def _described(
    entry: ConfigEntry, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    """One config in the form of the version: 0 has `is_default` alone, 1 brought source and synonyms, 3 type and
    documentation (KIP-569).
    """
    synonyms = [
        DescribeConfigsResponse.DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
        for s in (entry.synonyms if request.include_synonyms else ())
    ]
    return DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_default=version == 0 and entry.source is ConfigSource.DEFAULT,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=entry.doc if request.include_documentation else None,
    )


async def _entries(services: ConfigServices, kind: int, name: str, names: Collection[str] | None) -> list[ConfigEntry]:
    """The configs of one resource: all, or those of `names`; names that do not exist are left out, without an error.

    A broker without a name stands for what is set for all brokers, and shows nothing else. A group or a subscription
    need not exist: it is shown with its defaults.
    """
    if kind == Resource.TOPIC:
        check_topic_name(name)
        if name not in services.metadata.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic_entries(services.config, services.topic_configs, services.topic_configs.overrides(name), names)
    if kind == Resource.BROKER:
        if not name:
            return default_broker_entries(services.config, names)
        check_node(services.node_id, name, "or empty string, ")
        return broker_entries(services.config, names)
    if kind == Resource.BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        check_node(services.node_id, name)
        return [
            ConfigEntry(logger, level, ConfigSource.DYNAMIC_BROKER_LOGGER, [])
            for logger, level in logging_setup.loggers().items()
            if not names or logger in names
        ]
    if kind == Resource.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        stored = usable_overrides(await _stored(services, paths.group_config(name)), keys=GROUP_KEYS)
        return group_entries(services.config, GROUP_KEYS, stored, names)
    if kind == Resource.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        stored = usable_overrides(await _stored(services, paths.client_metrics_config(name)), keys=CLIENT_METRICS_KEYS)
        return client_metrics_entries(CLIENT_METRICS_KEYS, stored, names)
    raise AssertionError(f"a resource of type {kind} was let through")


async def _stored(services: ConfigServices, path: str) -> dict[str, str]:
    """What is set for a group or a subscription. One that nobody ever set anything for is no error: it has defaults."""
    found = (await services.store.get_many([path]))[0]
    return {} if found is None else readable_config(path, found[0]) or {}
