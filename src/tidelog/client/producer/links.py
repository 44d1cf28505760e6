"""Link: the way to one leader, as the sender sees it: which partitions wait for it, and how much is under way.

It is what Kafka's InFlightRequests and connection states are to its Sender. A link connects when something is ready for
its node, and again when the connection is lost; while that fails, it waits a little longer each time, and batches
simply stay where they are: they have time until `delivery.timeout.ms`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.producer._partition_batches import PartitionBatches
from tidelog.common.errors import KafkaError
from tidelog.net.node_client import NodeClient


class Link:
    """One leader. `ready` holds the partitions that have a batch for it, those that were served last at the end."""

    def __init__(self, cluster: ClusterClient, node_id: int) -> None:
        self.node_id = node_id
        self.ready: deque[PartitionBatches] = deque()
        self.in_flight = 0
        self.blocked_until = 0.0
        #: Since when nothing could be sent, though something was ready; 0 while something can.
        self.stuck_since = 0.0
        self.error: KafkaError | None = None
        self._cluster = cluster
        self._node: NodeClient | None = None
        self._failures = 0
        self._connecting: asyncio.Task[None] | None = None

    @property
    def node(self) -> NodeClient | None:
        """The open connection, if there is one."""
        return self._node if self._node is not None and self._node.is_open else None

    def connect(self, now: float, connected: Callable[[Link], None]) -> None:
        """Connect in passing, unless that is under way or was tried a moment ago; `connected` when it is over."""
        if self._connecting is not None or now < self.blocked_until:
            return
        self._connecting = asyncio.ensure_future(self._connect(connected))

    async def _connect(self, connected: Callable[[Link], None]) -> None:
        try:
            self._node = await self._cluster.node(self.node_id)
            self._failures, self.error = 0, None
        except KafkaError as error:
            self.error = error
            self.blocked_until = self._cluster.clock.monotonic() + self._cluster.wait_before_retry(self._failures)
            self._failures += 1
        finally:
            self._connecting = None
        connected(self)

    def cancel(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
