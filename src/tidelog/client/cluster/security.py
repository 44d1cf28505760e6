"""From settings to a TLS context and to the exchange that proves who we are.

The names are Java's. Its `ssl.truststore.location` and `ssl.keystore.location` may name PEM files there as well
(KIP-651), and here they must. `sasl.jaas.config` is understood as far as it holds a user and a password.
"""

from __future__ import annotations

import re
import ssl

from tidelog.client.config import security as keys
from tidelog.common.config import Config
from tidelog.common.errors import UsageError
from tidelog.net.node_client import Authenticator, NodeClient
from tidelog.net.sasl.authenticate import authenticate
from tidelog.net.sasl.plain import PlainClient

_JAAS_FIELD = re.compile(r'\b(username|password)\s*=\s*"((?:[^"\\]|\\.)*)"')


def tls_context(config: Config) -> ssl.SSLContext | None:
    """What `security.protocol` and the ssl.* settings say; None for plain text."""
    if not config[keys.SECURITY_PROTOCOL].endswith("SSL"):
        return None
    context = ssl.create_default_context(cafile=config[keys.SSL_TRUSTSTORE_LOCATION])
    if not config[keys.SSL_IDENTIFICATION]:
        context.check_hostname = False
    certificate = config[keys.SSL_KEYSTORE_LOCATION]
    if certificate:
        context.load_cert_chain(certificate, password=config[keys.SSL_KEY_PASSWORD])
    return context


def authenticator(config: Config) -> Authenticator | None:
    """The SASL exchange to run on each new connection; None without SASL."""
    if not config[keys.SECURITY_PROTOCOL].startswith("SASL"):
        return None
    mechanism = config[keys.SASL_MECHANISM]
    if mechanism != PlainClient.mechanism:
        raise UsageError(f"sasl.mechanism {mechanism} is not supported by this client yet: use PLAIN")
    username, password = _credentials(config)

    async def prove(node: NodeClient) -> None:
        await authenticate(node, PlainClient(username, password))  # an exchange serves one connection

    return prove


def _credentials(config: Config) -> tuple[str, str]:
    """The plain settings go before the JAAS line, which is what a file made for Java holds."""
    jaas = dict(_JAAS_FIELD.findall(config[keys.SASL_JAAS_CONFIG] or ""))
    username = config[keys.SASL_USERNAME] or jaas.get("username")
    password = config[keys.SASL_PASSWORD] or jaas.get("password")
    if username is None or password is None:
        raise UsageError("SASL needs sasl.username and sasl.password (or both within sasl.jaas.config)")
    return username, password
