"""What every client has: where the cluster is, how long to wait, how connections are made and kept.

The constants are read by the cluster client (`client/cluster`) from the config of whichever client owns it; where a
kind of client has another default (Kafka's producer receives less than its consumer), its own definition says so, and
the same constant gives it.
"""

from __future__ import annotations

from tidelog.client.config.parsing import ClientConfig, ClientKeys
from tidelog.common.config import Type as T
from tidelog.common.config import at_least, not_empty, one_of
from tidelog.common.errors import UsageError

KEYS = ClientKeys("All clients")

BOOTSTRAP_SERVERS = KEYS.define(
    "bootstrap.servers",
    T.LIST,
    [""],
    not_empty(),
    doc="`host:port` of some brokers, to find the others by. One that does not answer is passed over.",
    importance="high",
)
CLIENT_ID = KEYS.define(
    "client.id",
    T.STRING,
    "",
    doc="Our name in the brokers' logs and quotas. Where it is not set a client names itself, as Java's do: "
    "`producer-1`, `producer-<transactional.id>`, `consumer-<group.id>-1`, `adminclient-1`.",
)
CLIENT_DNS_LOOKUP = KEYS.define(
    "client.dns.lookup",
    T.STRING,
    "use_all_dns_ips",
    one_of("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"),
    doc="`use_all_dns_ips`: the addresses of a name are tried one after the other. "
    "`resolve_canonical_bootstrap_servers_only`: each address of a bootstrap name is looked up for its own name first, "
    "which is then what certificates are compared with.",
)
REQUEST_TIMEOUT_MS = KEYS.define(
    "request.timeout.ms", T.INT, 30_000, at_least(0), doc="How long one request may take before it counts as lost."
)
DEFAULT_API_TIMEOUT_MS = KEYS.define(
    "default.api.timeout.ms",
    T.INT,
    60_000,
    at_least(0),
    doc="How long one call may take, its retries included, unless it is given a time-out of its own.",
)
RETRY_BACKOFF_MS = KEYS.define("retry.backoff.ms", T.LONG, 100, at_least(0), doc="Wait before the first retry.")
RETRY_BACKOFF_MAX_MS = KEYS.define(
    "retry.backoff.max.ms", T.LONG, 1_000, at_least(0), doc="The wait doubles with each retry, up to this."
)
METADATA_MAX_AGE_MS = KEYS.define(
    "metadata.max.age.ms", T.LONG, 300_000, at_least(0), doc="Cluster metadata older than this is asked for anew."
)
METADATA_RECOVERY_STRATEGY = KEYS.define(
    "metadata.recovery.strategy",
    T.STRING,
    "rebootstrap",
    one_of("rebootstrap", "none"),
    doc="Whether the bootstrap servers are asked again when no broker that we know of can be reached (KIP-899).",
)
METADATA_REBOOTSTRAP_TRIGGER_MS = KEYS.define(
    "metadata.recovery.rebootstrap.trigger.ms",
    T.LONG,
    300_000,
    at_least(0),
    doc="They are asked, too, when no metadata could be had for this long.",
)
CONNECTION_SETUP_TIMEOUT_MS = KEYS.define(
    "socket.connection.setup.timeout.ms",
    T.LONG,
    10_000,
    at_least(1),
    doc="How long connecting may take, TLS included. It doubles with each failure in a row...",
)
CONNECTION_SETUP_TIMEOUT_MAX_MS = KEYS.define(
    "socket.connection.setup.timeout.max.ms", T.LONG, 30_000, at_least(1), doc="... up to this."
)
CONNECTIONS_MAX_IDLE_MS = KEYS.define(
    "connections.max.idle.ms",
    T.LONG,
    540_000,
    doc="A connection that nobody used for this long is closed; -1: never. Less than the brokers' ten minutes, so that "
    "it is us who close.",
)
RECONNECT_BACKOFF_MS = KEYS.define(
    "reconnect.backoff.ms", T.LONG, 50, at_least(0), doc="Wait before we connect again to a broker that refused."
)
RECONNECT_BACKOFF_MAX_MS = KEYS.define(
    "reconnect.backoff.max.ms",
    T.LONG,
    1_000,
    at_least(0),
    doc="That wait doubles with each failure in a row, up to this.",
)
SEND_BUFFER_BYTES = KEYS.define(
    "send.buffer.bytes",
    T.INT,
    131_072,
    at_least(-1),
    doc="SO_SNDBUF of the connections; -1: the system's choice. The default is Kafka's, and is not applied unless set.",
)
RECEIVE_BUFFER_BYTES = KEYS.define(
    "receive.buffer.bytes",
    T.INT,
    65_536,
    at_least(-1),
    doc="SO_RCVBUF of the connections; -1: the system's choice. The default is Kafka's, and is not applied unless set.",
)


def require_bootstrap(config: ClientConfig) -> dict[str, object]:
    """A client that was told of no broker cannot find any."""
    if not config.is_set(BOOTSTRAP_SERVERS):
        raise UsageError("bootstrap.servers is not set: give the host:port of at least one broker")
    return {}


def constant_backoffs(config: ClientConfig) -> dict[str, object]:
    """Kafka's rule: whoever sets the first wait alone wants it constant, unless it is below the largest."""
    settled: dict[str, object] = {}
    for first, longest in (
        (RETRY_BACKOFF_MS, RETRY_BACKOFF_MAX_MS),
        (RECONNECT_BACKOFF_MS, RECONNECT_BACKOFF_MAX_MS),
    ):
        if config.is_set(first) and not config.is_set(longest) and config[first] > config[longest]:
            settled[longest.name] = config[first]
    return settled
