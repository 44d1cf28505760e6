"""Exactly-once under fire: copiers and the broker are killed at random while records keep coming.

Three processes of one group copy a topic, two of them librdkafka's, one Kafka's own client; whoever dies is replaced.
In the end a Java reader of committed records must see every input once, in order per key, and nothing of a transaction
that was aborted; `history.py` holds what it saw against what the copiers wrote down. And nobody may stand still: a
copier that stays in a transaction for half a minute fails the test (the end of its log says where it stood).
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from faults.coordinator.history import Copied, History, findings, in_flight
from support.kafka import KAFKA_3, KAFKA_4, kafka_jars
from support.tidelog import TidelogServer

HERE = Path(__file__).parent
PARTITIONS = 4
KEYS = 16
COPIERS = 3
#: For what takes a second or so on a quiet machine.
PATIENCE = 300
SETTINGS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}
#: The Java client of each protocol; Kafka 4's also speaks the second version of the transaction protocol (KIP-890).
JAVA = {"classic": KAFKA_3, "consumer": KAFKA_4}


class Feeder(threading.Thread):
    """Writes 0, 1, 2, ... to the input, at a steady pace, whatever happens to the broker."""

    def __init__(self, address: str, rate: int) -> None:
        super().__init__(daemon=True)
        self._producer = Producer(
            {"bootstrap.servers": address, "enable.idempotence": True, "message.timeout.ms": 300_000, "linger.ms": 5}
        )
        self._rate = rate
        self._stopped = threading.Event()
        self.count = 0
        self.failures: list[str] = []

    def run(self) -> None:
        begun = time.monotonic()
        while not self._stopped.wait(0.02):
            for number in range(self.count, int((time.monotonic() - begun) * self._rate)):
                key = str(number % KEYS)
                self._producer.produce("in", str(number), key, number % PARTITIONS, on_delivery=self._delivered)
                self.count += 1
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, record: Message) -> None:
        if error is not None:
            self.failures.append(str(error))

    def finish(self) -> int:
        """Stop and wait until all is acknowledged; how many records there are."""
        self._stopped.set()
        self.join()
        assert self._producer.flush(PATIENCE) == 0
        assert not self.failures
        return self.count


class Copiers:
    """The copying processes; whoever is dead is replaced by `tend`."""

    def __init__(self, server: TidelogServer, home: Path, protocol: str) -> None:
        self.server, self.home, self.protocol = server, home, protocol
        self.processes: list[subprocess.Popen[bytes] | None] = [None] * COPIERS
        self.starts = self.kills = self.kills_in_transactions = 0
        compile_java(JAVA[protocol], "FireCopier", home)

    def tend(self) -> None:
        for number, process in enumerate(self.processes):
            if process is None or process.poll() is not None:
                if process is not None and process.returncode == -signal.SIGALRM:
                    raise AssertionError(f"a copier stood still:\n{self._log(number).read_text()[-2000:]}")
                self.processes[number] = self._start(number)
                self.starts += 1

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        program = [sys.executable, str(HERE / "copier.py")]
        if number == COPIERS - 1:
            program = java(JAVA[self.protocol], self.home, "FireCopier")
        arguments = [self.server.address, "in", "out", "copy", f"copier-{number}", self.protocol]
        with self._log(number).open("ab") as log:
            return subprocess.Popen([*program, *arguments, str(self._history(number))], stdout=log, stderr=log)

    def _log(self, number: int) -> Path:
        return self.home / f"copier-{number}.log"

    def _history(self, number: int) -> Path:
        return self.home / f"copier-{number}.history"

    def kill_one(self, rng: random.Random) -> None:
        """At any moment, or (transactions are short) in a transaction."""
        number, in_transaction = rng.randrange(COPIERS), rng.random() < 0.5
        process = self.processes[number]
        if process is not None and process.poll() is None:
            names = f"copier-{number}/{process.pid}/"
            deadline = time.monotonic() + 1
            while in_transaction and not in_flight(self._history(number), names) and time.monotonic() < deadline:
                time.sleep(0.001)
            process.kill()
            process.wait()
            self.kills += 1
            self.kills_in_transactions += in_flight(self._history(number), names)

    def stop(self) -> None:
        for process in self.processes:
            if process is not None:
                process.kill()
                process.wait()

    def history(self) -> History:
        return History.read(self.home.glob("copier-*.history"))


def compile_java(version: str, program: str, home: Path) -> None:
    libs = f"{kafka_jars.client_libs(version)}/*"
    subprocess.run(["javac", "-cp", libs, "-d", str(home), str(HERE / f"{program}.java")], check=True, timeout=120)


def java(version: str, home: Path, program: str) -> list[str]:
    libs = f"{kafka_jars.client_libs(version)}/*:{home}"
    return ["java", "-Xmx128M", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", libs, program]


@contextmanager
def copiers(server: TidelogServer, home: Path, protocol: str) -> Iterator[Copiers]:
    team = Copiers(server, home, protocol)
    try:
        yield team
    finally:
        team.stop()


def create_topics(server: TidelogServer) -> None:
    admin = AdminClient({"bootstrap.servers": server.address})
    for future in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in ("in", "out")]).values():
        future.result(60)


def watch(server: TidelogServer, isolation: str, group: str = "watch") -> Consumer:
    return Consumer({"bootstrap.servers": server.address, "group.id": group, "isolation.level": isolation})


def await_end(server: TidelogServer, team: Copiers, seconds: float) -> None:
    """Until the group has committed the end of the input."""
    observer = watch(server, "read_committed", "copy")
    partitions = [TopicPartition("in", number) for number in range(PARTITIONS)]
    ends = [observer.get_watermark_offsets(partition, 30)[1] for partition in partitions]
    deadline = time.monotonic() + seconds
    while (reached := [found.offset for found in observer.committed(partitions, 30)]) != ends:
        assert time.monotonic() < deadline, f"the copy is not complete: {reached} of {ends}"
        team.tend()
        time.sleep(0.2)
    observer.close()


def await_stable(server: TidelogServer, seconds: float = PATIENCE) -> None:
    """Until no transaction is open: a copier that died in one leaves it to the coordinator, which ends it in time."""
    views = [watch(server, isolation) for isolation in ("read_committed", "read_uncommitted")]
    deadline = time.monotonic() + seconds
    for number in range(PARTITIONS):
        while len({view.get_watermark_offsets(TopicPartition("out", number), 30)[1] for view in views}) > 1:
            assert time.monotonic() < deadline, f"a transaction hangs in partition {number}"
            time.sleep(0.1)
    for view in views:
        view.close()


def read(server: TidelogServer, home: Path, version: str, topic: str) -> dict[int, list[list[str]]]:
    """What a Java reader of committed records sees, by partition: key, value and what follows it."""
    compile_java(version, "CommittedReader", home)
    command = [*java(version, home, "CommittedReader"), server.address, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert lines, done.stderr[-4000:]
    assert lines.pop() == "END", done.stderr[-4000:]
    seen: defaultdict[int, list[list[str]]] = defaultdict(list)
    for partition, key, value in (line.split("\t") for line in lines):
        seen[int(partition)].append([key, *value.split(" ")])
    return seen


def under_fire(home: Path, protocol: str, seconds: float, seed: int, rate: int = 1000) -> None:
    rng = random.Random(seed)
    with TidelogServer(home, properties=SETTINGS) as server:
        create_topics(server)
        with copiers(server, home, protocol) as team:
            feeder = Feeder(server.address, rate)
            team.tend()
            feeder.start()
            begun, broker_kills = time.monotonic(), 0
            while time.monotonic() < begun + seconds or not (broker_kills and team.kills_in_transactions):
                assert time.monotonic() < begun + seconds + PATIENCE, "no kill hit a transaction"
                time.sleep(rng.uniform(0.7, 2.5))  # any moment will do
                if rng.random() < 0.4:
                    server.kill()
                    broker_kills += 1
                    server.start()
                else:
                    team.kill_one(rng)
                team.tend()
            count = feeder.finish()
            await_end(server, team, PATIENCE)
        await_stable(server)
        inputs = [int(value) for records in read(server, home, JAVA[protocol], "in").values() for _, value in records]
        copied = read(server, home, JAVA[protocol], "out")
    history = team.history()
    print(
        f"seed {seed}, {protocol}, {seconds:.0f} s: {count} records; {broker_kills} kills of the broker, {team.kills} "
        f"of copiers ({team.starts} started); transactions: {len(history.committed)} committed, "
        f"{len(history.aborted)} aborted, {history.cut_short} cut short"
    )
    assert sorted(inputs) == list(range(count)), "the input itself is not what was written"
    view = {number: [Copied(key, int(n), name) for key, n, name in records] for number, records in copied.items()}
    assert findings(history, inputs, view) == {}
    assert history.cut_short, "no kill hit a transaction"


@pytest.mark.java
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_record_is_copied_once(tmp_path: Path, protocol: str) -> None:
    """Half a minute each: together the minute of `make test`."""
    under_fire(tmp_path, protocol, seconds=30, seed=5)


@pytest.mark.java
@pytest.mark.soak
@pytest.mark.timeout(2400)
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ten_minutes(tmp_path: Path, protocol: str) -> None:
    """Five minutes each."""
    under_fire(tmp_path, protocol, seconds=300, seed=int(time.time()))
