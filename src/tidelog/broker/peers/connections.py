"""One connection per broker, opened when it is first needed and shared by all who ask.

Where a broker is reached is looked up in the metadata each time: a broker that comes back at another address is
connected to there, and the connection to its old address is closed. A request that fails for a reason of the network
closes its connection, for answers come in the order of requests and whatever follows would wait behind it. Nothing is
sent twice here: whether a request may be repeated is known to the one who asked, and to him alone (a marker may, a
Produce without a producer id may not).

Opening takes a round trip or more, and many may want the same broker meanwhile: markers of a thousand transactions,
say, after an election. A lock per broker lets the first of them open and the others wait; without it each would open
one of its own, and all but the last would be forgotten, open. It is one lock per broker, not one for all: a broker that
does not answer takes `CONNECT_TIMEOUT` to be given up, which must not hold back what goes to the others.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net.node_client import NodeClient

if TYPE_CHECKING:
    from tidelog.broker.metadata.cache import MetadataCache

#: Seconds until a broker that does not take a connection counts as not there.
CONNECT_TIMEOUT = 10.0


class _Peer:
    """What is known of one broker: who opens a connection holds `lock`."""

    __slots__ = ("endpoint", "lock", "node")

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.endpoint: tuple[str, int] | None = None
        self.node: NodeClient | None = None


class PeerConnections:
    """Used from one event loop. Its connections end with `stop`, and whoever waits for an answer is told so."""

    def __init__(self, metadata: MetadataCache, listener: str, client_id: str) -> None:
        """`listener` is the one that brokers use among themselves, by its name in every broker's registration."""
        self._metadata = metadata
        self._listener = listener
        self._client_id = client_id
        self._peers: dict[int, _Peer] = {}

    async def send(self, node_id: int, request: Any) -> Any:
        """Ask a broker, and wait for its answer.

        Raises KafkaError: BROKER_NOT_AVAILABLE if no broker of that id is registered with the listener, else what
        became of the connection (NETWORK_EXCEPTION, REQUEST_TIMED_OUT). Then nobody knows whether the request was
        carried out.
        """
        node: NodeClient | None = None
        try:
            node = await self._connected(node_id)
            return await node.send(request)
        except (KafkaError, ProtocolError, OSError) as error:  # opening may fail in as many ways as asking
            if node is not None:
                await self._drop(node_id, node)
            if isinstance(error, KafkaError):
                raise
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"broker {node_id}: {error}") from error

    async def stop(self) -> None:
        """Close every connection."""
        for node_id, peer in list(self._peers.items()):
            if peer.node is not None:
                await self._drop(node_id, peer.node)

    def __len__(self) -> int:
        """How many connections are open."""
        return sum(peer.node is not None for peer in self._peers.values())

    async def _connected(self, node_id: int) -> NodeClient:
        endpoint = self._endpoint(node_id)
        peer = self._peers.get(node_id)
        if peer is None:
            peer = self._peers[node_id] = _Peer()
        async with peer.lock:
            node = peer.node
            if node is not None and node.is_open and peer.endpoint == endpoint:
                return node
            if node is not None:
                await self._drop(node_id, node)
            node = await NodeClient.connect(*endpoint, client_id=self._client_id, connect_timeout=CONNECT_TIMEOUT)
            peer.node, peer.endpoint = node, endpoint
            return node

    def _endpoint(self, node_id: int) -> tuple[str, int]:
        broker = self._metadata.brokers.get(node_id)
        endpoint = None if broker is None else broker.endpoints.get(self._listener)
        if endpoint is None:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {node_id} has no listener {self._listener}")
        return endpoint

    async def _drop(self, node_id: int, node: NodeClient) -> None:
        """Close a connection, unless somebody has put another in its place: that one is not to blame."""
        peer = self._peers[node_id]
        if peer.node is node:
            peer.node = None
        await node.close()
