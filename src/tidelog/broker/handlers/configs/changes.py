"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources.

Every resource is answered by itself: one that is refused does not hold back the others. A change is durable in the
store and in force on this broker before it is answered; levels of loggers are in force, and not kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tidelog.broker import logging_setup
from tidelog.broker.controller.config_changes import (
    CLIENT_METRICS_KEYS,
    GROUP_KEYS,
    Change,
    Operation,
    Resource,
    broker_layers,
    check_form,
    check_group_values,
    check_values,
    plan_broker_config,
    plan_entity_config,
    plan_topic_config,
)
from tidelog.broker.controller.loading import load_configs, readable_config
from tidelog.broker.handlers.configs.entries import (
    Entry,
    Source,
    Synonym,
    broker_entries,
    default_broker_entries,
    text_of,
    topic_entries,
)
from tidelog.broker.handlers.configs.services import ConfigServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.metadata.names import check_topic_name
from tidelog.broker.metadata.topic_configs import usable_overrides
from tidelog.broker.store import paths
from tidelog.common.config import ConfigDef, Key
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

Described = DescribeConfigsResponse.DescribeConfigsResult

# -- describe --------------------------------------------------------------------------------------------------------


DESCRIBABLE = frozenset(
    (Resource.TOPIC, Resource.BROKER, Resource.BROKER_LOGGER, Resource.CLIENT_METRICS, Resource.GROUP)
)


async def describe(
    services: ConfigServices, ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    response = DescribeConfigsResponse()
    strange = [resource.resource_type for resource in request.resources if resource.resource_type not in DESCRIBABLE]
    for resource in request.resources:
        result = Described(resource_type=resource.resource_type, resource_name=resource.resource_name)
        try:
            if strange:  # one resource of an unknown type spoils the request
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unexpected resource type {strange[0]}")
            entries = await _entries(
                services, resource.resource_type, resource.resource_name, resource.configuration_keys
            )
            result.configs = [_described(entry, request, ctx.header.api_version) for entry in entries]
        except KafkaError as error:
            unknown = error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            result.error_code, result.error_message = error.code, "" if unknown else error.message
        response.results.append(result)
    return response


def _described(
    entry: Entry, request: DescribeConfigsRequest, version: int
) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    synonyms = [
        DescribeConfigsResponse.DescribeConfigsSynonym(name=s.name, value=s.value, source=s.source)
        for s in (entry.synonyms if request.include_synonyms else ())
    ]
    return DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        is_default=version == 0 and entry.source is Source.DEFAULT,
        config_source=entry.source,
        is_sensitive=entry.sensitive,
        synonyms=synonyms,
        config_type=entry.type,
        documentation=entry.doc if request.include_documentation else None,
    )


async def _entries(services: ConfigServices, kind: int, name: str, names: Collection[str] | None) -> list[Entry]:
    if kind == Resource.TOPIC:
        check_topic_name(name)
        if name not in services.metadata.topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return topic_entries(services.config, services.topic_configs, services.topic_configs.overrides(name), names)
    if kind == Resource.BROKER:
        if not name:
            return default_broker_entries(services.config, names)
        _check_node(services, name, "or empty string, ")
        return broker_entries(services.config, names)
    if kind == Resource.BROKER_LOGGER:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        _check_node(services, name)
        return [
            Entry(logger, level, Source.DYNAMIC_BROKER_LOGGER, [])
            for logger, level in logging_setup.loggers().items()
            if not names or logger in names
        ]
    if kind == Resource.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        stored = await _stored(services, f"{paths.GROUP_CONFIGS}/{paths.sanitize(name)}")
        return _group_entries(services, usable_overrides(stored, keys=GROUP_KEYS), names)
    if kind == Resource.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty")
        stored = usable_overrides(
            await _stored(services, f"{paths.CLIENT_METRICS_CONFIGS}/{paths.sanitize(name)}"), keys=CLIENT_METRICS_KEYS
        )
        wanted = [key for key in CLIENT_METRICS_KEYS if not names or key.name in names]
        return [_metrics_entry(key, stored.get(key.name)) for key in wanted]
    raise AssertionError(f"a resource of type {kind} was let through")


def _metrics_entry(key: Key[Any], stored: str | None) -> Entry:
    source = Source.DEFAULT if stored is None else Source.CLIENT_METRICS
    value = text_of(key, key.default) if stored is None else stored
    return Entry(key.name, value, source, [], type=key.type.value, doc=key.doc)


def _group_entries(services: ConfigServices, stored: Mapping[str, str], names: Collection[str] | None) -> list[Entry]:
    entries = []
    for key in GROUP_KEYS:
        if names and key.name not in names:
            continue
        default = (
            services.config[services.config.static.definition.keys[key.synonyms[0]]] if key.synonyms else key.default
        )
        value = stored.get(key.name, text_of(key, default))
        source = Source.GROUP if key.name in stored else Source.DEFAULT
        entries.append(
            Entry(key.name, value, source, [Synonym(key.name, value, source)], type=key.type.value, doc=key.doc)
        )
    return entries


# -- alter -----------------------------------------------------------------------------------------------------------


async def alter(services: ConfigServices, ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    response = AlterConfigsResponse()
    for resource in request.resources:
        changes = [Change(config.name, Operation.SET, config.value) for config in resource.configs]
        result = AlterConfigsResponse.AlterConfigsResourceResponse(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if resource.resource_type == Resource.BROKER_LOGGER:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
            await _alter(services, resource.resource_type, resource.resource_name, changes, True, request.validate_only)
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        response.responses.append(result)
    return response


async def incremental_alter(
    services: ConfigServices, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    counts = Counter((resource.resource_type, resource.resource_name) for resource in request.resources)
    response = IncrementalAlterConfigsResponse()
    for resource in request.resources:
        changes = [Change(config.name, config.config_operation, config.value) for config in resource.configs]
        result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await _alter(
                services, resource.resource_type, resource.resource_name, changes, False, request.validate_only
            )
        except KafkaError as error:
            result.error_code, result.error_message = error.code, error.message
        response.responses.append(result)
    return response


async def _alter(
    services: ConfigServices, kind: int, name: str, changes: list[Change], replace: bool, validate_only: bool
) -> None:
    check_form(changes)
    if kind == Resource.TOPIC:
        await _alter_topic(services, name, changes, replace, validate_only)
    elif kind == Resource.BROKER:
        await _alter_broker(services, name, changes, replace, validate_only)
    elif kind == Resource.BROKER_LOGGER:
        _alter_loggers(services, name, changes, validate_only)
    elif kind == Resource.GROUP:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
        await _alter_stored(
            services,
            paths.GROUP_CONFIGS,
            name,
            changes,
            replace,
            validate_only,
            GROUP_KEYS,
            lambda values: check_group_values(values, services.config),
        )
    elif kind == Resource.CLIENT_METRICS:
        if not name:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "Subscription name can't be empty")
        await _alter_stored(
            services,
            paths.CLIENT_METRICS_CONFIGS,
            name,
            changes,
            replace,
            validate_only,
            CLIENT_METRICS_KEYS,
            lambda values: check_values(values, CLIENT_METRICS_KEYS, "client metrics"),
        )
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


async def _alter_topic(
    services: ConfigServices, topic: str, changes: list[Change], replace: bool, validate_only: bool
) -> None:
    if not topic:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
    check_topic_name(topic)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        return plan_topic_config(stored, changes, replace=replace, defaults=services.topic_configs.broker_defaults())

    await services.controller.change_topic_config(topic, decide, validate_only=validate_only)


async def _alter_broker(
    services: ConfigServices, name: str, changes: list[Change], replace: bool, validate_only: bool
) -> None:
    if name:
        _check_node(services, name)
    config, per_broker = services.config, bool(name)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        return plan_broker_config(
            stored, changes, replace=replace, config=config, topics=services.topic_configs, per_broker=per_broker
        )

    def apply(values: Mapping[str, str]) -> None:
        services.apply_broker_config(config.apply_dynamic(*broker_layers(values, config, per_broker=per_broker)))

    path = paths.broker_config(services.node_id if per_broker else None)
    await services.controller.entity_configs.change(path, decide, apply, validate_only=validate_only)


def _alter_loggers(services: ConfigServices, name: str, changes: list[Change], validate_only: bool) -> None:
    _check_node(services, name)
    for change in changes:
        if change.operation in (Operation.APPEND, Operation.SUBTRACT):
            verb = Operation(change.operation).name
            raise KafkaError(
                ErrorCode.INVALID_REQUEST, f"{verb} operation is not allowed for the BROKER_LOGGER resource"
            )
        if change.operation == Operation.DELETE:
            if change.name == logging_setup.ROOT:
                text = f"Removing the log level of the {logging_setup.ROOT} logger is not allowed"
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
            logging_setup.check_level(change.name, "INFO")
        else:
            logging_setup.check_level(change.name, change.value or "")
    if not validate_only:
        for change in changes:
            logging_setup.set_level(change.name, change.value if change.operation == Operation.SET else None)


async def _alter_stored(
    services: ConfigServices,
    root: str,
    name: str,
    changes: list[Change],
    replace: bool,
    validate_only: bool,
    keys: ConfigDef,
    check: Callable[[Mapping[str, str]], None],
) -> None:
    def decide(stored: dict[str, str]) -> dict[str, str]:
        return plan_entity_config(stored, changes, replace=replace, keys=keys, check=check)

    await services.controller.entity_configs.change(
        f"{root}/{paths.sanitize(name)}",
        decide,
        lambda values: services.apply_entity_config(root, name, values),
        validate_only=validate_only,
    )


async def _stored(services: ConfigServices, path: str) -> dict[str, str]:
    found = (await services.store.get_many([path]))[0]
    return {} if found is None else readable_config(path, found[0]) or {}


def _check_node(services: ConfigServices, name: str, also: str = "") -> None:
    try:
        node_id = int(name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}") from None
    if node_id != services.node_id:
        text = f"Unexpected broker id, expected {services.node_id} {also}but received {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, text)


# -- list ------------------------------------------------------------------------------------------------------------


async def list_resources(
    services: ConfigServices, ctx: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    supported = (
        Resource.TOPIC,
        Resource.BROKER,
        Resource.BROKER_LOGGER,
        Resource.CLIENT_METRICS,
        Resource.GROUP,
    )
    wanted = list(request.resource_types) or list(supported)
    if ctx.header.api_version == 0:
        wanted = [Resource.CLIENT_METRICS]
    if not set(wanted) <= set(supported):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    names: dict[int, list[str]] = {
        Resource.TOPIC: list(services.metadata.topics),
        Resource.BROKER: [str(node_id) for node_id in services.metadata.brokers],
        Resource.BROKER_LOGGER: [str(node_id) for node_id in services.metadata.brokers],
        Resource.CLIENT_METRICS: await _names(services, paths.CLIENT_METRICS_CONFIGS),
        Resource.GROUP: await _names(services, paths.GROUP_CONFIGS),
    }
    return ListConfigResourcesResponse(
        config_resources=[
            ListConfigResourcesResponse.ConfigResource(resource_name=name, resource_type=kind)
            for kind in dict.fromkeys(wanted)
            for name in names[kind]
        ]
    )


async def _names(services: ConfigServices, root: str) -> list[str]:
    return [paths.unsanitize(part) for part, values in (await load_configs(services.store, root)).items() if values]
