"""Authorization, delegation tokens, secrets."""

from __future__ import annotations

from tidelog.broker.config.definition import (
    CLUSTER_WIDE,
    PER_BROKER,
    boolean,
    class_name,
    integer,
    long,
    password,
    string,
    strings,
)
from tidelog.common.config import Key, at_least

AUTHORIZER_CLASS_NAME = string(
    "authorizer.class.name",
    "",
    doc="Who decides what a principal may do; Kafka's own authorizers are known by name, empty allows everything.",
)
SUPER_USERS = string(
    "super.users", "", doc="Principals that may do everything, separated by semicolons: `User:alice;User:bob`."
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND = boolean(
    "allow.everyone.if.no.acl.found", False, doc="Whether a resource without any ACL is open to everyone."
)
PRINCIPAL_BUILDER_CLASS = class_name(
    "principal.builder.class",
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
    update=PER_BROKER,
    doc="The class that names the principal of a connection.",
)
SECURITY_PROVIDERS: Key[str | None] = string(
    "security.providers", None, doc="Java security providers; they cannot be loaded here."
)
CONNECTIONS_MAX_REAUTH_MS = long(
    "connections.max.reauth.ms",
    0,
    doc="How long a SASL session lasts before the client must authenticate anew; 0 for as long as its token.",
)
DELEGATION_TOKEN_SECRET_KEY: Key[str | None] = password(
    "delegation.token.secret.key",
    None,
    doc="The secret that delegation tokens are signed with; without it there are none.",
)
DELEGATION_TOKEN_MASTER_KEY: Key[str | None] = password(
    "delegation.token.master.key", None, doc="The older name of `delegation.token.secret.key`."
)
DELEGATION_TOKEN_MAX_LIFETIME_MS = long(
    "delegation.token.max.lifetime.ms", 604_800_000, at_least(1), doc="How long a token can be renewed at most."
)
DELEGATION_TOKEN_EXPIRY_TIME_MS = long(
    "delegation.token.expiry.time.ms",
    86_400_000,
    at_least(1),
    doc="How long a token is valid before it must be renewed.",
)
DELEGATION_TOKEN_EXPIRY_CHECK_INTERVAL_MS = long(
    "delegation.token.expiry.check.interval.ms", 3_600_000, at_least(1), doc="How often expired tokens are removed."
)
PASSWORD_ENCODER_SECRET: Key[str | None] = password(
    "password.encoder.secret", None, doc="The secret that encrypts passwords in dynamic configs (ZooKeeper mode)."
)
PASSWORD_ENCODER_OLD_SECRET: Key[str | None] = password(
    "password.encoder.old.secret", None, doc="The secret before that, while it is being changed."
)
PASSWORD_ENCODER_CIPHER_ALGORITHM = string(
    "password.encoder.cipher.algorithm", "AES/CBC/PKCS5Padding", doc="The cipher for those passwords."
)
PASSWORD_ENCODER_KEYFACTORY_ALGORITHM: Key[str | None] = string(
    "password.encoder.keyfactory.algorithm", None, doc="How their key is derived."
)
PASSWORD_ENCODER_KEY_LENGTH = integer("password.encoder.key.length", 128, at_least(8), doc="The length of their key.")
PASSWORD_ENCODER_ITERATIONS = integer(
    "password.encoder.iterations", 4096, at_least(1024), doc="Rounds of the key derivation."
)
CONFIG_PROVIDERS = strings(
    "config.providers",
    [],
    update=CLUSTER_WIDE,
    doc="Providers that replace `${…}` in values by secrets from elsewhere.",
)
