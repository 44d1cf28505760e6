"""ListConfigResources, versions 0 and 1 (KIP-1142): what there is that has configs.

Version 0 was ListClientMetricsResources and lists those alone; from version 1 on types may be asked for, and none means
all. Topics and brokers are listed whether or not anything is set for them, groups and client metrics only if it is.
"""

from __future__ import annotations

from tidelog.broker.controller.config_changes import Resource
from tidelog.broker.controller.loading import load_configs
from tidelog.broker.handlers.configs.services import ConfigServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.store import paths
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import ListConfigResourcesRequest, ListConfigResourcesResponse

#: In the order in which they are listed to who asks for all.
LISTED = (Resource.TOPIC, Resource.BROKER, Resource.BROKER_LOGGER, Resource.CLIENT_METRICS, Resource.GROUP)


async def handle(
    services: ConfigServices, ctx: RequestContext, request: ListConfigResourcesRequest
) -> ListConfigResourcesResponse:
    """A type that has no configs is UNSUPPORTED_VERSION for the whole request: a newer broker may know it."""
    wanted = list(request.resource_types) or list(LISTED)
    if ctx.header.api_version == 0:
        wanted = [Resource.CLIENT_METRICS]
    if not set(wanted) <= set(LISTED):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    nodes = [str(node_id) for node_id in services.metadata.brokers]
    names: dict[int, list[str]] = {
        Resource.TOPIC: list(services.metadata.topics),
        Resource.BROKER: nodes,
        Resource.BROKER_LOGGER: nodes,
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
    """Entities below a node that have anything set, by their own names."""
    return [paths.unsanitize(part) for part, values in (await load_configs(services.store, root)).items() if values]
