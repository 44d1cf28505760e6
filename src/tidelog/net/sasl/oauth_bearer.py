"""OAUTHBEARER (RFC 7628): one message with a token that somebody else has issued.

    n,,␁auth=Bearer TOKEN␁key=value␁␁            (␁ is the byte 1; keys and values are SASL extensions, KIP-342)

The server's last word is an empty message. One that does not accept the token says why in JSON, waits for a single
byte 1 (the protocol wants the client to have the last word before the end), and fails then.

What a token is made of is no affair of this exchange: the client is given one, the server asks a function whose it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from tidelog.common.errors import KafkaError, UsageError
from tidelog.net.sasl.exchange import failed

MECHANISM = "OAUTHBEARER"
_SEPARATOR = "\x01"
_NAME = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")
_FIRST = re.compile(
    rf"n,(?:a=(?P<acting_as>[^,]*))?,{_SEPARATOR}(?P<pairs>(?:[A-Za-z]+=[^{_SEPARATOR}]*{_SEPARATOR})+){_SEPARATOR}"
)

#: Whose token it is; KafkaError if it is nobody's (any more).
Validate = Callable[[str, Mapping[str, str]], str]


class OAuthBearerClient:
    """Shows a token."""

    mechanism = MECHANISM

    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        if not _TOKEN.fullmatch(token):
            raise UsageError("the OAuth token is empty, or has characters that no bearer token has")
        for name, value in (extensions or {}).items():
            if name == "auth" or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
                raise UsageError(f"{name}={value} cannot be a SASL extension: letters, and printable ASCII")
        pairs = {"auth": f"Bearer {token}", **(extensions or {})}
        self._first = "".join(f"{name}={value}{_SEPARATOR}" for name, value in pairs.items())

    def begin(self) -> bytes:
        return f"n,,{_SEPARATOR}{self._first}{_SEPARATOR}".encode()

    def answer(self, challenge: bytes) -> bytes | None:
        """Nothing is good news. For bad ones the server wants to hear that we heard; then it ends the exchange, and
        its error has the reason.
        """
        return _SEPARATOR.encode() if challenge else None


class OAuthBearerServer:
    """`validate` decides."""

    mechanism = MECHANISM

    def __init__(self, validate: Validate) -> None:
        self.username: str | None = None
        self._validate = validate
        self._refusal: str | None = None

    def answer(self, response: bytes) -> bytes:
        if self._refusal is not None:
            raise failed(self._refusal)
        match = _FIRST.fullmatch(response.decode("latin-1"))
        if match is None:
            raise failed("Invalid OAUTHBEARER client first message")
        pairs = dict(pair.split("=", 1) for pair in match["pairs"].split(_SEPARATOR)[:-1])
        scheme, _, token = pairs.pop("auth", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise failed("Invalid OAUTHBEARER client first message: 'auth' is not a bearer token")
        try:
            username = self._validate(token, pairs)
        except KafkaError as error:
            self._refusal = error.message
            return json.dumps({"status": "invalid_token"}).encode()
        if match["acting_as"] and match["acting_as"] != username:
            raise failed("Client requested an authorization id that is different from the token's principal name")
        self.username = username
        return b""
