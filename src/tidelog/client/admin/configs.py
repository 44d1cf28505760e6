"""Configs of topics, brokers, groups and client-metrics subscriptions: read, change, list who has any.

What a broker knows only of itself, its own configs and its log levels, is asked of that broker; the rest of anybody.
A change is a dictionary with the new values; None goes back to the default, `Append` and `Subtract` change lists:

    orders = ConfigResource.topic("orders")
    admin.alter_config(orders, {"retention.ms": 86_400_000, "cleanup.policy": Append("compact")})

Changes are incremental (IncrementalAlterConfigs, Kafka 2.3 on): what is not named stays as it is. The older request,
which replaced everything and so lost what two people changed at once, is not used.

All changes of one resource succeed or fail together; those of several do not. A broker that runs takes over a change
some time after it was answered: whoever reads it back at once may see the old value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.config_names import with_meant_name
from tidelog.client.admin.config_values import (
    Append,
    ConfigChange,
    ConfigEntry,
    ConfigResource,
    ConfigType,
    Subtract,
    config_entry,
    config_text,
)
from tidelog.client.admin.hints import check, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import ANYBODY, BROKER
from tidelog.client.admin.shapes import items
from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, UsageError
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages

_OF_ONE_BROKER = (ConfigType.BROKER, ConfigType.BROKER_LOGGER)
_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class _Keeper:
    """The route of a config: the broker that it belongs to, if it belongs to one. A broker knows the values of its own
    properties file and its log levels, and nobody else does; topics, groups and the defaults of all brokers are in
    everybody's metadata.
    """

    again = ANYBODY.again
    shared = False

    async def prepare(self, cluster: ClusterClient, keys: Iterable[ConfigResource]) -> None:
        owners = [owner for key in keys if (owner := _owner(key)) is not None]
        if owners:
            await BROKER.prepare(cluster, owners)

    async def node(self, cluster: ClusterClient, key: ConfigResource) -> NodeClient:
        owner = _owner(key)
        return await (cluster.any_node() if owner is None else cluster.node(owner))

    def forget(self, cluster: ClusterClient, key: ConfigResource) -> None:
        """A broker's configs stay its own."""


def _owner(resource: ConfigResource) -> int | None:
    """The id of the broker that a resource is, or belongs to; None: it is nobody's in particular."""
    if resource.type not in _OF_ONE_BROKER or not resource.name:
        return None
    if not resource.name.isdecimal():
        raise UsageError(f"a broker's name is its id, not {resource.name!r}: ConfigResource.broker(1) makes one")
    return int(resource.name)


class ConfigAdmin(AdminBase):
    """The part of the Admin that is about configs."""

    async def describe_config(
        self,
        resource: ConfigResource,
        *,
        keys: Iterable[str] | None = None,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> dict[str, ConfigEntry]:
        """The configs of one resource, by key; see `describe_configs`."""
        _check_resource(resource)
        found = await self.describe_configs(
            {resource: keys}, synonyms=synonyms, documentation=documentation, timeout=timeout
        )
        return found.of(resource)

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource] | Mapping[ConfigResource, Iterable[str] | None],
        *,
        synonyms: bool = False,
        documentation: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[ConfigResource, dict[str, ConfigEntry]]:
        """The configs of each resource, by key. A mapping names the keys that are wanted of each (None: all).

        `synonyms`: also what the weaker layers say. `documentation`: also what the key is for.
        """
        chosen = resources if isinstance(resources, Mapping) else dict.fromkeys(items(resources))

        def ask(keys: list[ConfigResource]) -> messages.DescribeConfigsRequest:
            asked = [
                messages.DescribeConfigsRequest.DescribeConfigsResource(
                    resource_type=int(key.type), resource_name=key.name, configuration_keys=_list(chosen[key])
                )
                for key in keys
            ]
            return messages.DescribeConfigsRequest(
                resources=asked, include_synonyms=synonyms, include_documentation=documentation
            )

        def read(response: Any, keys: list[ConfigResource]) -> Answers[ConfigResource, dict[str, ConfigEntry]]:
            for result in response.results:
                key = ConfigResource(ConfigType(result.resource_type), result.resource_name)
                found = {entry.name: config_entry(entry) for entry in result.configs}
                yield key, outcome(found, result.error_code, result.error_message, key)

        return await self._call(timeout).each(chosen, _Keeper(), ask, read)

    async def alter_config(
        self,
        resource: ConfigResource,
        changes: Mapping[str, ConfigChange],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> None:
        """Change configs of one resource; see `incremental_alter_configs`."""
        altered = await self.incremental_alter_configs(
            {resource: changes}, validate_only=validate_only, timeout=timeout
        )
        altered.result()

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: float | None = None,
    ) -> Outcomes[ConfigResource, None]:
        """Change configs: a new value, None for the default, `Append` or `Subtract` for lists. What is not named stays
        as it is. `validate_only`: only say what would come of it.
        """
        for resource in changes:
            _check_resource(resource)

        def ask(keys: list[ConfigResource]) -> messages.IncrementalAlterConfigsRequest:
            asked = [
                messages.IncrementalAlterConfigsRequest.AlterConfigsResource(
                    resource_type=int(key.type), resource_name=key.name, configs=_operations(changes[key])
                )
                for key in keys
            ]
            return messages.IncrementalAlterConfigsRequest(resources=asked, validate_only=validate_only)

        def read(response: Any, keys: list[ConfigResource]) -> Answers[ConfigResource, None]:
            for result in response.responses:
                key = ConfigResource(ConfigType(result.resource_type), result.resource_name)
                yield key, outcome(None, result.error_code, result.error_message, key)

        altered = await self._call(timeout).each(changes, _Keeper(), ask, read)
        refused = [key for key, error in altered.failed.items() if error.code is ErrorCode.INVALID_CONFIG]
        if refused:
            there = await self.describe_configs(refused, timeout=timeout)
            for key, known in there.ok.items():
                altered[key] = with_meant_name(altered.failed[key], changes[key], known)
        return altered

    async def list_config_resources(
        self, types: Iterable[ConfigType] = (), *, timeout: float | None = None
    ) -> list[ConfigResource]:
        """Everything that has configs of its own, of these types or of all (Kafka 4.1 on; before, client metrics)."""
        wanted = [int(kind) for kind in items(types)]
        only_metrics = wanted == [ConfigType.CLIENT_METRICS]
        request = messages.ListConfigResourcesRequest(resource_types=[] if only_metrics else wanted)

        def read(response: Any) -> list[ConfigResource]:
            check(response.error_code, about="listing config resources")
            found = response.config_resources
            return [ConfigResource(ConfigType(each.resource_type), each.resource_name) for each in found]

        return await self._call(timeout).one(ANYBODY, request, read, highest=0 if only_metrics else None)

    async def list_client_metrics_resources(self, *, timeout: float | None = None) -> list[str]:
        """The names of all subscriptions to client metrics (KIP-714); `ConfigResource.client_metrics` has what each
        of them wants.
        """
        return [each.name for each in await self.list_config_resources([ConfigType.CLIENT_METRICS], timeout=timeout)]


def _check_resource(resource: object) -> None:
    """A name alone does not say of what: topics, brokers and groups have configs."""
    if not isinstance(resource, ConfigResource):
        raise UsageError(f"expected a ConfigResource, as ConfigResource.topic({resource!r}), not {resource!r}")


def _operations(changes: Mapping[str, ConfigChange]) -> list[messages.IncrementalAlterConfigsRequest.AlterableConfig]:
    """Each change, with the number of what is to be done."""

    def number(value: ConfigChange) -> int:
        if value is None:
            return _DELETE
        return _APPEND if isinstance(value, Append) else _SUBTRACT if isinstance(value, Subtract) else _SET

    return [
        messages.IncrementalAlterConfigsRequest.AlterableConfig(
            name=name, config_operation=number(value), value=config_text(value)
        )
        for name, value in changes.items()
    ]


def _list(keys: Iterable[str] | None) -> list[str] | None:
    return None if keys is None else items(keys)
