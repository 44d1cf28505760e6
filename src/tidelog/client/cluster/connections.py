"""The connections of one client: one per broker (and purpose), made when wanted, closed when nobody wants them.

    connections = Connections(config, rng=rng)
    node = await connections.get(("broker-1", 9092))
    node = connections.least_loaded()

**One connection for all.** Of ten tasks that want the same broker, one connects and the others use what it got.

**Back-off.** A broker that could not be reached is left in peace for `reconnect.backoff.ms`, twice as long after each
further failure, up to `reconnect.backoff.max.ms`: whoever wants it meanwhile waits. The time that connecting may take
grows alike (`socket.connection.setup.timeout.ms`, up to its `.max.`): a path that is slow gets its chance.

**Idle connections** are closed after `connections.max.idle.ms`, before the broker does it: a request that is sent while
the other side closes is lost, and nobody knows whether it was served.

**Purposes.** A broker answers a connection's requests in their order, so what waits at the broker (a JoinGroup for
minutes, a Fetch for half a second) makes all that follows wait. What waits has a purpose of its own, and with it
another connection to the same broker: groups have one, so that heartbeats and commits never queue behind a fetch, nor
fetches behind a rebalance.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from tidelog.client.cluster.backoff import Backoff
from tidelog.client.config import common as keys
from tidelog.client.config.parsing import ClientConfig
from tidelog.client.config.security import SECURITY_PROTOCOL
from tidelog.common.config import Config, Key
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.rng import Rng
from tidelog.net.node_client import NodeClient
from tidelog.net.pauses import pause

Address = tuple[str, int]

#: How many looks at idle connections fit into `connections.max.idle.ms`: one is closed late by a quarter at most.
_LOOKS = 4


class ClientClosedError(KafkaError):
    """The client was closed before there was an answer. Nobody tries again: it stays closed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.NETWORK_EXCEPTION, "the client is closed")

    @property
    def retriable(self) -> bool:
        return False


class _Failures(NamedTuple):
    """How often in a row a broker could not be reached, and when (by the loop's time) we may try again."""

    times: int
    not_before: float


class _Seen(NamedTuple):
    """How many requests a connection had sent when it was last found to be used, and when that was."""

    requests: int
    since: float


class Connections:
    """Not thread-safe; belongs to the loop that first uses it."""

    def __init__(self, config: Config, *, rng: Rng, dedicated: bool = False) -> None:
        self._rng = rng
        self._backoff = Backoff(config[keys.RECONNECT_BACKOFF_MS] / 1000, config[keys.RECONNECT_BACKOFF_MAX_MS] / 1000)
        self._setup = Backoff(
            config[keys.CONNECTION_SETUP_TIMEOUT_MS] / 1000, config[keys.CONNECTION_SETUP_TIMEOUT_MAX_MS] / 1000
        )
        self._options: dict[str, Any] = {
            "client_id": config[keys.CLIENT_ID],
            "request_timeout": config[keys.REQUEST_TIMEOUT_MS] / 1000,
            **_security(config),
            "send_buffer": _buffer_size(config, keys.SEND_BUFFER_BYTES),
            "receive_buffer": _buffer_size(config, keys.RECEIVE_BUFFER_BYTES),
            "dedicated": dedicated,
        }
        self._max_idle = config[keys.CONNECTIONS_MAX_IDLE_MS] / 1000
        self._nodes: dict[tuple[Address, str], NodeClient] = {}
        self._locks: dict[tuple[Address, str], asyncio.Lock] = {}
        self._failures: dict[Address, _Failures] = {}
        #: When whoever wanted a broker last went away without having reached it.
        self._unreached: dict[Address, float] = {}
        self._seen: dict[NodeClient, _Seen] = {}
        self._dialing: set[asyncio.Task[NodeClient]] = set()
        self._look: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    # --- whom there is ------------------------------------------------------------------------------------------------

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection to some broker at this moment."""
        return any(node.is_open for node in self._nodes.values())

    def least_loaded(self) -> NodeClient | None:
        """The open connection with the fewest requests in flight; any of those that have as few. Those with
        a purpose of their own do not count: what waits there may wait for long.
        """
        nodes = [node for (_, purpose), node in self._nodes.items() if node.is_open and not purpose]
        if not nodes:
            return None
        fewest = min(node.in_flight for node in nodes)
        return self._rng.choice([node for node in nodes if node.in_flight == fewest])

    def wait_of(self, address: Address) -> float:
        """Seconds for which this broker is still left in peace."""
        failures = self._failures.get(address)
        return 0.0 if failures is None else max(0.0, failures.not_before - asyncio.get_running_loop().time())

    def in_order(self, addresses: Iterable[Address]) -> list[Address]:
        """Whom to try first: who was not waited for in vain, or not lately, and of those who is not left in peace. One
        that swallows packets fails after many seconds only, and callers may have less patience than that: the next
        call must not begin with it again.
        """
        return sorted(addresses, key=lambda address: (self._unreached.get(address, 0.0), self.wait_of(address)))

    # --- getting one --------------------------------------------------------------------------------------------------

    async def get(self, address: Address, *, purpose: str = "") -> NodeClient:
        """The open connection, or a new one; `ConnectError` if there is none to be had."""
        node = self._nodes.get((address, purpose))
        if node is not None and node.is_open:
            return node
        self._refuse_if_closed()
        async with self._locks.setdefault((address, purpose), asyncio.Lock()):
            node = self._nodes.get((address, purpose))
            if node is None or not node.is_open:
                if (seconds := self.wait_of(address)) > 0:
                    await pause(seconds)
                node = await self._connect(address)
                self._nodes[address, purpose] = node
                self._watch(node)
        return node

    async def _connect(self, address: Address) -> NodeClient:
        """Try once, and remember how it went. Of one that was not wanted to its end, only that it did not come in time:
        that is no reason to keep anybody waiting.
        """
        failures = self._failures.get(address, _Failures(0, 0.0)).times
        self._loop = asyncio.get_running_loop()
        try:
            self._refuse_if_closed()
            node = await self._dial(address, self._setup.wait(failures, self._rng))
        except KafkaError:
            now = asyncio.get_running_loop().time()
            self._failures[address] = _Failures(failures + 1, now + self._backoff.wait(failures, self._rng))
            raise
        except asyncio.CancelledError:
            self._unreached[address] = asyncio.get_running_loop().time()
            raise
        self._failures.pop(address, None)
        self._unreached.pop(address, None)
        if self._closed:
            await node.close()
            self._refuse_if_closed()
        return node

    async def _dial(self, address: Address, timeout: float) -> NodeClient:
        """A new connection. In a task of its own, as `close` ends it, and nobody else's."""
        connecting = NodeClient.connect(*address, connect_timeout=timeout, **self._options)
        dialing = asyncio.get_running_loop().create_task(connecting)
        self._dialing.add(dialing)
        try:
            return await dialing
        except asyncio.CancelledError:
            if dialing.done() and not dialing.cancelled() and dialing.exception() is None:
                dialing.result().abort()  # it has come about just as its caller went
            current = asyncio.current_task()
            if self._closed and not (current is not None and current.cancelling()):
                raise ClientClosedError from None
            raise
        finally:
            self._dialing.discard(dialing)

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise ClientClosedError

    # --- letting go ---------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close all, for good; requests under way fail with a network error."""
        self._closed = True
        for dialing in self._dialing:
            dialing.cancel()
        await asyncio.gather(*self._dialing, return_exceptions=True)  # each closes what it has opened
        await self.drop()

    def abandon(self) -> None:
        """Close all, for good, some time soon; from any thread. A loop that has ended has closed them itself."""
        self._closed = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._abort)

    def _abort(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
        for dialing in self._dialing:
            dialing.cancel()
        for node in self._nodes.values():
            node.abort()

    async def drop(self) -> None:
        """Close all, to begin anew with the next `get`."""
        if self._look is not None:
            self._look.cancel()
            self._look = None
        nodes, self._nodes = self._nodes, {}
        self._seen.clear()
        for node in nodes.values():
            node.abort()  # all of them, also if whoever waits for their ends has no time
        for node in nodes.values():
            await node.close()

    def _watch(self, node: NodeClient) -> None:
        """Look after a new connection. One timer is enough for all, and there is none while there is no connection."""
        if self._max_idle < 0:
            return
        loop = asyncio.get_running_loop()
        self._seen[node] = _Seen(node.requests, loop.time())
        if self._look is None:
            self._look = loop.call_later(self._max_idle / _LOOKS, self._close_idle)

    def _close_idle(self) -> None:
        """Forget who is gone, close who was idle for too long, come back while anybody is left."""
        loop = asyncio.get_running_loop()
        now, self._look = loop.time(), None
        self._nodes = {place: node for place, node in self._nodes.items() if node.is_open}
        seen, self._seen = self._seen, {}
        for node, last in seen.items():
            if not node.is_open:
                continue
            used = node.in_flight > 0 or node.requests != last.requests
            if not used and now - last.since >= self._max_idle:
                node.abort()
                continue
            self._seen[node] = _Seen(node.requests, now) if used else last
        if self._seen:
            self._look = loop.call_later(self._max_idle / _LOOKS, self._close_idle)


def _buffer_size(config: Config, key: Key[int]) -> int:
    """What was set, else -1, the system's choice: Kafka's defaults, a few packets of a fast network, would keep it from
    choosing. A consumer of records of 1 KB on the same machine got a third less with them.
    """
    return config[key] if not isinstance(config, ClientConfig) or config.is_set(key) else -1


def _security(config: Config) -> dict[str, Any]:
    """Encryption and the proof of who we are. Without either, what they are made of (hashes, certificates, temporary
    files) is not even imported: a client should be there at once.
    """
    if config[SECURITY_PROTOCOL] == "PLAINTEXT":
        return {}
    from tidelog.client.cluster.security import authenticator, tls_context

    return {"tls": tls_context(config), "authenticate": authenticator(config)}
