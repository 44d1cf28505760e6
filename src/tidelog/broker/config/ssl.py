"""TLS. Each may be given for one listener alone: `listener.name.<listener>.ssl.…`."""

from __future__ import annotations

from tidelog.broker.config.definition import PER_BROKER, boolean, class_name, password, string, strings
from tidelog.common.config import Key, one_of

SSL_PROTOCOL = string("ssl.protocol", "TLSv1.3", update=PER_BROKER, doc="The newest TLS protocol to use.")
SSL_PROVIDER: Key[str | None] = string(
    "ssl.provider", None, update=PER_BROKER, doc="The Java security provider for TLS; not used here."
)
SSL_ENABLED_PROTOCOLS = strings(
    "ssl.enabled.protocols", ["TLSv1.2", "TLSv1.3"], update=PER_BROKER, doc="The TLS protocols that are accepted."
)
SSL_CIPHER_SUITES = strings(
    "ssl.cipher.suites",
    [],
    update=PER_BROKER,
    doc="The cipher suites that are accepted; empty for the library's choice.",
)
SSL_CLIENT_AUTH = string(
    "ssl.client.auth",
    "none",
    one_of("required", "requested", "none"),
    update=PER_BROKER,
    doc="Whether clients must (`required`), may (`requested`) or need not (`none`) show a certificate.",
)
SSL_KEYSTORE_TYPE = string(
    "ssl.keystore.type", "JKS", update=PER_BROKER, doc="The form of the key store: PEM, PKCS12 or JKS."
)
SSL_KEYSTORE_LOCATION: Key[str | None] = string(
    "ssl.keystore.location", None, update=PER_BROKER, doc="The key store's file."
)
SSL_KEYSTORE_PASSWORD: Key[str | None] = password(
    "ssl.keystore.password", None, update=PER_BROKER, doc="The key store's password."
)
SSL_KEYSTORE_KEY: Key[str | None] = password(
    "ssl.keystore.key", None, update=PER_BROKER, doc="The private key itself, as PEM."
)
SSL_KEYSTORE_CERTIFICATE_CHAIN: Key[str | None] = password(
    "ssl.keystore.certificate.chain", None, update=PER_BROKER, doc="The certificate chain itself, as PEM."
)
SSL_KEY_PASSWORD: Key[str | None] = password(
    "ssl.key.password", None, update=PER_BROKER, doc="The private key's password."
)
SSL_TRUSTSTORE_TYPE = string(
    "ssl.truststore.type", "JKS", update=PER_BROKER, doc="The form of the trust store: PEM, PKCS12 or JKS."
)
SSL_TRUSTSTORE_LOCATION: Key[str | None] = string(
    "ssl.truststore.location", None, update=PER_BROKER, doc="The trust store's file."
)
SSL_TRUSTSTORE_PASSWORD: Key[str | None] = password(
    "ssl.truststore.password", None, update=PER_BROKER, doc="The trust store's password."
)
SSL_TRUSTSTORE_CERTIFICATES: Key[str | None] = password(
    "ssl.truststore.certificates", None, update=PER_BROKER, doc="The trusted certificates themselves, as PEM."
)
SSL_KEYMANAGER_ALGORITHM = string(
    "ssl.keymanager.algorithm", "SunX509", update=PER_BROKER, doc="Java's key manager algorithm; not used here."
)
SSL_TRUSTMANAGER_ALGORITHM = string(
    "ssl.trustmanager.algorithm", "PKIX", update=PER_BROKER, doc="Java's trust manager algorithm; not used here."
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM = string(
    "ssl.endpoint.identification.algorithm",
    "https",
    update=PER_BROKER,
    doc="How the other side's host name is checked; empty does not check.",
)
SSL_SECURE_RANDOM_IMPLEMENTATION: Key[str | None] = string(
    "ssl.secure.random.implementation", None, update=PER_BROKER, doc="Java's source of randomness; not used here."
)
SSL_ENGINE_FACTORY_CLASS: Key[str | None] = class_name(
    "ssl.engine.factory.class",
    None,
    update=PER_BROKER,
    doc="A class that makes the TLS engine; Java classes cannot be loaded here.",
)
SSL_PRINCIPAL_MAPPING_RULES = string(
    "ssl.principal.mapping.rules", "DEFAULT", doc="Rules that turn a certificate's name into a principal."
)
SSL_ALLOW_DN_CHANGES = boolean(
    "ssl.allow.dn.changes", False, doc="Whether a reloaded certificate may have another distinguished name."
)
SSL_ALLOW_SAN_CHANGES = boolean(
    "ssl.allow.san.changes", False, doc="Whether a reloaded certificate may have other host names."
)
