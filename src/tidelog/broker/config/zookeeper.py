"""ZooKeeper's keys. None has an effect: the broker keeps what ZooKeeper would keep in its embedded store."""

from __future__ import annotations

from tidelog.broker.config.definition import boolean, integer, password, string, strings
from tidelog.common.config import Key, at_least

ZOOKEEPER_CONNECT: Key[str | None] = string(
    "zookeeper.connect",
    None,
    doc="The ZooKeeper servers and root path, as `host:port,host:port/path`. Without effect but for a warning at the "
    "start: a broker serves alone, on its embedded store.",
)
ZOOKEEPER_SESSION_TIMEOUT_MS = integer(
    "zookeeper.session.timeout.ms",
    18_000,
    doc="After how long without a sign of life ZooKeeper takes the broker for dead.",
)
ZOOKEEPER_CONNECTION_TIMEOUT_MS: Key[int | None] = integer(
    "zookeeper.connection.timeout.ms",
    None,
    doc="How long connecting to ZooKeeper may take; without it the session's time-out.",
)
ZOOKEEPER_MAX_IN_FLIGHT_REQUESTS = integer(
    "zookeeper.max.in.flight.requests", 10, at_least(1), doc="Requests to ZooKeeper that may be under way."
)
ZOOKEEPER_SET_ACL = boolean(
    "zookeeper.set.acl", False, doc="Whether nodes are made so that only brokers may change them."
)
ZOOKEEPER_METADATA_MIGRATION_ENABLE = boolean(
    "zookeeper.metadata.migration.enable",
    False,
    doc="Whether a migration to KRaft is under way; Tidelog refuses to take part.",
)
ZOOKEEPER_METADATA_MIGRATION_MIN_BATCH_SIZE = integer(
    "zookeeper.metadata.migration.min.batch.size", 200, at_least(1), doc="Batch size of that migration."
)
ZOOKEEPER_CLIENT_CNXN_SOCKET: Key[str | None] = string(
    "zookeeper.clientCnxnSocket", None, doc="The Java class of the ZooKeeper connection; not used here."
)
ZOOKEEPER_SSL_CLIENT_ENABLE = boolean("zookeeper.ssl.client.enable", False, doc="Whether ZooKeeper is reached by TLS.")
ZOOKEEPER_SSL_KEYSTORE_LOCATION: Key[str | None] = string(
    "zookeeper.ssl.keystore.location", None, doc="The key store towards ZooKeeper."
)
ZOOKEEPER_SSL_KEYSTORE_PASSWORD: Key[str | None] = password(
    "zookeeper.ssl.keystore.password", None, doc="Its password."
)
ZOOKEEPER_SSL_KEYSTORE_TYPE: Key[str | None] = string("zookeeper.ssl.keystore.type", None, doc="Its form.")
ZOOKEEPER_SSL_TRUSTSTORE_LOCATION: Key[str | None] = string(
    "zookeeper.ssl.truststore.location", None, doc="The trust store towards ZooKeeper."
)
ZOOKEEPER_SSL_TRUSTSTORE_PASSWORD: Key[str | None] = password(
    "zookeeper.ssl.truststore.password", None, doc="Its password."
)
ZOOKEEPER_SSL_TRUSTSTORE_TYPE: Key[str | None] = string("zookeeper.ssl.truststore.type", None, doc="Its form.")
ZOOKEEPER_SSL_PROTOCOL = string("zookeeper.ssl.protocol", "TLSv1.2", doc="The TLS protocol towards ZooKeeper.")
ZOOKEEPER_SSL_ENABLED_PROTOCOLS: Key[list[str] | None] = strings(
    "zookeeper.ssl.enabled.protocols", None, doc="The TLS protocols accepted towards ZooKeeper."
)
ZOOKEEPER_SSL_CIPHER_SUITES: Key[list[str] | None] = strings(
    "zookeeper.ssl.cipher.suites", None, doc="The cipher suites towards ZooKeeper."
)
ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = string(
    "zookeeper.ssl.endpoint.identification.algorithm", "HTTPS", doc="How ZooKeeper's host name is checked."
)
ZOOKEEPER_SSL_CRL_ENABLE = boolean("zookeeper.ssl.crl.enable", False, doc="Whether revocation lists are looked at.")
ZOOKEEPER_SSL_OCSP_ENABLE = boolean("zookeeper.ssl.ocsp.enable", False, doc="Whether OCSP is asked.")
