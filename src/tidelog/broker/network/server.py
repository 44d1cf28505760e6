"""The broker's sockets: its listeners, the limits that they share, and the sweep of silent connections."""

from __future__ import annotations

import asyncio
import os
from functools import partial

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import Endpoint, cannot_listen
from tidelog.broker.metrics import Traffic
from tidelog.broker.network._sink import RequestSink
from tidelog.broker.network.dispatcher import Dispatcher
from tidelog.broker.network.gate import Gate
from tidelog.broker.workers import Workers, worker_threads
from tidelog.common.clock import Clock
from tidelog.common.config import Key
from tidelog.net._receive import ReceiveBuffers
from tidelog.net._sendfile_threads import SendfileThreads
from tidelog.net.connection_table import ConnectionTable, ListenerLimits, NetworkLimits
from tidelog.net.listener import Listener
from tidelog.net.pauses import pause

#: How often silent connections are looked for, at most.
SWEEP_SECONDS = 10.0


def limits_from(config: BrokerConfig) -> NetworkLimits:
    names = [endpoint.name for endpoint in config.listeners]
    return NetworkLimits(
        max_frame=config[keys.SOCKET_REQUEST_MAX_BYTES],
        max_connections=config[keys.MAX_CONNECTIONS],
        max_connections_per_ip=config[keys.MAX_CONNECTIONS_PER_IP],
        per_ip_overrides=config.per_ip_overrides,
        creation_rate=config[keys.MAX_CONNECTION_CREATION_RATE],
        max_idle_ms=config[keys.CONNECTIONS_MAX_IDLE_MS],
        send_buffer=_if_set(config, keys.SOCKET_SEND_BUFFER_BYTES),
        receive_buffer=_if_set(config, keys.SOCKET_RECEIVE_BUFFER_BYTES),
        backlog=config[keys.SOCKET_LISTEN_BACKLOG_SIZE],
        listeners={name: _limits_of(config, name) for name in names},
        protected=config.inter_broker_listener if len(names) > 1 else None,
    )


def _limits_of(config: BrokerConfig, listener: str) -> ListenerLimits:
    return ListenerLimits(
        config.of_listener(keys.MAX_CONNECTIONS, listener),
        config.of_listener(keys.MAX_CONNECTION_CREATION_RATE, listener),
    )


def _if_set(config: BrokerConfig, key: Key[int]) -> int:
    """A socket buffer's size if somebody chose one; Kafka's default would keep the system from sizing it by need."""
    return config[key] if config.explicit(key) else -1


def sending_threads(config: BrokerConfig) -> int:
    """Threads that send files beside the loop: the loop is a network thread too, and needs a core."""
    return max(1, min(config[keys.NUM_NETWORK_THREADS], os.cpu_count() or 1) - 1)


class SocketServer:
    def __init__(self, config: BrokerConfig, clock: Clock, workers: Workers, dispatcher: Dispatcher) -> None:
        self._config = config
        self.table = ConnectionTable(limits_from(config), clock)
        self.dispatcher = dispatcher
        #: Takes the frames of all connections; the dispatcher gets what no taker serves.
        self.sink = RequestSink(dispatcher, asyncio.get_running_loop())
        self.gate = Gate()
        self._listeners: list[Listener] = []
        self._buffers = ReceiveBuffers()
        self.workers = workers
        workers.on_full = self._hold
        #: Whose turn it is when there is room for requests again: a place in the table.
        self._next = 0
        self._sweeper: asyncio.TimerHandle | None = None
        self.sendfile_threads: SendfileThreads | None = None

    async def start(self) -> list[tuple[Endpoint, str, int]]:
        """Open all listeners; returns the addresses that are really bound."""
        self.sendfile_threads = SendfileThreads(asyncio.get_running_loop(), sending_threads(self._config))
        self._config.on_change(self._on_config)
        bound: list[tuple[Endpoint, str, int]] = []
        for endpoint in self._config.listeners:
            listener = Listener(
                endpoint.name,
                self.table,
                self.sink,
                self._buffers,
                self.sendfile_threads,
                lambda: self.workers.executor,
                partial(self.gate.admit, endpoint),
            )
            self._listeners.append(listener)
            try:
                host, port = await listener.start(endpoint.host, endpoint.port)
            except OSError as error:
                raise cannot_listen(endpoint, error, "listeners (--listen)") from error
            bound.append((endpoint, host, port))
        self._sweep()
        return bound

    def traffic(self) -> Traffic:
        """What was counted here, for whoever shows it."""
        return Traffic(self.sink.taken(), len(self.table.connections))

    async def stop(self) -> None:
        """Stop accepting, give up what is under way, close every connection."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for listener in self._listeners:
            await listener.stop()
        await self.dispatcher.stop()
        for connection in list(self.table.connections):
            connection.close()
        for _ in range(100):
            if not self.table.connections:
                break
            await pause(0.001)
        if self.sendfile_threads is not None:
            self.sendfile_threads.stop()
        self.workers.stop()

    def _hold(self, held: bool) -> None:
        """Too many requests are under way, or no longer.

        Then those whose frames have waited go on, in turns: the first to find no room any more is the first of all next
        time. Were it always the oldest connection, a crowd of them would leave the younger ones no room for ever.
        """
        self._buffers.held = held
        if held:
            return
        waiting = list(self.table.connections)
        first = self._next if self._next < len(waiting) else 0
        for connection in waiting[first:] + waiting[:first]:
            if self._buffers.held:
                break
            connection.resume()
            first += 1
        self._next = first % max(len(waiting), 1)

    def _on_config(self, names: frozenset[str]) -> None:
        self.table.change(limits_from(self._config))
        self.workers.resize(worker_threads(self._config))
        if self.sendfile_threads is not None:
            self.sendfile_threads.resize(sending_threads(self._config))

    def _sweep(self) -> None:
        self.table.close_idle()
        idle = self.table.limits.max_idle_ms
        delay = min(SWEEP_SECONDS, idle / 4000) if idle > 0 else SWEEP_SECONDS
        self._sweeper = asyncio.get_running_loop().call_later(max(delay, 0.05), self._sweep)
