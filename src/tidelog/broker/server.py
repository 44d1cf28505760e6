"""The broker: a node that listens.

Start:  the node, up to a controller in office (`node.py`) → listeners opened → coordinators and background work begun
        → `/metrics` and `/health`, if asked for.
Stop:   `/metrics` closed → listeners closed → the node.

Requests are not served before the controller is in office: the first Metadata answer knows every topic and its leader.
Where a port was left to the system, the registration is written anew once it is known.
"""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from tidelog.broker import config as keys
from tidelog.broker import parts
from tidelog.broker.closers import StopStage
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.config.endpoints import ANY_ADDRESS, Endpoint
from tidelog.broker.metadata.registration import advertised_endpoints
from tidelog.broker.network.loops import refuse_other_loops
from tidelog.broker.node import BrokerCore
from tidelog.common.errors import UsageError
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.handlers.services import HandlerServices
    from tidelog.broker.http import Health, HttpServer
    from tidelog.broker.network.server import SocketServer


class Broker(BrokerCore):
    """One broker. `async with Broker({...}) as broker:` starts and stops it.

    It builds and wires, and does nothing else: what it adds to a node is the way from sockets to the node's parts.
    """

    network: SocketServer
    services: HandlerServices
    #: Where it listens, as bound.
    endpoints: list[Endpoint]
    http: HttpServer | None = None

    async def _start(self) -> None:
        refuse_other_loops()
        refuse_what_is_not_enforced(self.config)
        await self._rule()
        await self._register(await self._listen())
        self._begin_work()
        await self._serve_http()

    async def __aenter__(self) -> Broker:
        await self.start()
        return self

    @property
    def address(self) -> str:
        """`host:port` of the first listener, as a client of this machine reaches it."""
        endpoint = self.endpoints[0]
        host = "127.0.0.1" if endpoint.host in ANY_ADDRESS else endpoint.host
        return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"

    async def wait_ended(self) -> None:
        """Until somebody stops the broker or it fails (then `failure` says why)."""
        await self.supervisor.wait_ended()

    def stop_on_signals(self) -> None:
        """Take SIGTERM and Ctrl-C for the wish to end (`wait_ended` returns), until the broker has stopped."""
        loop, numbers = asyncio.get_running_loop(), (signal.SIGTERM, signal.SIGINT)

        def let_go() -> None:
            for number in numbers:
                loop.remove_signal_handler(number)

        for number in numbers:
            loop.add_signal_handler(number, self.supervisor.end)
        self._closers.add(StopStage.SIGNALS, "signals", let_go)

    # -- steps of the start ------------------------------------------------------------------------------------------

    def _meanwhile(self) -> None:
        """The network's modules are needed from here on: importing them is what the start has to do anyway."""
        parts.import_ahead("SocketServer", "Dispatcher", "HandlerServices", "Workers")

    async def _listen(self) -> list[Endpoint]:
        """Open the listeners; returns what clients are to be told of them."""
        workers = parts.Workers(parts.worker_threads(self.config), self.config[keys.QUEUED_MAX_REQUESTS])
        self.services = self.handler_services(workers)
        dispatcher = parts.Dispatcher(self.services, self.metrics)
        self.network = parts.SocketServer(self.config, self.clock, workers, dispatcher)
        self.replicas.on_change(self._take_records)
        self._take_records()
        self._closers.add(StopStage.LISTENERS, "listeners", self.network.stop)
        bound = await self.network.start()
        self.endpoints = [endpoint._replace(host=host, port=port) for endpoint, host, port in bound]
        return advertised_endpoints(self.config.advertised, {endpoint.name: port for endpoint, _, port in bound})

    def _take_records(self) -> None:
        """Let compiled code serve Produce, from the first partition on: before, all it could do is refuse."""
        if self.network.sink.taker(ApiKey.PRODUCE) is None and any(self.replicas.partitions()):
            self.network.sink.set_takers(parts.record_takers(self.replicas, self.purgatories, self.clock))

    def _coordinators_begun(self, coordinators: Coordinators) -> None:
        self.network.sink.set_takers(parts.group_takers(coordinators, self.metadata, self.clock))

    async def _serve_http(self) -> None:
        """Last, and first to go: `/health` says `ok` of a broker that serves."""
        listener = self.config[keys.TIDELOG_HTTP_LISTENER]
        if listener is None:
            return
        exposition = parts.Exposition(
            self.metrics,
            self.metadata,
            self.log_manager,
            self.replicas,
            self.network.traffic,
            self.network.workers.run,
        )
        self.http = parts.HttpServer(listener, self._health, exposition.text)
        self._closers.add(StopStage.HTTP, "http", self.http.stop)
        await self.http.start()

    def _health(self) -> Health:
        """Made anew at each question: nothing has to be told to it, and nothing can be out of date."""
        offline = [str(directory.path) for directory in self.log_manager.offline_dirs]
        return parts.Health(
            "failed" if self.failure is not None else "degraded" if offline else "ok",
            self.node_id,
            self.metadata.cluster_id,
            len(self.metadata.topics),
            self.metadata.partition_total,
            offline,
        )


def refuse_what_is_not_enforced(config: BrokerConfig) -> None:
    """A broker that was told to be secure, and is not, would be worse than none."""
    for endpoint in config.listeners:
        if endpoint.protocol != "PLAINTEXT":
            raise UsageError(f"Listener {endpoint} asks for {endpoint.protocol}; this version serves PLAINTEXT only")
    if config[keys.AUTHORIZER_CLASS_NAME]:
        raise UsageError(
            "authorizer.class.name is set, but this version enforces no ACLs: start with "
            "--set authorizer.class.name= to serve everything to everybody"
        )
