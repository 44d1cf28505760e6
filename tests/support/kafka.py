"""Apache Kafka itself, as oracle: brokers of 2.8 (ZooKeeper), 3.9 (ZooKeeper or KRaft) and 4.x (KRaft), and its
command-line tools. Clusters of several are in `kafka_cluster`.

    with KafkaBroker("4.3.1", tmp_path) as kafka:
        kafka.address                                   # "127.0.0.1:port"
        kafka.tool("org.apache.kafka.tools.TopicCommand", "--list", bootstrap=True)

The jars come from Maven through tools/kafka_jars.py and are kept in .cache/. Everything that is started here is
stopped by the context manager. `data` (the log directory) outlives it, so that Tidelog can open it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Literal

from support.ports import free_ports, is_listening

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import kafka_jars  # noqa: E402  the tools folder is on the path only now

KAFKA_2 = kafka_jars.KAFKA_2
KAFKA_3 = kafka_jars.KAFKA_3
KAFKA_4 = kafka_jars.KAFKA_4
Mode = Literal["kraft", "zookeeper"]

CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
JVM = ["-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-Djava.awt.headless=true", "-XX:TieredStopAtLevel=4"]
LOG4J2 = """rootLogger.level=warn
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=[%d] %p %m (%c)%n
"""
LOG4J = """log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
SMALL = {
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.segment.delete.delay.ms": "1000",
    "offsets.topic.num.partitions": "50",
}


def java_command(version: str, conf: Path, main: str, *arguments: str, heap: str = "256M") -> list[str]:
    """The command line of a main class on that version's class path."""
    libs = kafka_jars.broker_libs(version)
    conf.mkdir(parents=True, exist_ok=True)
    (conf / "log4j2.properties").write_text(LOG4J2)
    (conf / "log4j.properties").write_text(LOG4J)
    logging = [
        f"-Dlog4j.configuration=file:{conf / 'log4j.properties'}",
        f"-Dlog4j2.configurationFile={conf / 'log4j2.properties'}",
    ]
    return ["java", f"-Xmx{heap}", *JVM, *logging, "-cp", f"{libs}/*", main, *arguments]


def java_tool(
    version: str,
    conf: Path,
    main: str,
    *arguments: str,
    check: bool = True,
    input: str | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Run one of Kafka's tools to its end."""
    command = java_command(version, conf, main, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, input=input, timeout=timeout)
    if check and done.returncode:
        raise AssertionError(f"{main} failed with {done.returncode}:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done


def dump_log_class(version: str) -> str:
    return (
        "kafka.tools.DumpLogSegments" if version.startswith(("2.", "3.")) else "org.apache.kafka.tools.DumpLogSegments"
    )


class JavaProcess:
    """A Java server in the background, its output in a file."""

    def __init__(self, command: list[str], log: Path, port: int, name: str) -> None:
        self.log, self.port, self.name = log, port, name
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)

    def wait_listening(self, timeout: float = 180) -> None:
        deadline = time.monotonic() + timeout
        while not is_listening(self.port):
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{self.name} did not start:\n{self.log.read_text()[-4000:]}")
            time.sleep(0.05)

    def stop(self, timeout: float = 120) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


class KafkaBroker:
    """One Apache Kafka broker (with its ZooKeeper in that mode)."""

    def __init__(
        self,
        version: str,
        home: Path,
        *,
        mode: Mode = "kraft",
        data: Path | None = None,
        properties: dict[str, str] | None = None,
        heap: str = "512M",
    ) -> None:
        self.version, self.home, self.mode, self.heap = version, home, mode, heap
        self.data = data or home / "data"
        self.port, self.controller_port, self.zookeeper_port = free_ports(3)
        self.properties = {**SMALL, **(properties or {})}
        self.conf = home / "conf"
        self.broker: JavaProcess | None = None
        self.zookeeper: JavaProcess | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self.broker is not None
        return self.broker.process.pid

    def _configuration(self) -> dict[str, str]:
        if self.mode == "zookeeper":
            roles = {
                "broker.id": "1",
                "zookeeper.connect": f"127.0.0.1:{self.zookeeper_port}",
                "listeners": f"PLAINTEXT://{self.address}",
            }
        else:
            roles = {
                "process.roles": "broker,controller",
                "node.id": "1",
                "controller.quorum.voters": f"1@127.0.0.1:{self.controller_port}",
                "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self.controller_port}",
                "advertised.listeners": f"PLAINTEXT://{self.address}",
                "controller.listener.names": "CONTROLLER",
                "inter.broker.listener.name": "PLAINTEXT",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            }
        return {**roles, "log.dirs": str(self.data), **self.properties}

    def start_zookeeper(self) -> None:
        """ZooKeeper alone (to lay znodes before the broker starts); a no-op when it runs."""
        if self.zookeeper is not None:
            return
        self.conf.mkdir(parents=True, exist_ok=True)
        settings = self.conf / "zookeeper.properties"
        settings.write_text(
            f"dataDir={self.home / 'zookeeper'}\nclientPort={self.zookeeper_port}\n"
            "clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        command = java_command(self.version, self.conf, main, str(settings))
        self.zookeeper = JavaProcess(command, self.home / "zookeeper.log", self.zookeeper_port, "ZooKeeper")
        self.zookeeper.wait_listening()

    def start(self) -> KafkaBroker:
        self.launch()
        assert self.broker is not None
        self.broker.wait_listening()
        self._wait_for_controller()
        return self

    def launch(self) -> None:
        """Start the process, and do not wait for it."""
        if self.mode == "zookeeper":
            self.start_zookeeper()
        self.conf.mkdir(parents=True, exist_ok=True)
        settings = self.conf / "server.properties"
        settings.write_text("".join(f"{key}={value}\n" for key, value in self._configuration().items()))
        if self.mode == "kraft" and not (self.data / "meta.properties").exists():
            java_tool(
                self.version, self.conf, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)
            )
        command = java_command(self.version, self.conf, "kafka.Kafka", str(settings), heap=self.heap)
        self.broker = JavaProcess(command, self.home / "broker.log", self.port, f"Kafka {self.version}")

    def _wait_for_controller(self, timeout: float = 180) -> None:
        """A broker listens before it knows its controller; librdkafka would wait a minute for the news."""
        from confluent_kafka.admin import AdminClient

        admin = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        deadline = time.monotonic() + timeout
        while admin.list_topics(timeout=timeout).controller_id < 0:
            assert time.monotonic() < deadline, "Kafka has no controller"
            time.sleep(0.05)

    def stop(self) -> None:
        """A clean stop of the broker; ZooKeeper stays."""
        if self.broker is not None:
            self.broker.stop()
            self.broker = None

    def kill(self) -> None:
        assert self.broker is not None
        self.broker.kill()
        self.broker = None

    def close(self) -> None:
        self.stop()
        if self.zookeeper is not None:
            self.zookeeper.stop()
            self.zookeeper = None

    def tool(
        self, main: str, *arguments: str, input: str | None = None, check: bool = True, timeout: float = 300
    ) -> str:
        """Run one of Kafka's tools against this broker; returns what it printed."""
        everything = ("--bootstrap-server", self.address, *arguments)
        return java_tool(self.version, self.conf, main, *everything, input=input, check=check, timeout=timeout).stdout

    def __enter__(self) -> KafkaBroker:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def require_java() -> None:
    """Skip with a loud reason where Java or Maven is missing; under CI that is a failure."""
    import pytest

    tool = kafka_jars.missing_tool()
    if tool is None:
        return
    reason = f"{tool} is not installed: apt-get install default-jdk-headless maven"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
