"""AlterConfigs and IncrementalAlterConfigs: what is set for a topic, a broker, a logger, a group or client metrics.

AlterConfigs (versions 0 to 2) replaces everything that is set for a resource: what it does not name is gone.
IncrementalAlterConfigs (versions 0 and 1, KIP-339) sets, deletes, appends to or subtracts from single keys.

Every resource is answered by itself: one that is refused does not hold back the others, but one that is named twice is
refused both times. A change is durable in the store and in force on this broker before it is answered; levels of
loggers are in force and, as in Kafka, not kept. What a change makes of what was set, and which values are refused, is
decided by pure functions of the controller (`config_changes.py`, `logger_levels.py`), inside the controller's step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from tidelog.broker.controller.config_changes import (
    CLIENT_METRICS_KEYS,
    GROUP_KEYS,
    AlterOperation,
    Change,
    Resource,
    broker_layers,
    check_form,
    check_group_values,
    check_values,
    plan_broker_config,
    plan_entity_config,
    plan_topic_config,
)
from tidelog.broker.controller.logger_levels import change_levels
from tidelog.broker.handlers.configs.nodes import check_node
from tidelog.broker.handlers.configs.services import ConfigServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.metadata.names import check_topic_name
from tidelog.broker.store import paths
from tidelog.common.config import ConfigDef
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.messages import (
    AlterConfigsRequest,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

Outcome = tuple[ErrorCode, "str | None"]
Answer = TypeVar("Answer", AlterConfigsResponse, IncrementalAlterConfigsResponse)


class Alteration(NamedTuple):
    """What shall be done to one resource.

    `replace`: everything that is set for it is gone but for what is named. `validate_only` goes all the way to the
    write, and says what would become of it.
    """

    kind: int
    name: str
    changes: list[Change]
    replace: bool
    validate_only: bool


async def replace(services: ConfigServices, ctx: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
    """AlterConfigs.

    Deprecated since KIP-339, as two tools that each set one key take away what the other has set; old clients send
    nothing else. Loggers cannot be asked for in it: their type came with the incremental request.
    """
    changes = [
        [Change(config.name, AlterOperation.SET, config.value) for config in resource.configs]
        for resource in request.resources
    ]
    return await _answered(services, request, changes, AlterConfigsResponse())


async def change(
    services: ConfigServices, ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """IncrementalAlterConfigs. APPEND and SUBTRACT are for keys that are lists, such as `cleanup.policy`; they start
    from the default where nothing is set, and to append what is there already changes nothing.
    """
    changes = [
        [Change(config.name, config.config_operation, config.value) for config in resource.configs]
        for resource in request.resources
    ]
    return await _answered(services, request, changes, IncrementalAlterConfigsResponse())


async def _answered(
    services: ConfigServices,
    request: AlterConfigsRequest | IncrementalAlterConfigsRequest,
    changes: list[list[Change]],
    response: Answer,
) -> Answer:
    """Carry it out, and say what became of each resource: both requests have the same form, and so have the answers."""
    replaced = isinstance(request, AlterConfigsRequest)
    resources: Sequence[Any] = request.resources
    wanted = [
        Alteration(resource.resource_type, resource.resource_name, made, replaced, request.validate_only)
        for resource, made in zip(resources, changes, strict=True)
    ]
    for one, (code, text) in zip(wanted, await _alter_all(services, wanted), strict=True):
        response.responses.append(
            type(response).AlterConfigsResourceResponse(
                resource_type=one.kind, resource_name=one.name, error_code=code, error_message=text
            )
        )
    return response


async def _alter_all(services: ConfigServices, wanted: list[Alteration]) -> list[Outcome]:
    """One after the other: the outcome of each. They are as many steps of the store: a client that leaves in between
    has changed those before, and the one under way.
    """
    counts = Counter((one.kind, one.name) for one in wanted)
    outcomes: list[Outcome] = []
    for one in wanted:
        try:
            if counts[one.kind, one.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            await _alter(services, one)
            outcomes.append((ErrorCode.NONE, None))
        except KafkaError as error:
            outcomes.append((error.code, error.message))
    return outcomes


async def _alter(services: ConfigServices, wanted: Alteration) -> None:
    """One resource, by its type. Kafka refuses types that it does not know one by one, unlike DescribeConfigs."""
    kind = wanted.kind
    if kind == Resource.BROKER_LOGGER and wanted.replace:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    check_form(wanted.changes)
    if kind == Resource.TOPIC:
        await _alter_topic(services, wanted)
    elif kind == Resource.BROKER:
        await _alter_broker(services, wanted)
    elif kind == Resource.BROKER_LOGGER:
        check_node(services.node_id, wanted.name)
        change_levels(wanted.changes, validate_only=wanted.validate_only)
    elif kind == Resource.GROUP:
        _check_named(wanted, "Default group resources are not allowed.")
        check = partial(check_group_values, config=services.config)
        await _alter_stored(services, wanted, paths.GROUP_CONFIGS, GROUP_KEYS, check)
    elif kind == Resource.CLIENT_METRICS:
        _check_named(wanted, "Subscription name can't be empty")
        check = partial(check_values, keys=CLIENT_METRICS_KEYS, kind="client metrics")
        await _alter_stored(services, wanted, paths.CLIENT_METRICS_CONFIGS, CLIENT_METRICS_KEYS, check)
    else:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")


def _check_named(wanted: Alteration, otherwise: str) -> None:
    """Of brokers, no name means all of them; other kinds have no configs for all, and the texts are Kafka's."""
    if not wanted.name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, otherwise)


async def _alter_topic(services: ConfigServices, wanted: Alteration) -> None:
    """In force in the topic's logs, on this broker, before it is answered. There is no default for all topics: that is
    what the broker's keys are for.
    """
    _check_named(wanted, "Default topic resources are not allowed.")
    check_topic_name(wanted.name)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        defaults = services.topic_configs.broker_defaults()
        return plan_topic_config(stored, wanted.changes, replace=wanted.replace, defaults=defaults)

    await services.change_topic_config(wanted.name, decide, validate_only=wanted.validate_only)


async def _alter_broker(services: ConfigServices, wanted: Alteration) -> None:
    """This broker's keys, or (no name) those of all brokers: each has a node, and the broker's own wins.

    Which keys may change while a broker runs is written with each (`Update`); some only for all brokers at once
    (KIP-226). The change is planned on the values in force, so that it is refused if they would not fit together.
    """
    if wanted.name:
        check_node(services.node_id, wanted.name)
    config, per_broker = services.config, bool(wanted.name)

    def decide(stored: dict[str, str]) -> dict[str, str]:
        return plan_broker_config(
            stored,
            wanted.changes,
            replace=wanted.replace,
            config=config,
            topics=services.topic_configs,
            per_broker=per_broker,
        )

    def apply(values: Mapping[str, str]) -> None:
        services.apply_broker_config(config.apply_dynamic(*broker_layers(values, config, per_broker=per_broker)))

    path = paths.broker_config(services.node_id if per_broker else None)
    await services.entity_configs.change(path, decide, apply, validate_only=wanted.validate_only)


async def _alter_stored(
    services: ConfigServices, wanted: Alteration, root: str, keys: ConfigDef, check: Callable[[Mapping[str, str]], None]
) -> None:
    """Configs of groups and of client metrics: those of groups are told to the coordinator, the others to nobody.

    The node goes with the last value in it: names of groups are anybody's choice, and must not pile up.
    """

    def decide(stored: dict[str, str]) -> dict[str, str]:
        return plan_entity_config(stored, wanted.changes, replace=wanted.replace, keys=keys, check=check)

    await services.entity_configs.change(
        f"{root}/{paths.sanitize(wanted.name)}",
        decide,
        lambda values: services.apply_entity_config(root, wanted.name, values),
        validate_only=wanted.validate_only,
    )
