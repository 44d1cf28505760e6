"""`/metrics` and `/health`, when asked for (`tidelog.http.listener`): a few lines of HTTP on the broker's own loop.

`/health` answers 503 while anything is offline: a log directory that failed, or the broker as a whole.
`/metrics` renders the broker's plain counters and gauges in Prometheus' text form; `prometheus_client` is imported when
somebody scrapes for the first time, and its registry belongs to this server.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from tidelog.broker.config.endpoints import cannot_listen
from tidelog.common.errors import UsageError
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.server import Broker

MAX_REQUEST_BYTES = 8192
READ_TIMEOUT = 10.0


class HttpServer:
    def __init__(self, broker: Broker, listener: str) -> None:
        host, _, port = listener.rpartition(":")
        if not port.isdigit():
            raise UsageError(f"tidelog.http.listener is {listener!r}: expected host:port, such as 127.0.0.1:9404")
        self._broker = broker
        self._host, self._port = host.strip("[]") or "127.0.0.1", int(port)
        self._server: asyncio.Server | None = None
        self._registry: Any = None

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
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), READ_TIMEOUT)
            writer.write(self._answer(head))
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            return  # whoever it was did not speak HTTP, or left: nobody to answer
        finally:
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0].decode("latin-1")
        if method not in (b"GET", b"HEAD"):
            return _response(HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET only\n")
        if path == "/health":
            health = self._health()
            status = HTTPStatus.OK if health["status"] == "ok" else HTTPStatus.SERVICE_UNAVAILABLE
            return _response(status, "application/json", json.dumps(health).encode() + b"\n")
        if path == "/metrics":
            return _response(HTTPStatus.OK, "text/plain; version=0.0.4; charset=utf-8", self._metrics())
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

    def _metrics(self) -> bytes:
        from prometheus_client import CollectorRegistry, generate_latest

        if self._registry is None:
            self._registry = CollectorRegistry(auto_describe=False)
            self._registry.register(_Collector(self._broker))
        return bytes(generate_latest(self._registry))


class _Collector:
    """Turns the broker's numbers into metric families at the moment of a scrape."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        broker, metrics = self._broker, self._broker.metrics
        served = Counter(metrics.requests)
        if (sink := broker.network.sink) is not None:
            served.update(sink.taken())
        for name, text, counts in (
            ("tidelog_requests", "Requests served.", served),
            ("tidelog_request_failures", "Requests that failed unexpectedly.", metrics.failures),
        ):
            family = CounterMetricFamily(name, text, labels=["api"])
            for key, count in counts.items():
                family.add_metric([ApiKey(key).name.lower()], count)
            yield family
        work = CounterMetricFamily("tidelog_background_seconds", "Seconds of background work.", labels=["task"])
        for name, seconds in metrics.background_seconds.items():
            work.add_metric([name], seconds)
        yield work
        yield GaugeMetricFamily("tidelog_connections", "Open connections.", len(broker.network.table.connections))
        yield GaugeMetricFamily("tidelog_topics", "Topics.", len(broker.metadata.topics))
        yield GaugeMetricFamily("tidelog_partitions", "Partitions.", broker.metadata.partition_total)
        sizes = GaugeMetricFamily("tidelog_log_bytes", "Bytes of records on disk.", labels=["topic", "partition"])
        ends = GaugeMetricFamily("tidelog_log_end_offset", "Next offset.", labels=["topic", "partition"])
        for partition in broker.replicas.partitions():
            labels = [partition.tp.topic, str(partition.tp.partition)]
            sizes.add_metric(labels, partition.log.size)
            ends.add_metric(labels, partition.log.log_end_offset)
        yield sizes
        yield ends
        offline = len(broker.log_manager.offline_dirs)
        yield GaugeMetricFamily("tidelog_offline_log_directories", "Log directories that failed.", offline)


def _response(status: HTTPStatus, kind: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + body
