"""`/metrics` and `/health`, when asked for (`tidelog.http.listener`): a few lines of HTTP on the broker's own loop.

`/health` answers 503 while anything is offline: a log directory that failed, or the broker as a whole. That is what a
load balancer or an orchestrator asks; a broker that serves most of its partitions is still alive, and says which are
not there. `/metrics` is what `exposition.py` makes of the broker's numbers.

It is no web server: one connection is one request, there is neither TLS nor a password, and it is off unless asked for.
What it must not do is harm the broker that it watches. At most `MOST_CONNECTIONS` are served at a time, a head is at
most `MAX_REQUEST_BYTES` long, and who asks slowly or does not read its answer is cut off after `READ_TIMEOUT`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from tidelog.broker.config.endpoints import ANY_ADDRESS, cannot_listen
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple

logger = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 8192
READ_TIMEOUT = 10.0
MOST_CONNECTIONS = 32


class Health(NamedTuple):
    """How a broker is. The names of the fields are those of the answer."""

    #: `ok`; `degraded` while a log directory is offline, and with it the partitions in it; `failed` at the end.
    status: str
    node: int
    cluster: str
    topics: int
    partitions: int
    offline_dirs: list[str]

    @property
    def code(self) -> HTTPStatus:
        """What a probe goes by that does not read the answer."""
        return HTTPStatus.OK if self.status == "ok" else HTTPStatus.SERVICE_UNAVAILABLE


class HttpServer:
    def __init__(self, listener: str, health: Callable[[], Health], metrics: Callable[[], Awaitable[bytes]]) -> None:
        """`health` is asked at each request, `metrics` for the text of a scrape."""
        host, _, port = listener.rpartition(":")
        if not port.isdigit():
            raise UsageError(f"tidelog.http.listener is {listener!r}: expected host:port, such as 127.0.0.1:9404")
        self._health = health
        self._metrics = metrics
        self._host, self._port = host.strip("[]") or "127.0.0.1", int(port)
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self) -> None:
        try:
            self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            raise cannot_listen(f"{self._host}:{self._port}", error, "tidelog.http.listener (--http)") from error
        logger.info("/metrics and /health are at http://%s", self.address)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def address(self) -> str:
        """`host:port` as bound, and as a client of this machine reaches it."""
        host = "127.0.0.1" if self._host in ANY_ADDRESS else self._host
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection. Who comes when too many are here is told so and sent away, not left waiting."""
        self._open += 1
        try:
            if writer.is_closing():
                return  # it came and was gone
            if self._open > MOST_CONNECTIONS:
                writer.write(_response(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"too many connections\n"))
                return
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT)
            answer = await self._answer(head)
            if head.startswith(b"HEAD "):
                answer = answer[: answer.index(b"\r\n\r\n") + 4]
            if writer.is_closing():
                return  # it has left meanwhile: uvloop's transports take no more calls then
            writer.transport.set_write_buffer_limits(0)  # `drain` waits until everything has been taken
            writer.write(answer)
            await asyncio.wait_for(writer.drain(), READ_TIMEOUT)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            writer.transport.abort()  # who does not speak HTTP, has left or does not read would keep what is unsent
        finally:
            writer.close()
            self._open -= 1

    async def _answer(self, head: bytes) -> bytes:
        """HEAD is answered as GET is; the caller cuts the body off. What follows a question mark is not looked at."""
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in (b"GET", b"HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n")
        if path == "/health":
            health = self._health()
            return _response(health.code, "application/json", json.dumps(health._asdict()).encode() + b"\n")
        if path == "/metrics":
            return _response(HTTPStatus.OK, "text/plain; version=0.0.4; charset=utf-8", await self._metrics())
        return _response(HTTPStatus.NOT_FOUND, "text/plain", b"/metrics or /health\n")


def _response(status: HTTPStatus, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
