"""Who is there: each broker's own node under `/brokers/ids`.

A broker registers itself by an ephemeral node that bears its id, in Kafka's JSON: the addresses that it advertises, by
listener, and its rack. The node lives as long as the broker's session on the store, so the list of nodes *is* the list
of brokers alive: nobody has to find out by asking. The controller reads it, and tells everybody in UpdateMetadata; a
broker does not even list itself in its metadata before the controller has.

The number of the transaction that made the node is the broker's **epoch** (KIP-380). It grows with every registration,
and so tells two lives of the same broker apart: what the controller says to one of them is refused by the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tidelog.broker.config.endpoints import PROTOCOLS, Endpoint, parse_listeners
from tidelog.broker.metadata.images import BrokerImage
from tidelog.broker.store import paths, znodes
from tidelog.broker.store.api import Store
from tidelog.common.clock import Clock


def advertised_endpoints(configured: Sequence[Endpoint], ports: Mapping[str, int]) -> list[Endpoint]:
    """What clients are told: as configured, but where that says port 0, the port that the listener was given.

    The advertised listeners are not always those that are bound: behind a proxy or in a container they differ.
    """
    return [endpoint._replace(port=ports[endpoint.name]) if endpoint.port == 0 else endpoint for endpoint in configured]


class Registration:
    """This broker's node."""

    def __init__(self, store: Store, node_id: int, rack: str | None, clock: Clock) -> None:
        self._store = store
        self._node_id = node_id
        self._rack = rack
        self._clock = clock
        self._registered: list[Endpoint] = []

    async def announce(self, endpoints: Sequence[Endpoint]) -> bool:
        """Register, or change what is registered; whether there was anything to change.

        A broker registers before it listens, for the controller elects among those that are registered. Where a port
        was left to the system, it is known only afterwards: then the node is written once more, as Kafka does when the
        listeners of a running broker change. Its epoch stays.
        """
        wanted = list(endpoints)
        if wanted == self._registered:
            return False
        data = znodes.encode_broker(
            [str(endpoint) for endpoint in wanted],
            {endpoint.name: endpoint.protocol for endpoint in wanted},
            wanted[0].host,
            wanted[0].port,
            self._rack,
            self._clock.time_ms(),
        )
        path = paths.broker(self._node_id)
        if self._registered:
            await self._store.set(path, data)
        else:
            await self._store.create(path, data, ephemeral=True)
        self._registered = wanted
        return True


async def read_registrations(store: Store) -> list[BrokerImage]:
    """Every broker that is alive, by its node."""
    names = await store.children(paths.BROKER_IDS)
    found = await store.get_many([f"{paths.BROKER_IDS}/{name}" for name in names])
    images = []
    for name, item in zip(names, found, strict=True):
        if item is None:  # it has left between the two
            continue
        path = f"{paths.BROKER_IDS}/{name}"
        node = znodes.decode_broker(path, item[0])
        protocols = {name: name for name in PROTOCOLS} | node.protocols  # old nodes have no map: the name says it
        endpoints = parse_listeners(path, node.endpoints, protocols)
        addresses = {endpoint.name: (endpoint.host, endpoint.port) for endpoint in endpoints}
        images.append(BrokerImage(int(name), addresses, node.rack, item[1].created))
    return sorted(images, key=lambda image: image.node_id)
