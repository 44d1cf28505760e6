"""Listening sockets: who may connect, how many, and how long they may be silent."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

from tidelog.net._connection import FrameSink, ServerConnection
from tidelog.net._receive import ReceiveBuffers

logger = logging.getLogger("tidelog.net")


@dataclass
class NetworkLimits:
    """The limits that all listeners of a broker share. Mutable: the keys behind them are dynamic."""

    max_frame: int = 104_857_600
    max_connections: int = 2_147_483_647
    max_connections_per_ip: int = 2_147_483_647
    per_ip_overrides: dict[str, int] = field(default_factory=dict)
    max_idle_ms: int = 600_000
    send_buffer: int = -1
    receive_buffer: int = -1
    backlog: int = 50


class ConnectionTable:
    """Every open connection of one broker, over all its listeners."""

    def __init__(self, limits: NetworkLimits) -> None:
        self.limits = limits
        self.connections: set[ServerConnection] = set()
        self._per_ip: Counter[str] = Counter()
        self._seen: dict[ServerConnection, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self.connections)

    def refusal(self, host: str) -> str | None:
        """Why a new connection from `host` is one too many, if it is."""
        limit = self.limits.per_ip_overrides.get(host, self.limits.max_connections_per_ip)
        if self._per_ip[host] >= limit:
            return f"{limit} connections from {host} are open (max.connections.per.ip)"
        if len(self.connections) >= self.limits.max_connections:
            return f"{self.limits.max_connections} connections are open (max.connections)"
        return None

    def add(self, connection: ServerConnection) -> None:
        self.connections.add(connection)
        self._per_ip[connection.client_host] += 1

    def remove(self, connection: ServerConnection) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            self._seen.pop(connection, None)
            self._per_ip[connection.client_host] -= 1
            if not self._per_ip[connection.client_host]:
                del self._per_ip[connection.client_host]

    def close_idle(self, now: float) -> int:
        """Close who has sent nothing for connections.max.idle.ms and waits for no answer; how many that were."""
        if self.limits.max_idle_ms < 0:
            return 0
        closed = 0
        for connection in list(self.connections):
            reads, since = self._seen.get(connection, (-1, now))
            if connection.busy or reads != connection.reads:
                self._seen[connection] = (connection.reads, now)
            elif (now - since) * 1000 >= self.limits.max_idle_ms:
                connection.close()
                closed += 1
        return closed


class Listener:
    """One listening address and the connections that came in by it."""

    def __init__(
        self, name: str, table: ConnectionTable, sink: FrameSink, buffers: ReceiveBuffers, executor: Executor
    ) -> None:
        self.name = name
        self.table = table
        self._sink = sink
        self._buffers = buffers
        self._executor = executor
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address that is really bound (port 0 picks a free one)."""
        loop = asyncio.get_running_loop()
        limits = self.table.limits
        sock = self._bind(host, port)
        self._server = await loop.create_server(
            lambda: ServerConnection(self, self._sink, self._buffers, loop, limits.max_frame),
            sock=sock,
            backlog=max(limits.backlog, 128),
        )
        bound = sock.getsockname()
        return bound[0], bound[1]

    def _bind(self, host: str, port: int) -> socket.socket:
        limits = self.table.limits
        family, kind, protocol, _, address = socket.getaddrinfo(
            host or "0.0.0.0", port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if limits.receive_buffer > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer)
            if limits.send_buffer > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer)
            sock.bind(address)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return sock

    def on_made(self, connection: ServerConnection) -> None:
        reason = self.table.refusal(connection.client_host)
        self.table.add(connection)
        if reason is not None:
            connection.close(reason)

    def on_lost(self, connection: ServerConnection) -> None:
        self.table.remove(connection)

    def in_thread(self, work: Callable[[], object], done: Callable[[], None]) -> None:
        """Run `work` on a thread, then `done` on the loop."""
        loop = asyncio.get_running_loop()

        def finished(future: asyncio.Future[object]) -> None:
            if error := future.exception():
                logger.error("work on a thread failed: %r", error)
            done()

        loop.run_in_executor(self._executor, work).add_done_callback(finished)

    async def stop(self) -> None:
        """Stop accepting."""
        if self._server is not None:
            self._server.close()
            self._server = None
