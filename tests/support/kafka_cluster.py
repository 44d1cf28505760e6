"""A cluster of Apache Kafka brokers (KRaft; each is a controller, too), any of which can be killed and started again.

    with KafkaCluster(KAFKA_4, tmp_path) as cluster:
        cluster.addresses                 # for bootstrap.servers
        cluster.kill(2)                   # kill -9 of the broker with id 2
        cluster.start(2)

Two of three keep the quorum, and the topics that groups and transactions are kept in have three replicas. A broker that
is killed is missed after two seconds instead of Kafka's nine.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from support.kafka import KafkaBroker

BROKERS = 3
REPLICATED = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "6",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "transaction.state.log.num.partitions": "6",
    "auto.leader.rebalance.enable": "false",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1500",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "background.threads": "2",
    "log.cleaner.enable": "false",
}


class ClusterNode(KafkaBroker):
    """One of them. `voters` are all, as `id@host:port` of their controllers."""

    number = 0
    voters = ""

    def _configuration(self) -> dict[str, str]:
        return {
            **super()._configuration(),
            "node.id": str(self.number),
            "controller.quorum.voters": self.voters,
        }


class KafkaCluster:
    """Started and stopped together. Small heaps: three of them share a machine with the tests."""

    def __init__(
        self, version: str, home: Path, *, brokers: int = BROKERS, properties: dict[str, str] | None = None
    ) -> None:
        settings = {**REPLICATED, **(properties or {})}
        self.nodes: dict[int, ClusterNode] = {}
        for number in range(1, brokers + 1):
            node = ClusterNode(version, home / str(number), properties=settings, heap="256M")
            node.number = number
            node.home.mkdir(parents=True, exist_ok=True)
            self.nodes[number] = node
        voters = ",".join(f"{number}@127.0.0.1:{node.controller_port}" for number, node in self.nodes.items())
        for node in self.nodes.values():
            node.voters = voters

    @property
    def addresses(self) -> str:
        return ",".join(node.address for node in self.nodes.values())

    def kill(self, number: int) -> None:
        self.nodes[number].kill()

    def start(self, number: int) -> None:
        self.nodes[number].start()

    def close(self) -> None:
        """No clean stop: the last of three would wait for a quorum that is gone."""
        for node in self.nodes.values():
            if node.broker is not None:
                node.kill()

    def __enter__(self) -> KafkaCluster:
        try:
            with ThreadPoolExecutor(len(self.nodes)) as pool:
                list(pool.map(ClusterNode.start, self.nodes.values()))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
