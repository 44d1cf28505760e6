"""`/metrics` and `/health`, when asked for (`tidelog.http.listener`): a few lines of HTTP on the broker's own loop.

`/health` answers 503 while anything is offline: a log directory that failed, or the broker as a whole.
`/metrics` renders the broker's plain counters and gauges in Prometheus' text form. With many partitions that is long
work: they are read some at a time, and the text is made on a thread. `prometheus_client` is imported when somebody
scrapes for the first time. One connection is one request; at most `MOST_CONNECTIONS` are served at a time.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tidelog.broker.config.endpoints import cannot_listen
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.server import Broker

MAX_REQUEST_BYTES = 8192
READ_TIMEOUT = 10.0
MOST_CONNECTIONS = 32
#: Partitions whose numbers are read in one turn of the loop.
SLICE = 500


class HttpServer:
    def __init__(self, broker: Broker, listener: str) -> None:
        host, _, port = listener.rpartition(":")
        if not port.isdigit():
            raise UsageError(f"tidelog.http.listener is {listener!r}: expected host:port, such as 127.0.0.1:9404")
        self._broker = broker
        self._host, self._port = host.strip("[]") or "127.0.0.1", int(port)
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self) -> None:
        try:
            self._server = await asyncio.start_server(self._serve, self._host, self._port, limit=MAX_REQUEST_BYTES)
        except OSError as error:
            raise cannot_listen(f"{self._host}:{self._port}", error, "tidelog.http.listener (--http)") from error

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > MOST_CONNECTIONS:
                writer.write(_response(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", b"too many connections\n"))
                return
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT)
            answer = await self._answer(head)
            if head.startswith(b"HEAD "):
                answer = answer[: answer.index(b"\r\n\r\n") + 4]
            writer.transport.set_write_buffer_limits(0)  # `drain` waits until everything has been taken
            writer.write(answer)
            await asyncio.wait_for(writer.drain(), READ_TIMEOUT)
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            writer.transport.abort()  # who does not speak HTTP, has left or does not read would keep what is unsent
        finally:
            writer.close()
            self._open -= 1

    async def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in (b"GET", b"HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n")
        if path == "/health":
            health = self._health()
            status = HTTPStatus.OK if health["status"] == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
            return _response(status, "application/json", json.dumps(health).encode() + b"\n")
        if path == "/metrics":
            return _response(HTTPStatus.OK, "text/plain; version=0.0.4; charset=utf-8", await self._metrics())
        return _response(HTTPStatus.NOT_FOUND, "text/plain", b"/metrics or /health\n")

    def _health(self) -> dict[str, object]:
        """`ok`; `degraded` while a log directory is offline, and with it the partitions in it; `failed` at the end."""
        broker = self._broker
        offline = [str(directory.path) for directory in broker.log_manager.offline_dirs]
        return {
            "status": "failed" if broker.failure is not None else "degraded" if offline else "ok",
            "node": broker.node_id,
            "cluster": broker.metadata.cluster_id,
            "topics": len(broker.metadata.topics),
            "partitions": broker.metadata.partition_total,
            "offline_dirs": offline,
        }

    async def _metrics(self) -> bytes:
        numbers = Numbers.of(self._broker)
        partitions = list(self._broker.replicas.partitions())
        for start in range(0, len(partitions), SLICE):
            for partition in partitions[start : start + SLICE]:
                numbers.logs.append((*partition.tp, partition.log.size, partition.log.log_end_offset))
            await asyncio.sleep(0)
        return await self._broker.network.workers.run(numbers.text)


class Numbers(NamedTuple):
    """What the broker counts, at the moment of a scrape."""

    served: Mapping[int, int]
    failures: Mapping[int, int]
    background_seconds: Mapping[str, float]
    connections: int
    topics: int
    partitions: int
    offline: int
    logs: list[tuple[str, int, int, int]]
    """(topic, partition, bytes, next offset)."""

    @classmethod
    def of(cls, broker: Broker) -> Numbers:
        """All but those of the logs."""
        served = Counter(broker.metrics.requests)
        if (sink := broker.network.sink) is not None:
            served.update(sink.taken())
        return cls(
            served,
            dict(broker.metrics.failures),
            dict(broker.metrics.background_seconds),
            len(broker.network.table.connections),
            len(broker.metadata.topics),
            broker.metadata.partition_total,
            len(broker.log_manager.offline_dirs),
            [],
        )

    def text(self) -> bytes:
        """In Prometheus' form. Any thread."""
        from prometheus_client import generate_latest

        registry: Any = self  # all that is asked of one is `collect`
        return bytes(generate_latest(registry))

    def collect(self) -> Iterator[Any]:
        """The metric families."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for name, text, counts in (
            ("tidelog_requests", "Requests served.", self.served),
            ("tidelog_request_failures", "Requests that failed unexpectedly.", self.failures),
        ):
            family = CounterMetricFamily(name, text, labels=["api"])
            for key, count in counts.items():
                family.add_metric([ApiKey(key).name.lower()], count)
            yield family
        work = CounterMetricFamily("tidelog_background_seconds", "Seconds of background work.", labels=["task"])
        for name, seconds in self.background_seconds.items():
            work.add_metric([name], seconds)
        yield work
        yield GaugeMetricFamily("tidelog_connections", "Open connections.", self.connections)
        yield GaugeMetricFamily("tidelog_topics", "Topics.", self.topics)
        yield GaugeMetricFamily("tidelog_partitions", "Partitions.", self.partitions)
        sizes = GaugeMetricFamily("tidelog_log_bytes", "Bytes of records on disk.", labels=["topic", "partition"])
        ends = GaugeMetricFamily("tidelog_log_end_offset", "Next offset.", labels=["topic", "partition"])
        for topic, number, size, end in self.logs:
            labels = [topic, str(number)]
            sizes.add_metric(labels, size)
            ends.add_metric(labels, end)
        yield sizes
        yield ends
        yield GaugeMetricFamily("tidelog_offline_log_directories", "Log directories that failed.", self.offline)


def _response(status: HTTPStatus, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
