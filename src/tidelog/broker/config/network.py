"""The broker's sockets: listeners, limits on connections and requests, buffers."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, PER_BROKER, integer, long, string, strings
from tidelog.common.config import Key, at_least, one_of
from tidelog.common.types import MAX_INT32

LISTENERS = strings(
    "listeners",
    ["PLAINTEXT://:9092"],
    update=PER_BROKER,
    doc="Where the broker listens, as `NAME://host:port`; no host means every interface, port 0 any free port.",
)
ADVERTISED_LISTENERS: Key[list[str] | None] = strings(
    "advertised.listeners",
    None,
    doc="Where clients shall connect to, when that differs from `listeners` (proxies, containers, several interfaces).",
)
LISTENER_SECURITY_PROTOCOL_MAP = string(
    "listener.security.protocol.map",
    "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
    update=PER_BROKER,
    doc="Which security protocol each listener name stands for.",
)
INTER_BROKER_LISTENER_NAME: Key[str | None] = string(
    "inter.broker.listener.name",
    None,
    doc="The listener that brokers use among themselves; without it, the first of `security.inter.broker.protocol`.",
)
SECURITY_INTER_BROKER_PROTOCOL = string(
    "security.inter.broker.protocol",
    "PLAINTEXT",
    one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    doc="The security protocol between brokers, where `inter.broker.listener.name` does not say which listener.",
)
EARLY_START_LISTENERS: Key[list[str] | None] = strings(
    "early.start.listeners", None, doc="Listeners that open before the authorizer is ready."
)
NUM_NETWORK_THREADS = integer(
    "num.network.threads",
    3,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads that send: the event loop, and beside it, as far as there are cores, threads that send files when "
    "several connections read much at once. Taken at the start of the broker.",
)
NUM_IO_THREADS = integer(
    "num.io.threads",
    8,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Request threads of Apache Kafka; Tidelog has one event loop and keeps the number only to show it.",
)
BACKGROUND_THREADS = integer(
    "background.threads",
    10,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads for background work: fsync, cleaning, cold reads, conversions.",
)
QUEUED_MAX_REQUESTS = integer(
    "queued.max.requests",
    500,
    at_least(1),
    doc="Requests of one broker that may be under way before it stops reading from its connections.",
)
QUEUED_MAX_REQUEST_BYTES = long(
    "queued.max.request.bytes",
    -1,
    doc="Bytes of requests that may be under way before the broker stops reading; -1 for no limit.",
)
REQUEST_TIMEOUT_MS = integer(
    "request.timeout.ms", 30_000, doc="How long the broker waits for the answer to a request of its own."
)
SOCKET_SEND_BUFFER_BYTES = integer(
    "socket.send.buffer.bytes",
    102_400,
    doc="The socket's send buffer (SO_SNDBUF); -1 leaves it to the operating system.",
)
SOCKET_RECEIVE_BUFFER_BYTES = integer(
    "socket.receive.buffer.bytes",
    102_400,
    doc="The socket's receive buffer (SO_RCVBUF); -1 leaves it to the operating system.",
)
SOCKET_REQUEST_MAX_BYTES = integer(
    "socket.request.max.bytes",
    104_857_600,
    at_least(1),
    doc="The largest request that is accepted; a larger one closes its connection.",
)
SOCKET_LISTEN_BACKLOG_SIZE = integer(
    "socket.listen.backlog.size", 50, at_least(1), doc="How many connections may wait to be accepted."
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MS = long(
    "socket.connection.setup.timeout.ms", 10_000, doc="How long a connection of the broker's own may take to be set up."
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS = long(
    "socket.connection.setup.timeout.max.ms", 30_000, doc="The limit to which that time grows after repeated failures."
)
CONNECTIONS_MAX_IDLE_MS = long(
    "connections.max.idle.ms", 600_000, doc="Connections on which nothing came for this long are closed."
)
MAX_CONNECTIONS = integer(
    "max.connections",
    MAX_INT32,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most connections at a time; others wait to be accepted. `listener.name.<listener>.max.connections` limits "
    "one listener; where there are several, the brokers' own is bound by that alone, and others are closed for it.",
)
MAX_CONNECTIONS_PER_IP = integer(
    "max.connections.per.ip",
    MAX_INT32,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most connections that one address may have; any more are closed.",
)
MAX_CONNECTIONS_PER_IP_OVERRIDES = string(
    "max.connections.per.ip.overrides",
    "",
    update=CLUSTER_WIDE,
    doc="Other limits for certain addresses, as `host:number,host:number`.",
)
MAX_CONNECTION_CREATION_RATE = integer(
    "max.connection.creation.rate",
    MAX_INT32,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most new connections per second, on average; others wait to be accepted. Also for one listener: "
    "`listener.name.<listener>.max.connection.creation.rate`.",
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS = integer(
    "connection.failed.authentication.delay.ms",
    100,
    at_least(0),
    doc="How long a failed authentication is kept waiting for its answer, to slow down guessing.",
)
FETCH_MAX_BYTES = integer(
    "fetch.max.bytes",
    57_671_680,
    at_least(1024),
    doc="The most bytes that one fetch response carries (its first batch may be larger).",
)
MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS = integer(
    "max.incremental.fetch.session.cache.slots", 1000, at_least(0), doc="How many fetch sessions are remembered."
)
MAX_REQUEST_PARTITION_SIZE_LIMIT = integer(
    "max.request.partition.size.limit",
    2000,
    at_least(1),
    doc="The most partitions that one DescribeTopicPartitions answer lists.",
)
FETCH_PURGATORY_PURGE_INTERVAL_REQUESTS = integer(
    "fetch.purgatory.purge.interval.requests",
    1000,
    doc="After how many completed requests the waiting fetches are swept; kept for compatibility.",
)
PRODUCER_PURGATORY_PURGE_INTERVAL_REQUESTS = integer(
    "producer.purgatory.purge.interval.requests",
    1000,
    doc="After how many completed requests the waiting produces are swept; kept for compatibility.",
)
DELETE_RECORDS_PURGATORY_PURGE_INTERVAL_REQUESTS = integer(
    "delete.records.purgatory.purge.interval.requests",
    1,
    doc="After how many completed requests the waiting record deletions are swept; kept for compatibility.",
)
SHARE_FETCH_PURGATORY_PURGE_INTERVAL_REQUESTS = integer(
    "share.fetch.purgatory.purge.interval.requests",
    1000,
    doc="After how many completed requests the waiting share fetches are swept; kept for compatibility.",
)
CONTROL_PLANE_LISTENER_NAME: Key[str | None] = string(
    "control.plane.listener.name", None, doc="A listener of its own for requests of the controller (ZooKeeper mode)."
)
