"""A raw-socket client: one broker, whole frames. What it gets is an answer, a closed door, or silence."""

from __future__ import annotations

import socket
import struct
from enum import Enum

from tidelog.protocol.api import ApiKey, request_header_version
from tidelog.protocol.headers import encode_request
from tidelog.protocol.message import Message
from tidelog.protocol.messages import ApiVersionsRequest

CLIENT_ID = "differ"


class Outcome(Enum):
    """What can come back instead of an answer."""

    CLOSED = "the broker closed the connection"
    SILENCE = "no answer in time"
    NOTHING = "no answer, as none was asked for"


class Peer:
    """A connection to one broker, opened again after the broker closed it."""

    def __init__(self, host: str, port: int, *, timeout: float = 60.0) -> None:
        self.host, self.port, self.timeout = host, port, timeout
        self._socket: socket.socket | None = None
        self._correlation = 0

    def ask(self, key: ApiKey, version: int, message: Message, *, answered: bool = True) -> bytes | Outcome:
        self._correlation += 1
        return self._exchange(
            encode_request(key, version, self._correlation, CLIENT_ID, message), self._correlation, answered
        )

    def ask_raw(self, key: int, version: int, body: bytes) -> bytes | Outcome:
        """A request whose body is any bytes, behind a sound header."""
        self._correlation += 1
        header = struct.pack(">hhih", key, version, self._correlation, len(CLIENT_ID)) + CLIENT_ID.encode()
        if key in ApiKey.__members__.values() and request_header_version(key, version) == 2:
            header += b"\0"
        frame = header + body
        return self._exchange(struct.pack(">i", len(frame)) + frame, self._correlation, True)

    def ask_frame(self, frame: bytes) -> bytes | Outcome:
        """Any bytes at all behind a sound length."""
        return self._exchange(struct.pack(">i", len(frame)) + frame, None, True)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(self, request: bytes, correlation: int | None, answered: bool) -> bytes | Outcome:
        try:
            connection = self._connected()
            connection.sendall(request)
            if not answered:
                self._correlation += 1
                connection.sendall(
                    encode_request(ApiKey.API_VERSIONS, 0, self._correlation, CLIENT_ID, ApiVersionsRequest())
                )
            frame = self._receive()
        except TimeoutError:
            self.close()
            return Outcome.SILENCE
        except (ConnectionError, EOFError):
            self.close()
            return Outcome.CLOSED
        found = struct.unpack_from(">i", frame)[0]
        if not answered and found == self._correlation:
            return Outcome.NOTHING
        assert correlation is None or found == correlation, f"answer {found} to request {correlation}"
        if not answered:
            self._receive()
        return frame

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection((self.host, self.port), timeout=self.timeout)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _receive(self) -> bytes:
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        assert self._socket is not None
        out = bytearray()
        while len(out) < size:
            part = self._socket.recv(min(size - len(out), 1 << 20))
            if not part:
                raise EOFError
            out += part
        return bytes(out)
