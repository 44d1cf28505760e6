"""From the ssl.* settings to a TLS context. The names are Java's; keys and certificates are PEM (KIP-651), in files or
in the values themselves. What cannot work is said when the client is made, with the setting that it is about.

By default we speak TLS 1.2 and 1.3, trust whom the system trusts, and compare the broker's name with its certificate.
Each setting makes that stricter, or (the name) laxer; none turns off that somebody has to vouch for the broker.
"""

from __future__ import annotations

import ssl
import tempfile

from tidelog.client.config import security as keys
from tidelog.common.config import Config, Key
from tidelog.common.errors import UsageError

_VERSIONS = {
    "TLSv1": ssl.TLSVersion.TLSv1,
    "TLSv1.1": ssl.TLSVersion.TLSv1_1,
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_TO_PEM = (
    "Python reads PEM only. Of a Java key store: keytool -importkeystore -srckeystore FILE -destkeystore store.p12 "
    "-deststoretype PKCS12, then openssl pkcs12 -in store.p12 -nodes -out store.pem"
)


def tls_context(config: Config) -> ssl.SSLContext | None:
    """What `security.protocol` and the ssl.* settings say; None for plain text."""
    if not config[keys.SECURITY_PROTOCOL].endswith("SSL"):
        return None
    for kind in (keys.SSL_TRUSTSTORE_TYPE, keys.SSL_KEYSTORE_TYPE):
        if (config[kind] or "PEM").upper() != "PEM":
            raise UsageError(f"{kind.name}={config[kind]}: {_TO_PEM}")
    try:
        context = ssl.create_default_context(cadata=_authorities(config))
    except ssl.SSLError as error:
        raise UsageError(f"{keys.SSL_TRUSTSTORE_LOCATION.name}: no certificates can be read: {error}") from error
    context.check_hostname = bool(config[keys.SSL_IDENTIFICATION])
    _limit_versions(context, config)
    _limit_ciphers(context, config)
    _show_certificate(context, config)
    return context


def _authorities(config: Config) -> str | None:
    """Whom we trust, as PEM text; None: whom the system trusts. One's own authority *replaces* the system's: whoever
    has one does not want any other to speak for the brokers.
    """
    text = config[keys.SSL_TRUSTSTORE_CERTIFICATES]
    location = config[keys.SSL_TRUSTSTORE_LOCATION]
    return text if location is None else _read(keys.SSL_TRUSTSTORE_LOCATION, location)


def _show_certificate(context: ssl.SSLContext, config: Config) -> None:
    """Our own certificate, for brokers that want one (ssl.client.auth). Key and chain are in one file or in two texts;
    either way ssl reads them from a file, so texts become one, for as long as the reading takes.
    """
    location = config[keys.SSL_KEYSTORE_LOCATION]
    if location is not None:
        setting, pem = keys.SSL_KEYSTORE_LOCATION.name, _read(keys.SSL_KEYSTORE_LOCATION, location)
    elif config[keys.SSL_KEYSTORE_KEY] is not None:
        setting = keys.SSL_KEYSTORE_KEY.name
        pem = f"{config[keys.SSL_KEYSTORE_KEY]}\n{config[keys.SSL_KEYSTORE_CERTIFICATE_CHAIN] or ''}\n"
    else:
        return
    with tempfile.NamedTemporaryFile("w", prefix="tidelog-", suffix=".pem") as file:  # ssl reads files alone; ours is
        file.write(pem)  # for our eyes only, and gone at once
        file.flush()
        try:
            context.load_cert_chain(file.name, password=lambda: config[keys.SSL_KEY_PASSWORD] or "")
        except ssl.SSLError as error:
            raise UsageError(
                f"{setting}: there is no private key with its certificate in it, or ssl.key.password is wrong: {error}"
            ) from error


def _limit_versions(context: ssl.SSLContext, config: Config) -> None:
    """From the oldest to the newest that is named: ssl knows no gaps in between, and nobody has a use for one."""
    names = config[keys.SSL_ENABLED_PROTOCOLS]
    if keys.SSL_ENABLED_PROTOCOLS.name not in config.explicit:
        names = [name for name in names if name <= config[keys.SSL_PROTOCOL]] or [config[keys.SSL_PROTOCOL]]
    wrong = [name for name in names if name not in _VERSIONS]
    if wrong or not names:
        raise UsageError(f"ssl.enabled.protocols: {', '.join(wrong) or 'nothing'} is none of {', '.join(_VERSIONS)}")
    versions = sorted(_VERSIONS[name] for name in names)
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _limit_ciphers(context: ssl.SSLContext, config: Config) -> None:
    """Python's ssl lets the suites of TLS 1.3 alone: all are good. So a list that names only those limits nothing."""
    names = [openssl_name(name) for name in config[keys.SSL_CIPHER_SUITES] or [] if not name.startswith("TLS_AES")]
    names = [name for name in names if name != "TLS_CHACHA20_POLY1305_SHA256"]
    if not names:
        return
    try:
        context.set_ciphers(":".join(names))
    except ssl.SSLError as error:
        raise UsageError(f"ssl.cipher.suites: OpenSSL knows none of {', '.join(names)}") from error


def openssl_name(name: str) -> str:
    """`TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256` is ECDHE-RSA-AES128-GCM-SHA256 to OpenSSL; its own names stay."""
    exchange, found, cipher = name.removeprefix("TLS_").partition("_WITH_")
    if not found:
        return name
    exchange = "" if exchange == "RSA" else f"{exchange}_"
    cipher = cipher.replace("AES_128", "AES128").replace("AES_256", "AES256").replace("_CBC", "")
    return (exchange + cipher.replace("POLY1305_SHA256", "POLY1305")).replace("_", "-")


def _read(setting: Key[str | None], location: str) -> str:
    """The text of a PEM file. It may hold remarks in any encoding around what counts, which is ASCII."""
    try:
        with open(location, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UsageError(f"{setting.name}={location} cannot be read: {error.strerror}") from error
    if b"-----BEGIN" not in data:
        raise UsageError(f"{setting.name}={location} is not a PEM file. {_TO_PEM}")
    return data.decode("latin-1")
