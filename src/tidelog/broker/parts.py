"""Parts that are imported when they are needed: the one place that says which, and when.

A broker starts in a tenth of a second, and most of that is importing. So what only some brokers or some moments need is
not imported with `server.py`:

    Purgatories, ReplicaManager    after the log directories are locked: a start that is refused goes without
    Adoption                       by a directory that an Apache Kafka left
    SocketServer, Dispatcher, …    while the store's thread syncs the controller's epoch: the loop would only wait
    Background, ReplicaMovers      when the listeners are open
    record_takers                  with the first partition: before, there is nothing to produce to
    HttpServer, Exposition         where `tidelog.http.listener` is set
    Coordinators, group_takers     by the first request of a group or a transaction, or when there is state to load

`parts.Background` is the class `tidelog.broker.background.Background`, found at the first use of the name. For mypy and
import-linter these are imports like any other: types are checked, and the layers count them.

Rooms below this one cannot use it. What they import late stands in functions of four files, which a test lists: the
services of handlers (`handlers/services.py`, with the first request of each room), their takers (`handlers/takers.py`),
partitions (`replication/manager.py`, with the first of them) and the keys of groups' configs (`dynamic_configs.py`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tidelog.broker.adoption.adopt import Adoption
    from tidelog.broker.background import Background
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.exposition import Exposition
    from tidelog.broker.handlers.services import HandlerServices
    from tidelog.broker.handlers.takers import group_takers, record_takers
    from tidelog.broker.http import Health, HttpServer
    from tidelog.broker.network.dispatcher import Dispatcher
    from tidelog.broker.network.server import SocketServer
    from tidelog.broker.peers.connections import PeerConnections
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.control_requests import ControlRequests
    from tidelog.broker.replication.fetcher import NoFetchers
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.movers import ReplicaMovers
    from tidelog.broker.workers import Workers, worker_threads

__all__ = [
    "Adoption",
    "Background",
    "ControlRequests",
    "Coordinators",
    "Dispatcher",
    "Exposition",
    "HandlerServices",
    "Health",
    "HttpServer",
    "NoFetchers",
    "PeerConnections",
    "Purgatories",
    "ReplicaManager",
    "ReplicaMovers",
    "SocketServer",
    "Workers",
    "group_takers",
    "import_ahead",
    "record_takers",
    "worker_threads",
]

_MODULES = {
    "Adoption": "adoption.adopt",
    "Background": "background",
    "ControlRequests": "replication.control_requests",
    "Coordinators": "coordinator.coordinators",
    "Dispatcher": "network.dispatcher",
    "Exposition": "exposition",
    "HandlerServices": "handlers.services",
    "Health": "http",
    "HttpServer": "http",
    "NoFetchers": "replication.fetcher",
    "PeerConnections": "peers.connections",
    "Purgatories": "purgatory.purgatories",
    "ReplicaManager": "replication.manager",
    "ReplicaMovers": "replication.movers",
    "SocketServer": "network.server",
    "Workers": "workers",
    "group_takers": "handlers.takers",
    "record_takers": "handlers.takers",
    "worker_threads": "workers",
}


def __getattr__(name: str) -> Any:
    """The part of that name, which is this module's own from then on."""
    if name not in _MODULES:
        raise AttributeError(name)
    part = globals()[name] = getattr(import_module(f"tidelog.broker.{_MODULES[name]}"), name)
    return part


def import_ahead(*names: str) -> None:
    """Have these ready, at a moment when there is time for it."""
    for name in names:
        if name not in globals():
            __getattr__(name)
