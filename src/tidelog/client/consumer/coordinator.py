"""One group's coordinator, asked once: who it is, and whether an answer shows that it has moved.

Members do not use `ClusterClient.ask_coordinator`, which tries again until a time is up: what follows an error depends
on the request, on the error and on what the member is doing, and its tables decide that.
"""

from __future__ import annotations

from typing import Any

from tidelog.client.cluster.client import ClusterClient, CoordinatorType
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net.node_client import NodeClient
from tidelog.protocol.api import ApiKey

#: The connection for what must not queue behind a request that the coordinator holds.
_BESIDE = "group-beside"
#: Whoever answered this is not the coordinator any more, or was not reached.
_MOVED = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)


class GroupCoordinator:
    """The way to the broker that coordinates a group, over a connection that only groups use."""

    def __init__(self, cluster: ClusterClient, group_id: str) -> None:
        self._cluster = cluster
        self.group_id = group_id

    async def ask(
        self, request: Any, *, highest: int | None = None, timeout: float | None = None, beside: bool = False
    ) -> Any:
        """One try. An error that is a field of the answer is the caller's to find, and to `note`.

        `beside`: over another connection. A coordinator answers the requests of one in their order, and keeps a
        JoinGroup until all others have joined.
        """
        try:
            node = await self._node(beside)
            return await node.send(request, highest=highest, timeout=timeout)
        except KafkaError as error:
            self.note(error.code)
            raise
        except ProtocolError as error:
            self.note(ErrorCode.NETWORK_EXCEPTION)
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, str(error)) from error

    async def version_of(self, key: ApiKey) -> int:
        """The version that a request to the coordinator will have."""
        return (await self._node(False)).version_of(key)

    async def _node(self, beside: bool) -> NodeClient:
        usual = await self._cluster.coordinator(CoordinatorType.GROUP, self.group_id)
        known = self._cluster.known_coordinator(CoordinatorType.GROUP, self.group_id)
        return await self._cluster.node(known.id, purpose=_BESIDE) if beside and known is not None else usual

    def note(self, code: int) -> None:
        """Look the coordinator up anew if this shows that it has moved."""
        if code in _MOVED:
            self._cluster.forget_coordinator(CoordinatorType.GROUP, self.group_id)
