"""Declared keys of the clients, with Kafka's names.

Defaults are Kafka's, except where a client that moves Arrow batches is better served by another; those say so in
their text. A mapping of raw texts (`{"bootstrap.servers": "...", ...}`) is parsed by `client_config`, which warns of
each key that is not declared here: it has no effect. Nothing is declared that no client reads. What reads which:

    every client      bootstrap.servers to socket.connection.setup.timeout.ms, security.protocol, ssl.*, sasl.*
    Fetcher           isolation.level, fetch.*, max.partition.fetch.bytes, check.crcs
    ArrowProducer     acks (only without idempotence), enable.idempotence, compression.type, batch.size,
                      max.request.size, max.in.flight.requests.per.connection, delivery.timeout.ms,
                      transaction.timeout.ms

The group and the transactional id are arguments of the calls that need them, not keys. There is no `linger.ms`,
`retries` or `buffer.memory`: a `send` of columns leaves at once, is retried until `delivery.timeout.ms`, and waits for
room in the buffer that its producer was made with.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from tidelog.common.config import Config, ConfigDef, Key, Type, at_least, not_empty, one_of
from tidelog.common.errors import UsageError

logger = logging.getLogger("tidelog.client")
KEYS = ConfigDef("Clients")

BOOTSTRAP_SERVERS = KEYS.define(
    "bootstrap.servers",
    Type.LIST,
    [""],
    not_empty(),
    doc="`host:port` of some brokers, to find the others by.",
    importance="high",
)
CLIENT_ID = KEYS.define("client.id", Type.STRING, "tidelog", doc="Our name in the brokers' logs and quotas.")
REQUEST_TIMEOUT_MS = KEYS.define(
    "request.timeout.ms", Type.INT, 30_000, at_least(1), doc="How long one request may take before it counts as lost."
)
DEFAULT_API_TIMEOUT_MS = KEYS.define(
    "default.api.timeout.ms", Type.INT, 60_000, at_least(0), doc="How long one call may take, its retries included."
)
RETRY_BACKOFF_MS = KEYS.define("retry.backoff.ms", Type.LONG, 100, at_least(0), doc="Wait before the first retry.")
RETRY_BACKOFF_MAX_MS = KEYS.define(
    "retry.backoff.max.ms", Type.LONG, 1_000, at_least(0), doc="The wait doubles with each retry, up to this."
)
METADATA_MAX_AGE_MS = KEYS.define(
    "metadata.max.age.ms", Type.LONG, 300_000, at_least(0), doc="Cluster metadata older than this is asked for anew."
)
CONNECTION_SETUP_TIMEOUT_MS = KEYS.define(
    "socket.connection.setup.timeout.ms", Type.LONG, 10_000, at_least(1), doc="How long connecting may take."
)
SECURITY_PROTOCOL = KEYS.define(
    "security.protocol",
    Type.STRING,
    "PLAINTEXT",
    one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    doc="Encryption and authentication of the connections.",
)
SSL_CAFILE: Key[str | None] = KEYS.define(
    "ssl.truststore.location",
    Type.STRING,
    None,
    doc="PEM file of the authorities that we trust; unset: the system's.",
)
SSL_CERTFILE: Key[str | None] = KEYS.define(
    "ssl.keystore.location", Type.STRING, None, doc="PEM file with our certificate and key."
)
SSL_KEY_PASSWORD: Key[str | None] = KEYS.define(
    "ssl.key.password", Type.PASSWORD, None, doc="Password of our private key."
)
SSL_IDENTIFICATION = KEYS.define(
    "ssl.endpoint.identification.algorithm", Type.STRING, "https", doc="Empty: do not compare the broker's name."
)
SASL_MECHANISM = KEYS.define("sasl.mechanism", Type.STRING, "PLAIN", doc="PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512.")
SASL_USERNAME: Key[str | None] = KEYS.define("sasl.username", Type.STRING, None, doc="User name for SASL.")
SASL_PASSWORD: Key[str | None] = KEYS.define("sasl.password", Type.PASSWORD, None, doc="Password for SASL.")
SASL_JAAS_CONFIG: Key[str | None] = KEYS.define(
    "sasl.jaas.config", Type.PASSWORD, None, doc='Java\'s form of the two above: `... username="u" password="p";`'
)

ISOLATION_LEVEL = KEYS.define(
    "isolation.level",
    Type.STRING,
    "read_uncommitted",
    one_of("read_uncommitted", "read_committed"),
    doc="read_committed: records of aborted transactions are left out, and nothing of an open one is seen.",
)
FETCH_MIN_BYTES = KEYS.define("fetch.min.bytes", Type.INT, 1, at_least(0), doc="A fetch waits for this much...")
FETCH_MAX_WAIT_MS = KEYS.define("fetch.max.wait.ms", Type.INT, 500, at_least(0), doc="... but not longer than this.")
FETCH_MAX_BYTES = KEYS.define(
    "fetch.max.bytes", Type.INT, 52_428_800, at_least(0), doc="A fetch brings about this much at most."
)
MAX_PARTITION_FETCH_BYTES = KEYS.define(
    "max.partition.fetch.bytes",
    Type.INT,
    8 << 20,
    at_least(0),
    doc="A fetch brings about this much of one partition at most. Kafka's default is 1 MiB; an Arrow batch of a few "
    "MiB costs the same per fetch and carries more.",
)
CHECK_CRCS = KEYS.define("check.crcs", Type.BOOLEAN, True, doc="Check the checksum of each record batch.")

ACKS = KEYS.define(
    "acks",
    Type.STRING,
    "all",
    one_of("all", "-1", "0", "1"),
    doc="Who must have it before it counts. Has an effect only with enable.idempotence=false: an idempotent producer "
    "always waits for all.",
)
ENABLE_IDEMPOTENCE = KEYS.define(
    "enable.idempotence",
    Type.BOOLEAN,
    True,
    doc="A retried batch is written once, and the order is kept; always on in transactions.",
)
COMPRESSION_TYPE = KEYS.define(
    "compression.type",
    Type.STRING,
    "none",
    one_of("none", "gzip", "snappy", "lz4", "zstd"),
    doc="How record batches are compressed.",
)
BATCH_SIZE = KEYS.define(
    "batch.size",
    Type.INT,
    1_000_000,
    at_least(1),
    doc="Largest record batch in bytes before compression. Kafka's default is 16 KiB, for records that trickle in one "
    "by one; a column of records fills larger ones at no delay.",
)
MAX_REQUEST_SIZE = KEYS.define(
    "max.request.size",
    Type.INT,
    1_048_576,
    at_least(1),
    doc="Largest Produce request, about. A batch is cut to it before compression; a single record that is larger is "
    "sent all the same, and the broker decides by max.message.bytes.",
)
MAX_IN_FLIGHT = KEYS.define(
    "max.in.flight.requests.per.connection",
    Type.INT,
    5,
    at_least(1),
    doc="Batches of one partition on their way at once, five at most. (Kafka: requests on a connection.)",
)
DELIVERY_TIMEOUT_MS = KEYS.define(
    "delivery.timeout.ms", Type.INT, 120_000, at_least(0), doc="A batch that is not written by then has failed."
)
TRANSACTION_TIMEOUT_MS = KEYS.define(
    "transaction.timeout.ms",
    Type.INT,
    60_000,
    at_least(1),
    doc="The coordinator aborts a transaction that is open for longer.",
)


def client_config(raw: Mapping[str, object]) -> Config:
    """Parse and check raw settings; `bootstrap.servers` must be there."""
    config = KEYS.parse(raw)
    if "bootstrap.servers" not in config.explicit:
        raise UsageError("bootstrap.servers is not set: give the host:port of at least one broker")
    for name in config.unknown:
        logger.warning("the client key %s is not known and has no effect%s", name, _suggestion(name))
    if "acks" in config.explicit and config[ACKS] not in ("all", "-1") and config[ENABLE_IDEMPOTENCE]:
        logger.warning("acks=%s has no effect unless enable.idempotence=false is set as well", config[ACKS])
    return config


def _suggestion(name: str) -> str:
    from difflib import get_close_matches  # only for whoever made a mistake

    close = get_close_matches(name, KEYS.keys, n=1, cutoff=0.8)
    return f": did you mean {close[0]}?" if close else ""


def bootstrap_addresses(config: Config) -> list[tuple[str, int]]:
    """`host:port` texts as pairs; IPv6 addresses in brackets."""
    addresses = []
    for text in config[BOOTSTRAP_SERVERS]:
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdigit() or not 0 < int(port) < 65536:
            raise UsageError(f"{text!r} in bootstrap.servers is not of the form host:port")
        addresses.append((host.removeprefix("[").removesuffix("]"), int(port)))
    return addresses
