"""SCRAM: the RFC's own example, both sides against each other, and what each refuses of the other."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.sasl.scram import Credential, ScramClient, ScramServer, make_credential

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


class Fixed(random.Random):
    """Chance that is not."""

    def __init__(self, nonce: str) -> None:
        super().__init__()
        self._bytes = base64.b64decode(nonce)

    def randbytes(self, n: int) -> bytes:
        return self._bytes


def test_the_example_of_rfc_7677() -> None:
    client = ScramClient("SCRAM-SHA-256", "user", "pencil", rng=Fixed("rOprNGfwEbeRWgbNEkqO"))
    assert client.begin() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    last = client.answer(f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert last == f"c=biws,r={nonce},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    assert client.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def server(mechanism: str, username: str = "alice", password: str = "secret", *, token: bool = False) -> ScramServer:
    credential = make_credential(mechanism, password, b"some salt")
    return ScramServer(mechanism, lambda name, by_token: credential if (name, by_token) == (username, token) else None)


def converse(client: ScramClient, judge: ScramServer) -> None:
    message: bytes | None = client.begin()
    while message is not None:
        message = client.answer(judge.answer(message))


@settings(max_examples=20)
@given(st.sampled_from(MECHANISMS), words, words, st.booleans())
def test_who_knows_the_password_is_believed(mechanism: str, username: str, password: str, token: bool) -> None:
    judge = server(mechanism, username, password, token=token)
    converse(ScramClient(mechanism, username, password, token=token), judge)
    assert judge.username == username


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("username", "password", "token"),
    [("alice", "guess", False), ("bob", "secret", False), ("alice", "secret", True)],
)
def test_who_does_not_is_refused(mechanism: str, username: str, password: str, token: bool) -> None:
    judge = server(mechanism)
    with pytest.raises(KafkaError, match="Invalid username or password") as refused:
        converse(ScramClient(mechanism, username, password, token=token), judge)
    assert refused.value.code is ErrorCode.SASL_AUTHENTICATION_FAILED
    assert judge.username is None


def test_a_server_that_does_not_know_the_password_is_found_out() -> None:
    """It can take the client's proof, but has nothing to answer with."""
    right = make_credential("SCRAM-SHA-256", "secret", b"salt")
    thief = Credential(right.salt, right.stored_key, b"\0" * 32, right.iterations)
    with pytest.raises(KafkaError, match="it is not the one that we want"):
        converse(ScramClient("SCRAM-SHA-256", "a", "secret"), ScramServer("SCRAM-SHA-256", lambda *_: thief))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("r=somebodyelse,s=c2FsdA==,i=4096", "answers to somebody else"),
        ("r={nonce}x,s=c2FsdA==,i=4095", "wants 4095 iterations"),
        ("r={nonce}x,s=c2FsdA==,i=999999999", "wants 999999999 iterations"),
        ("hello", "is not SCRAM"),
        ("r={nonce}x,s=c2F,i=4096", "not base64"),
        ("\udcff", "not UTF-8"),
    ],
)
def test_what_a_client_does_not_take_from_a_server(answer: str, text: str) -> None:
    client = ScramClient("SCRAM-SHA-256", "a", "secret")
    nonce = client.begin().decode().partition("r=")[2]
    with pytest.raises(KafkaError, match=text):
        client.answer(answer.replace("{nonce}", nonce).encode(errors="surrogateescape"))


def test_a_servers_error_is_told() -> None:
    judge, client = server("SCRAM-SHA-256"), ScramClient("SCRAM-SHA-256", "alice", "secret")
    client.answer(judge.answer(client.begin()))
    with pytest.raises(KafkaError, match="other-error"):
        client.answer(b"e=other-error")


@pytest.mark.parametrize("first", ["", "n,,", "n,,n=,r=x", "y,,n=a,r=x", "p=tls,,n=a,r=x", "n,,r=x,n=a"])
def test_what_a_server_does_not_take_for_a_beginning(first: str) -> None:
    with pytest.raises(KafkaError, match="is not SCRAM"):
        server("SCRAM-SHA-256").answer(first.encode())


@pytest.mark.parametrize(("acting_as", "believed"), [("alice", True), ("root", False)])
def test_nobody_acts_as_somebody_else(acting_as: str, believed: bool) -> None:
    judge = server("SCRAM-SHA-256")
    if believed:
        assert judge.answer(f"n,a={acting_as},n=alice,r=x".encode()).startswith(b"r=x")
    else:
        with pytest.raises(KafkaError, match="different from username"):
            judge.answer(f"n,a={acting_as},n=alice,r=x".encode())


def test_a_last_message_of_another_exchange_is_refused() -> None:
    first, second = ScramClient("SCRAM-SHA-256", "alice", "secret"), ScramClient("SCRAM-SHA-256", "alice", "secret")
    judge, other = server("SCRAM-SHA-256"), server("SCRAM-SHA-256")
    first.answer(judge.answer(first.begin()))
    last = second.answer(other.answer(second.begin()))
    assert last is not None
    with pytest.raises(KafkaError, match="does not belong to this exchange"):
        judge.answer(last)
