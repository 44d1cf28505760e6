"""Log directories: what lies in them, on each broker, and moving a replica from one to another.

Each broker knows its own disks, and is asked itself. A replica that is being moved exists twice for a while: the second
one, `future`, catches up and then takes the first one's place.

    data-1/orders-0                      current, at work
    data-2/orders-0.<id>-future          future: `offset_lag` says how far it is behind
    data-2/orders-0                      current, when it has caught up; the first one is deleted

A directory that fails goes offline, with all that lies in it; the broker goes on with the others. It is then told with
an error in the place of its replicas.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tidelog.client.admin.base import AdminBase
from tidelog.client.admin.hints import check, failure, outcome
from tidelog.client.admin.outcomes import Answers, Outcomes
from tidelog.client.admin.routes import BROKER
from tidelog.client.admin.shapes import by_topic, entries, items, or_none
from tidelog.common.errors import KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.protocol import messages


class Replica(NamedTuple):
    """A partition's copy on a certain broker."""

    topic: str
    partition: int
    broker: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)


class ReplicaInfo(NamedTuple):
    """A replica in a directory: its size in bytes, how far it is behind, whether it is going to replace another."""

    size: int
    offset_lag: int
    is_future: bool


class LogDir(NamedTuple):
    """A directory of a broker. `error` says that it is offline; sizes are None where the broker does not tell them."""

    path: str
    replicas: Mapping[TopicPartition, ReplicaInfo]
    total_bytes: int | None = None
    usable_bytes: int | None = None
    is_cordoned: bool = False
    error: KafkaError | None = None


class ReplicaLogDirs(NamedTuple):
    """Where a replica lies, and where it is being moved to (None: nowhere)."""

    current: str | None = None
    current_lag: int | None = None
    future: str | None = None
    future_lag: int | None = None


class LogDirAdmin(AdminBase):
    """The part of the Admin that is about log directories."""

    async def describe_log_dirs(
        self, brokers: Iterable[int] | None = None, *, timeout: float | None = None
    ) -> Outcomes[int, dict[str, LogDir]]:
        """The directories of these brokers (None: of all), by path, with everything in them.

        A broker with many partitions has a long answer: `describe_replica_log_dirs` asks for a few.
        """
        return await self._log_dirs(brokers, None, timeout)

    async def describe_replica_log_dirs(
        self, replicas: Iterable[Replica], *, timeout: float | None = None
    ) -> Outcomes[Replica, ReplicaLogDirs]:
        """Where certain replicas lie. One that its broker does not have lies nowhere: all fields are None."""
        wanted = list(dict.fromkeys(items(replicas)))
        only = {broker: [r.topic_partition for r in wanted if r.broker == broker] for _, _, broker in wanted}
        found = await self._log_dirs(only, only, timeout)
        places: dict[Replica, ReplicaLogDirs | KafkaError] = {}
        for replica in wanted:
            dirs = found[replica.broker]
            places[replica] = dirs if isinstance(dirs, KafkaError) else _place(dirs, replica.topic_partition)
        return Outcomes(places)

    async def alter_replica_log_dirs(
        self, targets: Mapping[Replica, str], *, timeout: float | None = None
    ) -> Outcomes[Replica, None]:
        """Begin to move replicas to other directories of their brokers. A replica that is not there yet will be made
        in that directory, and is reported as REPLICA_NOT_AVAILABLE.
        """
        brokers = {replica.broker for replica in targets}

        def ask(ids: list[int]) -> messages.AlterReplicaLogDirsRequest:
            dirs: dict[str, list[TopicPartition]] = {}
            for replica, path in targets.items():
                if replica.broker == ids[0]:
                    dirs.setdefault(path, []).append(replica.topic_partition)
            Dir, Topic = (
                messages.AlterReplicaLogDirsRequest.AlterReplicaLogDir,
                messages.AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic,
            )
            return messages.AlterReplicaLogDirsRequest(
                dirs=[
                    Dir(path=path, topics=[Topic(name=name, partitions=ps) for name, ps in by_topic(tps).items()])
                    for path, tps in dirs.items()
                ]
            )

        def read(response: Any, ids: list[int]) -> Answers[int, dict[Replica, KafkaError | None]]:
            found = {
                Replica(*tp, ids[0]): outcome(None, each.error_code, about=Replica(*tp, ids[0]))
                for tp, each in entries(response.results, name="topic_name")
            }
            return [(ids[0], found)]

        answers = await self._call(timeout).each(brokers, BROKER, ask, read)
        moved: dict[Replica, KafkaError | None] = {}
        for replica in targets:
            answer = answers[replica.broker]
            moved[replica] = answer if isinstance(answer, KafkaError) else answer[replica]
        return Outcomes(moved)

    async def _log_dirs(
        self, brokers: Iterable[int] | None, only: Mapping[int, list[TopicPartition]] | None, timeout: float | None
    ) -> Outcomes[int, dict[str, LogDir]]:
        """Of these brokers, or of all; `only`: with these partitions of each."""
        call = self._call(timeout)

        def ask(ids: list[int]) -> messages.DescribeLogDirsRequest:
            if only is None:
                return messages.DescribeLogDirsRequest(topics=None)
            Topic = messages.DescribeLogDirsRequest.DescribableLogDirTopic
            asked = by_topic(only[ids[0]]).items()
            return messages.DescribeLogDirsRequest(
                topics=[Topic(topic=name, partitions=numbers) for name, numbers in asked]
            )

        def read(response: Any, ids: list[int]) -> Answers[int, dict[str, LogDir]]:
            check(response.error_code, about=f"log directories of broker {ids[0]}")
            return [(ids[0], {each.log_dir: _log_dir(each) for each in response.results})]

        ids = await call.brokers() if brokers is None else brokers
        return await call.each(ids, BROKER, ask, read)


def _log_dir(found: Any) -> LogDir:
    """From an answer. Sizes of the volume are told since Kafka 3.3, cordons (no new replicas here) since 4.3."""
    replicas = {
        tp: ReplicaInfo(each.partition_size, each.offset_lag, each.is_future_key) for tp, each in entries(found.topics)
    }
    return LogDir(
        found.log_dir,
        replicas,
        or_none(found.total_bytes, -1),
        or_none(found.usable_bytes, -1),
        found.is_cordoned,
        failure(found.error_code, about=f"directory {found.log_dir}") if found.error_code else None,
    )


def _place(dirs: Mapping[str, LogDir], tp: TopicPartition) -> ReplicaLogDirs:
    """Where one replica lies, from all directories of its broker."""
    place = ReplicaLogDirs()
    for path, each in dirs.items():
        info = each.replicas.get(tp)
        if info is not None and info.is_future:
            place = place._replace(future=path, future_lag=info.offset_lag)
        elif info is not None:
            place = place._replace(current=path, current_lag=info.offset_lag)
    return place
