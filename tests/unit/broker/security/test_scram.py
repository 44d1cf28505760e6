"""SCRAM credentials: Kafka's stored form, and what may be stored."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from tidelog.broker.security.scram import (
    MECHANISMS,
    CredentialChange,
    check_change,
    credential,
    iterations_of,
    plan_credentials,
)
from tidelog.common.errors import ErrorCode, KafkaError

SHA_256, SHA_512 = 1, 2
NONCE = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
#: What both sides have said in RFC 7677's example.
SPOKEN = f"n=user,r=rOprNGfwEbeRWgbNEkqO,r={NONCE},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,c=biws,r={NONCE}".encode()


def test_the_stored_form_is_kafkas() -> None:
    """With the keys of RFC 7677's example both of its proofs come out: the client's and the server's."""
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    text = credential(MECHANISMS[SHA_256], salt, salted, 4096)
    fields = dict(part.split("=", 1) for part in text.split(","))
    assert list(fields) == ["salt", "stored_key", "server_key", "iterations"]
    stored_key, server_key = base64.b64decode(fields["stored_key"]), base64.b64decode(fields["server_key"])
    proof = base64.b64decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    signature = hmac.digest(stored_key, SPOKEN, "sha256")
    client_key = bytes(left ^ right for left, right in zip(proof, signature, strict=True))
    assert hashlib.sha256(client_key).digest() == stored_key
    assert base64.b64encode(hmac.digest(server_key, SPOKEN, "sha256")) == (
        b"6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    )
    assert iterations_of({"SCRAM-SHA-256": text}) == {SHA_256: 4096}


def test_what_cannot_be_read_is_no_credential() -> None:
    assert iterations_of({"SCRAM-SHA-256": "salt=x", "SCRAM-SHA-512": "iterations=many", "quota": "1"}) == {}


@pytest.mark.parametrize(
    ("user", "change", "code"),
    [
        ("", CredentialChange(SHA_256), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", CredentialChange(0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
        ("a", CredentialChange(SHA_256, b"s", b"p", 4095), ErrorCode.UNACCEPTABLE_CREDENTIAL),
        ("a", CredentialChange(SHA_256, b"s", b"p", 16385), ErrorCode.UNACCEPTABLE_CREDENTIAL),
    ],
)
def test_what_is_refused(user: str, change: CredentialChange, code: ErrorCode) -> None:
    with pytest.raises(KafkaError) as caught:
        check_change(user, change)
    assert caught.value.code is code


def test_changes_leave_everything_else_in_the_node() -> None:
    stored = {"SCRAM-SHA-256": "old", "producer_byte_rate": "10"}
    planned = plan_credentials(stored, [CredentialChange(SHA_256), CredentialChange(SHA_512, b"s", b"p", 4096)])
    assert set(planned) == {"SCRAM-SHA-512", "producer_byte_rate"}
    with pytest.raises(KafkaError) as caught:
        plan_credentials({}, [CredentialChange(SHA_256)])
    assert caught.value.code is ErrorCode.RESOURCE_NOT_FOUND
