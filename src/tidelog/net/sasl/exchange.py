"""What a SASL mechanism is: two state machines that exchange messages until the server knows the client's name.

All of Kafka's mechanisms but GSSAPI begin with the client. The number of messages is the mechanism's own affair: PLAIN
and OAUTHBEARER need one, SCRAM two, whose answers prove the *server* to the client. A side that finds the other out
raises KafkaError with SASL_AUTHENTICATION_FAILED; the exchange is then over, and is not used again. The text of the
error may be shown to the other side: it never says which part of a proof was wrong.
"""

from __future__ import annotations

from typing import Protocol

from tidelog.common.errors import ErrorCode, KafkaError


class ClientExchange(Protocol):
    @property
    def mechanism(self) -> str:
        """The name by which SaslHandshake asks for it."""

    def begin(self) -> bytes:
        """The first message."""

    def answer(self, challenge: bytes) -> bytes | None:
        """What to say to the server's message; None when that was its last, and right."""


class ServerExchange(Protocol):
    @property
    def mechanism(self) -> str:
        """The name under which it is offered (sasl.enabled.mechanisms)."""

    @property
    def username(self) -> str | None:
        """Who the client has proved to be; None until the exchange is complete. Its principal is `User:` with this."""

    def answer(self, response: bytes) -> bytes:
        """What to say to the client's message; when `username` is known afterwards, it is the last."""


def failed(reason: str) -> KafkaError:
    """The error that ends an exchange, to be raised."""
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"Authentication failed: {reason}")
