"""What handlers of the cluster, its nodes and their log directories may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.broker.config.broker_config import BrokerConfig
    from tidelog.broker.handlers.cluster.telemetry_clients import TelemetryClients
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.replication.partition import Partition
    from tidelog.broker.store.api import Store
    from tidelog.broker.workers import Workers
    from tidelog.common.clock import Clock
    from tidelog.common.fs import FileSystem
    from tidelog.common.rng import Rng
    from tidelog.log.directory.log_dir import LogDir
    from tidelog.log.manager.manager import LogManager


class ClusterServices(NamedTuple):
    """All that a handler of this room can touch."""

    node_id: int
    config: BrokerConfig
    clock: Clock
    rng: Rng
    """For the ids that clients of telemetry are given."""
    fs: FileSystem
    """How much room the disks of the log directories have."""
    metadata: MetadataCache
    store: Store
    """Asked for its last transaction, which stands for the high watermark of KRaft's metadata log."""
    log_manager: LogManager
    replicas: ReplicaManager
    workers: Workers
    move_replica: Callable[[Partition, LogDir], None]
    """Begins to move a partition's log into another directory of this node."""
    telemetry_clients: TelemetryClients
    """Clients that asked what metrics they shall push (KIP-714)."""
