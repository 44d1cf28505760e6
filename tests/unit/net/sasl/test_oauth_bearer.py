"""OAUTHBEARER: both sides against each other, and what each refuses."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.net.sasl.oauth_bearer import OAuthBearerClient, OAuthBearerServer


def whose(token: str, extensions: Mapping[str, str]) -> str:
    if token != "good.token":
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, "expired yesterday")
    return f"alice{extensions.get('realm', '')}"


def test_the_message() -> None:
    assert OAuthBearerClient("good.token").begin() == b"n,,\x01auth=Bearer good.token\x01\x01"
    extended = OAuthBearerClient("good.token", {"realm": "x y"}).begin()
    assert extended == b"n,,\x01auth=Bearer good.token\x01realm=x y\x01\x01"


@pytest.mark.parametrize(("extensions", "name"), [({}, "alice"), ({"realm": "7"}, "alice7")])
def test_a_good_token_is_believed(extensions: dict[str, str], name: str) -> None:
    client, judge = OAuthBearerClient("good.token", extensions), OAuthBearerServer(whose)
    assert judge.username is None
    assert client.answer(judge.answer(client.begin())) is None
    assert judge.username == name


def test_a_bad_token_is_refused_after_the_client_has_heard_it() -> None:
    client, judge = OAuthBearerClient("bad.token"), OAuthBearerServer(whose)
    told = judge.answer(client.begin())
    assert told == b'{"status": "invalid_token"}'
    heard = client.answer(told)
    assert heard == b"\x01"
    with pytest.raises(KafkaError, match="expired yesterday"):
        judge.answer(heard)
    assert judge.username is None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic x\x01\x01",
        b"n,,\x01auth=Bearer \x01\x01",
        b"n,a=root,\x01auth=Bearer good.token\x01\x01",
        b"n,,\x01auth=Bearer good.token\x01",
        b"n,,\x01other=x\x01\x01",
    ],
)
def test_what_is_no_token_is_refused(message: bytes) -> None:
    judge = OAuthBearerServer(whose)
    with pytest.raises(KafkaError):
        judge.answer(message)
    assert judge.username is None


@pytest.mark.parametrize(
    ("token", "extensions"),
    [("", {}), ("a b", {}), ("t\x01", {}), ("t", {"auth": "x"}), ("t", {"a1": "x"}), ("t", {"a": ""})],
)
def test_what_cannot_be_sent(token: str, extensions: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        OAuthBearerClient(token, extensions)
