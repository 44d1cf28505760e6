"""How a broker makes itself known: an ephemeral node in the store, as Kafka 3.9 writes it, and an image of metadata.

The node lives as long as the session: a broker that dies is gone from `/brokers/ids` without saying so. It names the
*advertised* listeners, what clients are told to connect to, and those may differ from what is bound: behind a proxy,
in a container, or with port 0, where the system picks one and only the bound socket knows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Store


def advertised_endpoints(configured: Sequence[Endpoint], ports: Mapping[str, int]) -> list[Endpoint]:
    """What clients are told: as configured, but where that says port 0, the port that the listener was given."""
    return [endpoint._replace(port=ports[endpoint.name]) if endpoint.port == 0 else endpoint for endpoint in configured]


def broker_image(node_id: int, endpoints: Sequence[Endpoint], rack: str | None, epoch: int) -> BrokerImage:
    return BrokerImage(node_id, {endpoint.name: (endpoint.host, endpoint.port) for endpoint in endpoints}, rack, epoch)


async def register(store: Store, node_id: int, endpoints: Sequence[Endpoint], rack: str | None, time_ms: int) -> None:
    """Write the node. The first listener stands there twice: `host` and `port` are what early clients of Kafka read."""
    first = endpoints[0]
    data = znodes.encode_broker(
        [str(endpoint) for endpoint in endpoints],
        {endpoint.name: endpoint.protocol for endpoint in endpoints},
        first.host,
        first.port,
        rack,
        time_ms,
    )
    await store.create(paths.broker(node_id), data, ephemeral=True)
