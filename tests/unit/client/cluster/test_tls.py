"""What the ssl.* settings turn into: whom we trust, what we show, what we speak; and mistakes in them."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path
from typing import Any

import pytest

from support.certificates import Certificates
from tidelog.client.cluster.tls import openssl_name, tls_context
from tidelog.client.config import admin, parse
from tidelog.common.errors import UsageError


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("pki"))


@pytest.fixture(scope="module")
def broker_pem(pki: Certificates) -> Path:
    return pki.issue("broker", "localhost")


def context(**keywords: object) -> ssl.SSLContext:
    settings = {"bootstrap.servers": "h:1", "security.protocol": "SSL"}
    made = tls_context(parse(admin.KEYS, settings, keywords))
    assert made is not None
    return made


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, host: str = "localhost") -> Any:
    """What the server saw of us: (version of TLS, cipher suite, our certificate's name)."""

    async def main() -> Any:
        seen: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            tls = writer.get_extra_info("ssl_object")
            names = dict(pair for part in (tls.getpeercert() or {}).get("subject", ()) for pair in part)
            seen.set_result((tls.version(), tls.cipher()[0], names.get("commonName")))
            writer.close()

        listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=server)
        port = listener.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=host)
            outcome = await seen
            writer.close()
            return outcome
        finally:
            listener.close()
            await listener.wait_closed()

    return asyncio.run(asyncio.wait_for(main(), 60))


def test_plain_text_has_none() -> None:
    assert tls_context(parse(admin.KEYS, {"bootstrap.servers": "h:1"})) is None


def test_authorities_come_from_a_file_or_a_text(pki: Certificates, broker_pem: Path) -> None:
    server = pki.server_context(broker_pem)
    assert handshake(server, context(ssl_truststore_location=str(pki.authority)))[0] == "TLSv1.3"
    assert handshake(server, context(ssl_truststore_certificates=pki.authority.read_text()))[0] == "TLSv1.3"
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, context())


def test_the_brokers_name_is_compared_unless_told_otherwise(pki: Certificates, broker_pem: Path) -> None:
    server, trust = pki.server_context(broker_pem), {"ssl_truststore_location": str(pki.authority)}
    with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
        handshake(server, context(**trust), "other.example")
    assert handshake(server, context(**trust, ssl_endpoint_identification_algorithm=""), "other.example")


def test_our_certificate_is_shown(pki: Certificates, broker_pem: Path) -> None:
    server, trust = pki.server_context(broker_pem, clients=True), {"ssl_truststore_location": str(pki.authority)}
    own, hidden = pki.issue("alice"), pki.issue("bob", password="open sesame")
    assert handshake(server, context(**trust, ssl_keystore_location=str(own)))[2] == "alice"
    key, _, chain = own.read_text().partition("-----BEGIN CERTIFICATE-----")
    as_text = {"ssl_keystore_key": key, "ssl_keystore_certificate_chain": "-----BEGIN CERTIFICATE-----" + chain}
    assert handshake(server, context(**trust, **as_text))[2] == "alice"
    opened = context(**trust, ssl_keystore_location=str(hidden), ssl_key_password="open sesame")
    assert handshake(server, opened)[2] == "bob"
    with pytest.raises(UsageError, match=r"ssl\.key\.password is wrong"):
        context(ssl_keystore_location=str(hidden), ssl_key_password="guess")
    with pytest.raises(UsageError, match=r"ssl\.key\.password is wrong"):
        context(ssl_keystore_location=str(hidden))


@pytest.mark.parametrize(
    ("settings", "spoken"),
    [
        ({}, "TLSv1.3"),
        ({"ssl_enabled_protocols": "TLSv1.2"}, "TLSv1.2"),
        ({"ssl_enabled_protocols": ["TLSv1.3"]}, "TLSv1.3"),
        ({"ssl_protocol": "TLSv1.2"}, "TLSv1.2"),
        ({"ssl_protocol": "TLSv1.2", "ssl_enabled_protocols": "TLSv1.2,TLSv1.3"}, "TLSv1.3"),
    ],
)
def test_versions(settings: dict[str, object], spoken: str, pki: Certificates, broker_pem: Path) -> None:
    client = context(ssl_truststore_location=str(pki.authority), **settings)
    assert handshake(pki.server_context(broker_pem), client)[0] == spoken


@pytest.mark.parametrize("name", ["ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"])
def test_cipher_suites(name: str, pki: Certificates, broker_pem: Path) -> None:
    client = context(
        ssl_truststore_location=str(pki.authority),
        ssl_enabled_protocols="TLSv1.2",
        ssl_cipher_suites=["TLS_AES_256_GCM_SHA384", name],
    )
    assert handshake(pki.server_context(broker_pem), client)[1] == "ECDHE-ECDSA-AES128-GCM-SHA256"


def test_names_of_suites() -> None:
    assert openssl_name("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384") == "ECDHE-RSA-AES256-GCM-SHA384"
    assert openssl_name("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256") == "ECDHE-RSA-CHACHA20-POLY1305"
    assert openssl_name("TLS_RSA_WITH_AES_128_CBC_SHA256") == "AES128-SHA256"
    known = {cipher["name"] for cipher in ssl.create_default_context().get_ciphers()}
    assert openssl_name("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256") in known


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"ssl_truststore_location": "/nowhere/ca.pem"}, r"ssl\.truststore\.location=/nowhere/ca\.pem cannot be read"),
        ({"ssl_keystore_location": "/nowhere/me.pem"}, r"ssl\.keystore\.location=/nowhere/me\.pem cannot be read"),
        ({"ssl_truststore_type": "JKS"}, r"ssl\.truststore\.type=JKS: Python reads PEM only"),
        ({"ssl_keystore_type": "PKCS12"}, r"ssl\.keystore\.type=PKCS12: Python reads PEM only"),
        ({"ssl_enabled_protocols": "SSLv3"}, r"SSLv3 is none of TLSv1"),
        ({"ssl_cipher_suites": "NO-SUCH"}, r"OpenSSL knows none of NO-SUCH"),
        ({"ssl_truststore_certificates": "nonsense"}, "no certificates can be read"),
    ],
)
def test_mistakes_name_their_setting(settings: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        context(**settings)


def test_a_java_key_store_says_how_to_make_pem_of_it(tmp_path: Path) -> None:
    store = tmp_path / "client.jks"
    store.write_bytes(bytes.fromhex("feedfeed0000000200000000"))
    with pytest.raises(UsageError, match=r"is not a PEM file\. .*keytool -importkeystore"):
        context(ssl_truststore_location=str(store))
