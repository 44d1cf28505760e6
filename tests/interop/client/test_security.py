"""Our clients against an Apache Kafka that wants to know who they are: TLS, PLAIN, SCRAM, OAUTHBEARER, and mistakes.

One broker with four listeners: plain text; SASL within TLS; SASL in clear text, PLAIN alone, where a proof holds for a
second and a half; and TLS that wants a certificate from the client.
"""

from __future__ import annotations

import asyncio
import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tidelog
from support.certificates import Certificates
from support.kafka import KAFKA_4, KafkaBroker, require_java
from support.ports import free_ports
from tidelog import aio
from tidelog.client.admin.users import ScramMechanism, ScramUpsertion
from tidelog.client.cluster.client import ClusterClient
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.stages import ConnectError, Stage
from tidelog.protocol.messages import MetadataRequest

pytestmark = pytest.mark.java
JAAS = "org.apache.kafka.common.security"
SCRAM = {ScramMechanism.SCRAM_SHA_256: "one, secret", ScramMechanism.SCRAM_SHA_512: "another=secret"}
USERS = 'user_alice="secret" user_broker="other"'


class Secured(NamedTuple):
    plaintext: str
    sasl_ssl: dict[str, Any]
    sasl_clear: dict[str, Any]
    mutual: dict[str, Any]
    certificate: Path


def jaas(listener: str, mechanism: str, module: str, options: str = "") -> dict[str, str]:
    return {f"listener.name.{listener}.{mechanism}.sasl.jaas.config": f"{JAAS}.{module} required {options};"}


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    require_java()
    home = tmp_path_factory.mktemp("secured")
    pki = Certificates(home / "pki")
    broker = KafkaBroker(KAFKA_4, home)
    addresses = dict(zip(("SECRET", "CLEAR", "MUTUAL"), (f"127.0.0.1:{port}" for port in free_ports(3)), strict=True))
    more = "".join(f",{name}://{address}" for name, address in addresses.items())
    plain = broker._configuration()
    broker.properties |= {
        "listeners": plain["listeners"] + more,
        "advertised.listeners": plain["advertised.listeners"] + more,
        "listener.security.protocol.map": plain["listener.security.protocol.map"]
        + ",SECRET:SASL_SSL,CLEAR:SASL_PLAINTEXT,MUTUAL:SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(pki.issue("broker", "127.0.0.1")),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(pki.authority),
        "listener.name.mutual.ssl.client.auth": "required",
        "listener.name.secret.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        "listener.name.clear.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.clear.plain.connections.max.reauth.ms": "1500",
        **jaas("secret", "plain", "plain.PlainLoginModule", USERS),
        **jaas("clear", "plain", "plain.PlainLoginModule", USERS),
        **jaas("secret", "scram-sha-256", "scram.ScramLoginModule"),
        **jaas("secret", "scram-sha-512", "scram.ScramLoginModule"),
        **jaas("secret", "oauthbearer", "oauthbearer.OAuthBearerLoginModule", 'unsecuredLoginStringClaim_sub="broker"'),
    }
    with broker:
        with tidelog.Admin(bootstrap_servers=broker.address) as admin:
            for mechanism, password in SCRAM.items():
                admin.alter_user_scram_credentials([ScramUpsertion("alice", password, mechanism)])
        trust = {"ssl.truststore.location": str(pki.authority)}
        yield Secured(
            broker.address,
            {"bootstrap.servers": addresses["SECRET"], "security.protocol": "SASL_SSL", **trust},
            {"bootstrap.servers": addresses["CLEAR"], "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"},
            {"bootstrap.servers": addresses["MUTUAL"], "security.protocol": "SSL", **trust},
            pki.issue("alice"),
        )


def unsecured_token() -> str:
    """A token that Kafka's validator for developers takes: claims, and no signature."""
    now = int(time.time())
    parts = [{"alg": "none"}, {"sub": "alice", "iat": now, "exp": now + 600}]
    return ".".join([*(base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts), ""])


async def unsecured_token_later() -> str:
    return unsecured_token()


NAMED = {"sasl.username": "alice", "sasl.password": "secret"}
PROOFS = {
    "plain": {"sasl.mechanism": "PLAIN", **NAMED},
    "jaas": {
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": f'{JAAS}.plain.PlainLoginModule required username="alice" password="secret";',
    },
    **{
        f"SCRAM-SHA-{size}": {
            "sasl.mechanism": f"SCRAM-SHA-{size}",
            "sasl.username": "alice",
            "sasl.password": SCRAM[ScramMechanism[f"SCRAM_SHA_{size}"]],
        }
        for size in (256, 512)
    },
    "oauth": {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": unsecured_token},
    "oauth later": {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": unsecured_token_later},
}


def round_trip(settings: dict[str, Any], topic: str) -> bytes:
    """A record's value, there and back."""
    with tidelog.Producer(settings) as producer:
        producer.send(topic, b"for nobody else").result(60)
    with tidelog.Consumer(settings, auto_offset_reset="earliest") as consumer:
        consumer.assign([tidelog.TopicPartition(topic, 0)])
        while not (records := consumer.poll(10)):
            pass
        return bytes(records[0].value)


def refusal(settings: dict[str, Any], **keywords: Any) -> ConnectError:
    """Why a client is not connected; the error is the same from every face."""
    with tidelog.Admin(settings, **keywords) as admin, pytest.raises(ConnectError) as refused:
        admin.topics(timeout=20)
    return refused.value


@pytest.mark.parametrize("proof", PROOFS)
def test_proofs_within_tls(kafka: Secured, proof: str) -> None:
    topic = f"proved-by-{proof.replace(' ', '-')}"
    assert round_trip(kafka.sasl_ssl | PROOFS[proof], topic) == b"for nobody else"


def test_asyncio(kafka: Secured) -> None:
    async def main() -> None:
        settings = kafka.sasl_ssl | PROOFS["SCRAM-SHA-512"]
        async with aio.Producer(settings) as producer:
            metadata = await producer.send("proved-later", b"x")
            assert metadata.offset == 0

    asyncio.run(asyncio.wait_for(main(), 120))


def test_a_certificate_of_ours(kafka: Secured) -> None:
    settings = kafka.mutual | {"ssl.keystore.location": str(kafka.certificate)}
    assert round_trip(settings, "shown") == b"for nobody else"


@pytest.mark.parametrize("proof", ["plain", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password(kafka: Secured, proof: str) -> None:
    error = refusal(kafka.sasl_ssl | PROOFS[proof] | {"sasl.password": "guess"})
    assert (error.stage, error.code) == (Stage.SASL, ErrorCode.SASL_AUTHENTICATION_FAILED)
    assert "Check user and password" in error.advice


def test_a_wrong_password_is_told_by_producer_and_consumer_at_once(kafka: Secured) -> None:
    settings = kafka.sasl_ssl | PROOFS["plain"] | {"sasl.password": "guess"}
    with tidelog.Producer(settings) as producer:
        with pytest.raises(KafkaError) as unsent:
            producer.send("unproved", b"x").result(60)
        assert unsent.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    with tidelog.Consumer(settings, group_id="unproved") as consumer:
        consumer.subscribe(["unproved"])
        with pytest.raises(KafkaError) as unread:
            consumer.poll(60)
        assert unread.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED


def test_a_token_that_has_expired(kafka: Secured) -> None:
    def expired() -> str:
        header, claims, _ = unsecured_token().split(".")
        old = json.loads(base64.urlsafe_b64decode(claims + "==")) | {"iat": 1, "exp": 2}
        return f"{header}.{base64.urlsafe_b64encode(json.dumps(old).encode()).decode().rstrip('=')}."

    error = refusal(kafka.sasl_ssl | {"sasl.mechanism": "OAUTHBEARER", "sasl.login.callback.handler.class": expired})
    assert (error.stage, error.code) == (Stage.SASL, ErrorCode.SASL_AUTHENTICATION_FAILED)


def test_a_mechanism_that_the_listener_does_not_offer(kafka: Secured) -> None:
    error = refusal(kafka.sasl_clear | NAMED | {"sasl.mechanism": "SCRAM-SHA-256"})
    assert (error.stage, error.code) == (Stage.SASL, ErrorCode.UNSUPPORTED_SASL_MECHANISM)
    assert error.reason.endswith("does not offer SCRAM-SHA-256 but: PLAIN")


def test_an_authority_that_we_do_not_know(kafka: Secured) -> None:
    error = refusal({**kafka.sasl_ssl, **PROOFS["plain"], "ssl.truststore.location": None})
    assert (error.stage, error.retriable) == (Stage.TLS, False)
    assert "ssl.truststore.location" in error.advice


def test_a_name_that_the_certificate_is_not_for(kafka: Secured) -> None:
    port = kafka.sasl_ssl["bootstrap.servers"].rpartition(":")[2]
    elsewhere = kafka.sasl_ssl | PROOFS["plain"] | {"bootstrap.servers": f"localhost:{port}"}
    error = refusal(elsewhere)
    assert (error.stage, error.retriable) == (Stage.TLS, False)
    with tidelog.Admin(elsewhere, ssl_endpoint_identification_algorithm="") as admin:
        admin.topics(timeout=60)


def test_no_certificate_where_one_is_wanted(kafka: Secured) -> None:
    error = refusal(kafka.mutual)
    assert "ssl.keystore.location" in error.advice
    assert error.stage in (Stage.TLS, Stage.API_VERSIONS)


@pytest.mark.parametrize(
    ("allowed", "spoken"),
    [("TLSv1.2", "TLSv1.2"), ("TLSv1.3", "TLSv1.3"), ("TLSv1.2,TLSv1.3", "TLSv1.3"), (None, "TLSv1.3")],
)
def test_versions_of_tls(kafka: Secured, allowed: str | None, spoken: str) -> None:
    """What is spoken is what was allowed, the newest of it."""

    async def main() -> str:
        settings = kafka.sasl_ssl | PROOFS["plain"]
        async with ClusterClient(
            settings if allowed is None else {**settings, "ssl.enabled.protocols": allowed}
        ) as one:
            node = await one.any_node()
            await node.send(MetadataRequest(topics=[]))
            transport = node._connection._transport  # nobody but a test asks
            assert transport is not None
            return str(transport.get_extra_info("ssl_object").version())

    assert asyncio.run(main()) == spoken


def test_plain_text_to_a_listener_with_tls(kafka: Secured) -> None:
    error = refusal({"bootstrap.servers": kafka.mutual["bootstrap.servers"]})
    assert (error.stage, error.retriable) == (Stage.API_VERSIONS, False)
    assert error.advice == "Set security.protocol to SSL or SASL_SSL."


def test_tls_to_a_listener_without(kafka: Secured) -> None:
    """A broker that is restarting looks the same, so this is tried again until the time is up."""
    with (
        tidelog.Admin({**kafka.mutual, "bootstrap.servers": kafka.plaintext}) as admin,
        pytest.raises(KafkaError, match=r"\(TLS\): .*Is this a listener with TLS\?"),
    ):
        admin.topics(timeout=1)


def test_sasl_to_a_listener_without(kafka: Secured) -> None:
    error = refusal({**kafka.sasl_clear, **NAMED, "bootstrap.servers": kafka.plaintext})
    assert (error.stage, error.code) == (Stage.SASL, ErrorCode.ILLEGAL_SASL_STATE)
    assert "This listener wants no SASL" in error.advice


def test_nothing_to_a_listener_with_sasl(kafka: Secured) -> None:
    with (
        tidelog.Admin(bootstrap_servers=kafka.sasl_clear["bootstrap.servers"]) as admin,
        pytest.raises(KafkaError, match=r"does this listener want SASL \(security\.protocol\)\?"),
    ):
        admin.topics(timeout=1)


def test_a_proof_is_renewed_before_it_ends(kafka: Secured) -> None:
    """Kafka hangs up on the first request after the end; the same connection outlives three proofs."""

    async def main() -> None:
        async with ClusterClient(kafka.sasl_clear | NAMED) as cluster:
            node = await cluster.any_node()
            ends = {node._renew_at}
            while len(ends) < 4:
                await node.send(MetadataRequest(topics=[]))
                ends.add(node._renew_at)
                await asyncio.sleep(0.05)
            assert node.is_open
            assert None not in ends

    asyncio.run(asyncio.wait_for(main(), 60))
