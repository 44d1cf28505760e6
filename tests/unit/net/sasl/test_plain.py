"""PLAIN: both sides against each other, and the server against what it must refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.net.sasl.plain import PlainClient, PlainServer

words = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)


def server(username="alice", password="secret"):
    return PlainServer(lambda *given: given == (username, password))


@given(words, words)
def test_who_knows_the_password_is_believed(username, password):
    client, judge = PlainClient(username, password), server(username, password)
    assert judge.username is None
    challenge = judge.answer(client.begin())
    assert challenge == b""
    assert client.answer(challenge) is None
    assert judge.username == username


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (b"\0alice\0guess", "Invalid username or password"),
        (b"\0bob\0secret", "Invalid username or password"),
        (b"\0\0secret", "username not specified"),
        (b"\0alice\0", "password not specified"),
        (b"bob\0alice\0secret", "different from username"),
        (b"bob\0alice\0guess", "Invalid username or password"),
        (b"alice\0secret", "expected 3 tokens, got 2"),
        (b"", "expected 3 tokens, got 1"),
        (b"\0alice\0secret\0", "expected 3 tokens, got 4"),
        (b"\0alice\0\xff", "not UTF-8"),
    ],
)
def test_anything_else_is_refused(message, text):
    judge = server()
    with pytest.raises(KafkaError, match=text) as refused:
        judge.answer(message)
    assert refused.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert judge.username is None


def test_acting_as_oneself_is_allowed():
    judge = server()
    assert judge.answer(b"alice\0alice\0secret") == b""
    assert judge.username == "alice"


@pytest.mark.parametrize("credentials", [("al\0ice", "secret"), ("alice", "sec\0ret")])
def test_the_separator_cannot_be_smuggled_in(credentials):
    with pytest.raises(UsageError, match="NUL"):
        PlainClient(*credentials)
