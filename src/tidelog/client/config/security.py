"""Encryption and authentication: `security.protocol`, `ssl.*`, `sasl.*`, with Java's names.

Keys and certificates are PEM, in files or in the values themselves (KIP-651). Java's own key stores (JKS) cannot be
read by Python's ssl; `client/cluster/security.py` says how to turn one into PEM when it meets one.
"""

from __future__ import annotations

from typing import Any

from tidelog.client.config.parsing import ClientKeys
from tidelog.common.config import Key, one_of
from tidelog.common.config import Type as T

KEYS = ClientKeys("Security")

SECURITY_PROTOCOL = KEYS.define(
    "security.protocol",
    T.STRING,
    "PLAINTEXT",
    one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    doc="Encryption (SSL) and authentication (SASL) of the connections.",
)
SSL_TRUSTSTORE_LOCATION: Key[str | None] = KEYS.define(
    "ssl.truststore.location",
    T.STRING,
    None,
    doc="PEM file of the authorities that we trust; unset: the system's.",
)
SSL_TRUSTSTORE_CERTIFICATES: Key[str | None] = KEYS.define(
    "ssl.truststore.certificates", T.PASSWORD, None, doc="The same as text."
)
SSL_TRUSTSTORE_TYPE: Key[str | None] = KEYS.define(
    "ssl.truststore.type", T.STRING, None, doc="PEM; Java's other kinds cannot be read here. Unset: PEM is assumed."
)
SSL_KEYSTORE_LOCATION: Key[str | None] = KEYS.define(
    "ssl.keystore.location", T.STRING, None, doc="PEM file with our private key and the chain of our certificate."
)
SSL_KEYSTORE_CERTIFICATE_CHAIN: Key[str | None] = KEYS.define(
    "ssl.keystore.certificate.chain", T.PASSWORD, None, doc="Our certificate and those above it, as PEM text..."
)
SSL_KEYSTORE_KEY: Key[str | None] = KEYS.define(
    "ssl.keystore.key", T.PASSWORD, None, doc="... and our private key, as PEM text."
)
SSL_KEYSTORE_TYPE: Key[str | None] = KEYS.define(
    "ssl.keystore.type", T.STRING, None, doc="PEM; Java's other kinds cannot be read here. Unset: PEM is assumed."
)
SSL_KEY_PASSWORD: Key[str | None] = KEYS.define(
    "ssl.key.password", T.PASSWORD, None, doc="Password of our private key."
)
SSL_PROTOCOL = KEYS.define(
    "ssl.protocol", T.STRING, "TLSv1.3", doc="The newest version of TLS that we speak, if enabled.protocols is unset."
)
SSL_ENABLED_PROTOCOLS = KEYS.define(
    "ssl.enabled.protocols", T.LIST, ["TLSv1.2", "TLSv1.3"], doc="The versions of TLS that we speak."
)
SSL_CIPHER_SUITES: Key[list[str] | None] = KEYS.define(
    "ssl.cipher.suites",
    T.LIST,
    None,
    doc="Cipher suites of TLS 1.2 that we accept, by OpenSSL's or Java's names; unset: OpenSSL's choice.",
)
SSL_IDENTIFICATION = KEYS.define(
    "ssl.endpoint.identification.algorithm",
    T.STRING,
    "https",
    one_of("https", ""),
    doc="Whether the broker's certificate must be for its host name; empty: any name will do.",
)
SASL_MECHANISM = KEYS.define(
    "sasl.mechanism",
    T.STRING,
    "GSSAPI",
    doc="PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER. Kafka's default, Kerberos (GSSAPI), is not supported.",
)
SASL_USERNAME: Key[str | None] = KEYS.define("sasl.username", T.STRING, None, doc="User name for PLAIN and SCRAM.")
SASL_PASSWORD: Key[str | None] = KEYS.define("sasl.password", T.PASSWORD, None, doc="Password for PLAIN and SCRAM.")
SASL_JAAS_CONFIG: Key[str | None] = KEYS.define(
    "sasl.jaas.config", T.PASSWORD, None, doc='Java\'s form of the two above: `... username="u" password="p";`'
)
SASL_LOGIN_CALLBACK: Key[Any] = KEYS.define(
    "sasl.login.callback.handler.class",
    T.CLASS,
    None,
    doc="For OAUTHBEARER: a function, plain or `async`, that returns a token (text, or a `tidelog.client.values.Token` "
    "with extensions). It is called for each new connection.",
)
