"""PLAIN (RFC 4616): one message with name and password, in clear text. Only worth something inside TLS.

    [authorization id] NUL authentication id NUL password

The *authentication id* says whose password it is; the *authorization id* says as whom the client wants to act. Kafka
knows no such difference: the second has to be empty or the same as the first. The server's last word is an empty
message.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.common.errors import UsageError
from tidelog.net.sasl.exchange import failed

MECHANISM = "PLAIN"
NUL = "\0"

#: Whether a password is this user's. To be compared in constant time, and as slowly for a user who does not exist.
CheckPassword = Callable[[str, str], bool]


class PlainClient:
    mechanism = MECHANISM

    def __init__(self, username: str, password: str) -> None:
        if NUL in username + password:
            raise UsageError("SASL/PLAIN separates name and password by NUL: neither may contain one")
        self._username = username
        self._password = password

    def begin(self) -> bytes:
        return f"{NUL}{self._username}{NUL}{self._password}".encode()

    def answer(self, challenge: bytes) -> None:
        """The server proves nothing: that it answers at all means that it was content."""


class PlainServer:
    """`check` decides; the exchange only takes the message apart, as strictly as Kafka does."""

    mechanism = MECHANISM

    def __init__(self, check: CheckPassword) -> None:
        self._check = check
        self.username: str | None = None

    def answer(self, response: bytes) -> bytes:
        try:
            parts = response.decode().split(NUL)
        except UnicodeDecodeError:
            raise failed("the message is not UTF-8") from None
        if len(parts) != 3:
            raise failed(f"expected 3 tokens, got {len(parts)}")
        acting_as, username, password = parts
        if not username:
            raise failed("username not specified")
        if not password:
            raise failed("password not specified")
        if not self._check(username, password):
            raise failed("Invalid username or password")
        if acting_as not in ("", username):
            raise failed("Client requested an authorization id that is different from username")
        self.username = username
        return b""
