"""SASL. Each may be given for one listener (and mechanism) alone: `listener.name.<listener>.<mechanism>.sasl.…`."""

from __future__ import annotations

from tidelog.broker.config.definition import (
    PER_BROKER,
    boolean,
    class_name,
    double,
    integer,
    long,
    one_of_any_case,
    password,
    short,
    string,
    strings,
)
from tidelog.common.config import Key, between

SASL_ENABLED_MECHANISMS = strings(
    "sasl.enabled.mechanisms", ["GSSAPI"], update=PER_BROKER, doc="The SASL mechanisms that are offered."
)
SASL_MECHANISM_INTER_BROKER_PROTOCOL = string(
    "sasl.mechanism.inter.broker.protocol", "GSSAPI", update=PER_BROKER, doc="The SASL mechanism between brokers."
)
SASL_MECHANISM_CONTROLLER_PROTOCOL = string(
    "sasl.mechanism.controller.protocol", "GSSAPI", doc="The SASL mechanism towards controllers."
)
SASL_JAAS_CONFIG: Key[str | None] = password(
    "sasl.jaas.config",
    None,
    update=PER_BROKER,
    doc="Users, passwords and options of a mechanism, in JAAS form (`listener.name.…` gives one listener its own).",
)
SASL_SERVER_CALLBACK_HANDLER_CLASS: Key[str | None] = class_name(
    "sasl.server.callback.handler.class",
    None,
    doc="A class that checks credentials; Java classes cannot be loaded here.",
)
SASL_SERVER_MAX_RECEIVE_SIZE = integer(
    "sasl.server.max.receive.size", 524_288, doc="The largest SASL message that is accepted before authentication."
)
SASL_CLIENT_CALLBACK_HANDLER_CLASS: Key[str | None] = class_name(
    "sasl.client.callback.handler.class",
    None,
    doc="A class that gives credentials; Java classes cannot be loaded here.",
)
SASL_LOGIN_CLASS: Key[str | None] = class_name(
    "sasl.login.class", None, doc="A class that logs in; Java classes cannot be loaded here."
)
SASL_LOGIN_CALLBACK_HANDLER_CLASS: Key[str | None] = class_name(
    "sasl.login.callback.handler.class", None, doc="A class that logs in; Java classes cannot be loaded here."
)
SASL_LOGIN_CONNECT_TIMEOUT_MS: Key[int | None] = integer(
    "sasl.login.connect.timeout.ms", None, doc="How long connecting to the identity provider may take."
)
SASL_LOGIN_READ_TIMEOUT_MS: Key[int | None] = integer(
    "sasl.login.read.timeout.ms", None, doc="How long the identity provider may take to answer."
)
SASL_LOGIN_RETRY_BACKOFF_MS = long(
    "sasl.login.retry.backoff.ms", 100, doc="How long to wait before the login is tried again."
)
SASL_LOGIN_RETRY_BACKOFF_MAX_MS = long(
    "sasl.login.retry.backoff.max.ms", 10_000, doc="The limit to which that time grows."
)
SASL_LOGIN_REFRESH_WINDOW_FACTOR = double(
    "sasl.login.refresh.window.factor",
    0.8,
    update=PER_BROKER,
    doc="The share of a token's life after which it is refreshed.",
)
SASL_LOGIN_REFRESH_WINDOW_JITTER = double(
    "sasl.login.refresh.window.jitter", 0.05, update=PER_BROKER, doc="How much that varies at random."
)
SASL_LOGIN_REFRESH_MIN_PERIOD_SECONDS = short(
    "sasl.login.refresh.min.period.seconds", 60, update=PER_BROKER, doc="The least time between two refreshes."
)
SASL_LOGIN_REFRESH_BUFFER_SECONDS = short(
    "sasl.login.refresh.buffer.seconds",
    300,
    update=PER_BROKER,
    doc="How long before its end a token is refreshed at the latest.",
)
SASL_KERBEROS_SERVICE_NAME: Key[str | None] = string(
    "sasl.kerberos.service.name", None, update=PER_BROKER, doc="The Kerberos service name of the brokers."
)
SASL_KERBEROS_KINIT_CMD = string(
    "sasl.kerberos.kinit.cmd", "/usr/bin/kinit", update=PER_BROKER, doc="The command that renews the ticket."
)
SASL_KERBEROS_TICKET_RENEW_WINDOW_FACTOR = double(
    "sasl.kerberos.ticket.renew.window.factor",
    0.8,
    update=PER_BROKER,
    doc="The share of a ticket's life after which it is renewed.",
)
SASL_KERBEROS_TICKET_RENEW_JITTER = double(
    "sasl.kerberos.ticket.renew.jitter", 0.05, update=PER_BROKER, doc="How much that varies at random."
)
SASL_KERBEROS_MIN_TIME_BEFORE_RELOGIN = long(
    "sasl.kerberos.min.time.before.relogin", 60_000, update=PER_BROKER, doc="The least time between two logins."
)
SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES = strings(
    "sasl.kerberos.principal.to.local.rules",
    ["DEFAULT"],
    update=PER_BROKER,
    doc="Rules that turn a Kerberos principal into a short name.",
)
SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: Key[str | None] = string(
    "sasl.oauthbearer.token.endpoint.url", None, doc="Where tokens are fetched."
)
SASL_OAUTHBEARER_SCOPE: Key[str | None] = string("sasl.oauthbearer.scope", None, doc="The scope that is asked for.")
SASL_OAUTHBEARER_SCOPE_CLAIM_NAME = string(
    "sasl.oauthbearer.scope.claim.name", "scope", doc="The claim that holds the scope."
)
SASL_OAUTHBEARER_SUB_CLAIM_NAME = string(
    "sasl.oauthbearer.sub.claim.name", "sub", doc="The claim that names the principal."
)
SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_ID: Key[str | None] = string(
    "sasl.oauthbearer.client.credentials.client.id", None, doc="The client id for the client credentials grant."
)
SASL_OAUTHBEARER_CLIENT_CREDENTIALS_CLIENT_SECRET: Key[str | None] = password(
    "sasl.oauthbearer.client.credentials.client.secret", None, doc="The client secret for the client credentials grant."
)
SASL_OAUTHBEARER_JWT_RETRIEVER_CLASS = class_name(
    "sasl.oauthbearer.jwt.retriever.class",
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever",
    doc="How a token is fetched.",
)
SASL_OAUTHBEARER_JWT_VALIDATOR_CLASS = class_name(
    "sasl.oauthbearer.jwt.validator.class",
    "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator",
    doc="How a token is checked.",
)
SASL_OAUTHBEARER_ASSERTION_ALGORITHM = string(
    "sasl.oauthbearer.assertion.algorithm",
    "RS256",
    one_of_any_case("ES256", "RS256"),
    doc="The signature of assertions.",
)
SASL_OAUTHBEARER_ASSERTION_FILE: Key[str | None] = string(
    "sasl.oauthbearer.assertion.file", None, doc="A file with a ready assertion."
)
SASL_OAUTHBEARER_ASSERTION_PRIVATE_KEY_FILE: Key[str | None] = string(
    "sasl.oauthbearer.assertion.private.key.file", None, doc="The key that signs assertions."
)
SASL_OAUTHBEARER_ASSERTION_PRIVATE_KEY_PASSPHRASE: Key[str | None] = password(
    "sasl.oauthbearer.assertion.private.key.passphrase", None, doc="That key's passphrase."
)
SASL_OAUTHBEARER_ASSERTION_TEMPLATE_FILE: Key[str | None] = string(
    "sasl.oauthbearer.assertion.template.file", None, doc="A file with further headers and claims of assertions."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_AUD: Key[str | None] = string(
    "sasl.oauthbearer.assertion.claim.aud", None, doc="The audience of assertions."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_ISS: Key[str | None] = string(
    "sasl.oauthbearer.assertion.claim.iss", None, doc="The issuer of assertions."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_SUB: Key[str | None] = string(
    "sasl.oauthbearer.assertion.claim.sub", None, doc="The subject of assertions."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_JTI_INCLUDE = boolean(
    "sasl.oauthbearer.assertion.claim.jti.include", False, doc="Whether assertions carry an id of their own."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_EXP_SECONDS = integer(
    "sasl.oauthbearer.assertion.claim.exp.seconds", 300, between(0, 86_400), doc="How long assertions are valid."
)
SASL_OAUTHBEARER_ASSERTION_CLAIM_NBF_SECONDS = integer(
    "sasl.oauthbearer.assertion.claim.nbf.seconds",
    60,
    between(0, 3600),
    doc="How long before now assertions are valid already.",
)
SASL_OAUTHBEARER_EXPECTED_AUDIENCE = strings(
    "sasl.oauthbearer.expected.audience", [], doc="The audiences that a token may be for."
)
SASL_OAUTHBEARER_EXPECTED_ISSUER: Key[str | None] = string(
    "sasl.oauthbearer.expected.issuer", None, doc="The issuer that a token must come from."
)
SASL_OAUTHBEARER_CLOCK_SKEW_SECONDS = integer(
    "sasl.oauthbearer.clock.skew.seconds", 30, doc="How far the issuer's clock may be off."
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_URL: Key[str | None] = string(
    "sasl.oauthbearer.jwks.endpoint.url", None, doc="Where the issuer's keys are."
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_REFRESH_MS = long(
    "sasl.oauthbearer.jwks.endpoint.refresh.ms", 3_600_000, doc="How often they are fetched."
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MS = long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 100, doc="How long to wait before that is tried again."
)
SASL_OAUTHBEARER_JWKS_ENDPOINT_RETRY_BACKOFF_MAX_MS = long(
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 10_000, doc="The limit to which that time grows."
)
