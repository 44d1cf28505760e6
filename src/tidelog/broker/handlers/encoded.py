"""An answer that is already encoded: what a handler returns when the same bytes go to many clients.

It has the methods of a message by which answers are written (`encode_response_parts`), so that nobody on the way has to
know. Header and correlation id are each client's own and come before it.
"""

from __future__ import annotations


class EncodedBody:
    """Stands in for a response message of one version: whoever asks for another would get the wrong bytes."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def encode(self, version: int) -> bytes:
        return self.data

    def encode_into(self, out: bytearray, version: int) -> None:
        out += self.data

    def encode_parts(self, version: int, head: bytes = b"") -> list[bytes]:
        return [head + self.data]
