"""Our clients on three brokers of Apache Kafka 4, whose leaders and coordinators move: by an election, by a
reassignment, by kill -9.

Everything goes on meanwhile, and the histories are held against the logs afterwards: nothing lost, nothing doubled,
nothing out of order, for the idempotent producer, for members of classic and KIP-848 groups, and for a copy in
transactions.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from faults.client.copying import OurCopier
from faults.client.ledger import Ledger, Logged, compare, read_log
from faults.client.reading import Reading
from faults.coordinator.history import Copied, findings
from interop.client.workers import Worker, consuming, producing
from support.kafka import KAFKA_4, require_java
from support.kafka_cluster import REPLICATED, KafkaCluster
from support.patience import eventually
from tidelog import Admin, KafkaError, Producer
from tidelog import TopicPartition as TP
from tidelog.admin import ElectionType, NewTopic
from tidelog.common.hashing import partition_for_id

pytestmark = pytest.mark.java

PARTITIONS = 2
GROUPS = {
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.session.timeout.ms": "5000",
}
QUICK = {
    "request.timeout.ms": 5000,
    "retry.backoff.ms": 20,
    "retry.backoff.max.ms": 200,
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "socket.connection.setup.timeout.ms": 2000,
}
READING = {"auto.offset.reset": "earliest", "enable.auto.commit": False, "default.api.timeout.ms": 30_000}
PROTOCOLS: dict[str, dict[str, Any]] = {
    "classic": {"group.protocol": "classic", "heartbeat.interval.ms": 300, "session.timeout.ms": 20_000},
    "consumer": {"group.protocol": "consumer"},
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    require_java()
    with KafkaCluster(KAFKA_4, tmp_path_factory.mktemp("cluster"), properties=GROUPS) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster: KafkaCluster) -> Iterator[Admin]:
    settings = {**QUICK, "bootstrap.servers": cluster.addresses, "default.api.timeout.ms": 60_000}
    with Admin(settings) as running:
        assert eventually(lambda: len(running.describe_cluster().nodes) == 3)
        yield running


class Moves:
    """What happens to a topic's leaders and to coordinators, each with a wait until it has happened."""

    def __init__(self, cluster: KafkaCluster, admin: Admin) -> None:
        self.cluster, self.admin = cluster, admin

    def leader(self, tp: TP) -> int:
        return self.admin.describe_topic(tp.topic).partitions[tp.partition].leader

    def in_sync(self, *topics: str) -> None:
        """All replicas of these are in sync: what is killed next takes nothing with it."""

        def behind() -> list[Any]:
            found = [part for topic in topics for part in self.admin.describe_topic(topic).partitions]
            return [part for part in found if set(part.isr) != set(part.replicas) or part.leader < 0]

        eventually(behind, lambda some: not some)

    def elected(self, tp: TP) -> None:
        """The preferred leader is another, and takes over."""
        before = self.admin.describe_topic(tp.topic).partitions[tp.partition]
        self.led_by(tp, next(number for number in before.replicas if number != before.leader))

    def led_by(self, tp: TP, number: int) -> None:
        """That broker is its leader."""
        before = self.admin.describe_topic(tp.topic).partitions[tp.partition]
        if before.leader == number:
            return
        order = [number, *(other for other in before.replicas if other != number)]
        self.admin.alter_partition_reassignments({tp: order}).result()
        self.in_sync(tp.topic)
        self.admin.elect_leaders([tp], ElectionType.PREFERRED).result()
        eventually(lambda: self.leader(tp), lambda leader: leader == number)

    def reassigned(self, tp: TP) -> None:
        """Its leader's broker has it no more; later it has it again."""
        before = self.admin.describe_topic(tp.topic).partitions[tp.partition]
        others = [number for number in before.replicas if number != before.leader]
        self.admin.alter_partition_reassignments({tp: others}).result()
        eventually(lambda: self.leader(tp), lambda leader: leader in others)
        eventually(lambda: not self.admin.list_partition_reassignments([tp]))
        self.admin.alter_partition_reassignments({tp: [*others, before.leader]}).result()
        eventually(lambda: not self.admin.list_partition_reassignments([tp]))

    def killed(self, number: int, moved: Callable[[], bool], *topics: str) -> None:
        """A broker is gone until `moved`, and back then."""
        self.in_sync("__consumer_offsets", *topics)
        self.cluster.kill(number)
        eventually(self._patiently(moved))
        self.cluster.start(number)
        self.in_sync("__consumer_offsets", *topics)

    def _patiently(self, look: Callable[[], bool]) -> Callable[[], bool]:
        def asked() -> bool:
            try:
                return look()
            except KafkaError as error:
                if not error.retriable:
                    raise
                return False

        return asked

    def coordinator(self, group: str) -> int:
        found = self.admin.describe_consumer_group(group).coordinator
        return found.id if found is not None else -1

    def coordinator_of_transactions(self, transactional_id: str) -> int:
        found = self.admin.describe_transactions([transactional_id]).of(transactional_id).coordinator
        return -1 if found is None else found

    def log(self, topic: str, *, committed: bool = False) -> dict[int, list[Logged]]:
        """Every partition, read from its leader past our clients."""
        leaders = {part.partition: part.leader for part in self.admin.describe_topic(topic).partitions}
        return {
            number: read_log(self.cluster.nodes[leader].address, topic, number, committed=committed)
            for number, leader in leaders.items()
        }


@pytest.fixture(scope="module")
def moves(cluster: KafkaCluster, admin: Admin) -> Moves:
    return Moves(cluster, admin)


def groups_of_one_coordinator(topic: str) -> dict[str, str]:
    """Names of groups, by their protocol, whose offsets lie in one partition."""
    partitions = int(REPLICATED["offsets.topic.num.partitions"])
    first = f"{topic}-classic"
    names = (f"{topic}-consumer-{number}" for number in itertools.count())
    place = partition_for_id(first, partitions)
    return {"classic": first, "consumer": next(name for name in names if partition_for_id(name, partitions) == place)}


@pytest.mark.parametrize(
    ("faces", "in_flight"),
    [({"producer": "blocking", "classic": "blocking", "consumer": "asyncio"}, 5),
     ({"producer": "asyncio", "classic": "asyncio", "consumer": "blocking"}, 1)],
    ids=["blocking", "asyncio"],
)  # fmt: skip
def test_producing_and_reading_go_on_while_leaders_and_coordinators_move(
    moves: Moves, faces: dict[str, str], in_flight: int
) -> None:
    topic = f"moving-{faces['producer']}"
    moves.admin.create_topics([NewTopic(topic, PARTITIONS, 3)]).result()
    tp, both = TP(topic, 0), [TP(topic, number) for number in range(PARTITIONS)]
    book = Ledger(topic, PARTITIONS)
    common = {**QUICK, "bootstrap.servers": moves.cluster.addresses}
    writing = {**common, "linger.ms": 2, "delivery.timeout.ms": 120_000, "max.block.ms": 120_000}
    writing["max.in.flight.requests.per.connection"] = in_flight
    groups = groups_of_one_coordinator(topic)
    readings = {name: Reading({}) for name in PROTOCOLS}
    readers = [
        consuming(faces[name], readings[name], topic, {**common, **READING, **PROTOCOLS[name], "group.id": group})
        for name, group in groups.items()
    ]

    def goes_on(*workers: Worker) -> None:
        """Every worker has done something new in every partition."""
        for look in (lambda: [len(book.written)], *(_progress(reading, both) for reading in readings.values())):
            before = look()
            eventually(lambda look=look, before=before: all(w.check() for w in workers) and _more(look(), before))

    with readers[0], readers[1]:
        with producing(faces["producer"], book, writing) as writer:
            everybody = (writer, *readers)
            goes_on(*everybody)
            moves.elected(tp)
            goes_on(*everybody)
            moves.reassigned(tp)
            goes_on(*everybody)
            number = moves.coordinator(groups["classic"])
            assert moves.coordinator(groups["consumer"]) == number
            moves.led_by(tp, number)
            moves.killed(number, lambda: moves.leader(tp) != number != moves.coordinator(groups["classic"]), topic)
            goes_on(*everybody)
        log = moves.log(topic)
        for reading in readings.values():
            reading.ends = {tp: len(log[tp.partition]) for tp in both}
    assert not book.failed
    assert compare(book.sent, book.written, book.failed, book.heard, log) == {}
    assert all(not reading.wrong for reading in readings.values())


def _progress(reading: Reading, partitions: list[TP]) -> Callable[[], list[int]]:
    return lambda: [len(reading.seen[tp]) for tp in partitions]


def _more(now: list[int], before: list[int]) -> bool:
    return all(one > other for one, other in zip(now, before, strict=True))


def test_a_copy_in_transactions_while_their_coordinators_move(moves: Moves) -> None:
    """Killed in turn: the coordinator of transactions; that of the group, which leads a partition of the copy, too."""
    name = "copy"
    names = [f"{name}-in", f"{name}-out"]
    moves.admin.create_topics([NewTopic(topic, PARTITIONS, 3) for topic in names]).result()
    common = {**QUICK, "bootstrap.servers": moves.cluster.addresses, "default.api.timeout.ms": 30_000}
    copier = OurCopier(common, name, name, *names)
    sent: list[int] = []

    def feed(stop: threading.Event) -> None:
        """A few at a time: there is always something to copy, and not much of it."""
        with Producer({**common, "delivery.timeout.ms": 120_000, "max.block.ms": 120_000}) as producer:
            while not stop.wait(0.05):
                for _ in range(PARTITIONS):
                    producer.send(names[0], b"%d" % len(sent), partition=len(sent) % PARTITIONS)
                    sent.append(len(sent))

    def copy(stop: threading.Event) -> None:
        while not stop.is_set():
            copier.copy()

    def goes_on() -> None:
        before = len(copier.history.committed)
        eventually(lambda: feeder.check() and worker.check() and len(copier.history.committed) > before + 2)

    target = TP(names[1], 0)
    with Worker(copy) as worker, Worker(feed) as feeder:
        goes_on()
        number = moves.coordinator_of_transactions(name)
        moves.killed(
            number,
            lambda: moves.coordinator_of_transactions(name) not in (number, -1),
            "__transaction_state",
            *names,
        )
        goes_on()
        number = moves.coordinator(name)
        moves.led_by(target, number)
        moves.killed(
            number,
            lambda: moves.leader(target) != number != moves.coordinator(name),
            "__transaction_state",
            *names,
        )
        goes_on()
    deadline = time.monotonic() + 120
    while _count(moves, names[1]) < len(sent):
        assert time.monotonic() < deadline, (_count(moves, names[1]), copier.__dict__)
        copier.copy()
    copier.close()
    view = {
        part: [Copied(str(part), int(record.value.split()[0]), record.value.split()[1].decode()) for record in records]
        for part, records in moves.log(names[1], committed=True).items()
    }
    assert findings(copier.history, sent, view) == {}
    assert len(copier.history.committed) > 20


def _count(moves: Moves, topic: str) -> int:
    return sum(map(len, moves.log(topic, committed=True).values()))
