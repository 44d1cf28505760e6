"""What the broker counts, in Prometheus' text exposition format: the answer to a scrape of `/metrics`.

The broker's counters are plain numbers (`metrics.py`), kept whether or not anybody looks. A scrape takes them down on
the event loop, which owns them, and turns them into text on a thread: with ten thousand partitions that is a megabyte
and most of a second. Reading so many logs in one turn would hold up every request, too, so they are read `SLICE` at a
time; the numbers of one scrape are of slightly different moments, as they are in any broker.

`prometheus_client` is imported by the first scrape: a broker that nobody watches goes without it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.metrics import BrokerMetrics, Traffic
from tidelog.broker.replication.manager import ReplicaManager
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.manager.manager import LogManager
from tidelog.net.pauses import breathe
from tidelog.protocol.api import ApiKey

#: Partitions whose numbers are read in one turn of the loop.
SLICE = 500


class Exposition:
    """Makes the text. `run` does work on a thread (`Workers.run`)."""

    def __init__(
        self,
        metrics: BrokerMetrics,
        metadata: MetadataCache,
        log_manager: LogManager,
        replicas: ReplicaManager,
        traffic: Callable[[], Traffic],
        run: Callable[[Callable[[], bytes]], Awaitable[bytes]],
    ) -> None:
        self._metrics = metrics
        self._metadata = metadata
        self._log_manager = log_manager
        self._replicas = replicas
        self._traffic = traffic
        self._run = run

    async def text(self) -> bytes:
        """One scrape. Partitions that go meanwhile are shown once more: the list was taken at the beginning."""
        numbers = self._numbers()
        partitions = list(self._replicas.partitions())
        for start in range(0, len(partitions), SLICE):
            for partition in partitions[start : start + SLICE]:
                numbers.logs.append((*partition.tp, partition.log.size, partition.log.log_end_offset))
            await breathe()
        return await self._run(numbers.text)

    def _numbers(self) -> Numbers:
        """All but those of the logs. A request was taken by compiled code or went the long way: the sum is all."""
        traffic = self._traffic()
        served = Counter(self._metrics.requests)
        served.update(traffic.taken)
        return Numbers(
            served,
            dict(self._metrics.failures),
            dict(self._metrics.background_seconds),
            traffic.connections,
            len(self._metadata.topics),
            self._metadata.partition_total,
            len(self._log_manager.offline_dirs),
            [],
        )


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

    def text(self) -> bytes:
        """In Prometheus' form. Any thread."""
        from prometheus_client import generate_latest

        registry: Any = self  # all that is asked of one is `collect`
        return bytes(generate_latest(registry))

    def collect(self) -> Iterator[Any]:
        """The metric families. Names follow Prometheus: a counter's ends in `_total`, which the library appends; what
        is counted per API or per partition is one family with labels."""
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
