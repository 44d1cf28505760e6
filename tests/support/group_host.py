"""A consumer as its membership sees it, without the consumer: remembers what it was told, and acts at once.

    host = FakeHost({"topic"})
    member = await host.join(broker.address, {"group.id": "g"})
    await until(lambda: len(host.owned()) == 4)

A real consumer runs listeners when its user polls; this one waits at `turn`, which is open unless a test closes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from support.loop import until
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import consumer as keys
from tidelog.client.config import parse
from tidelog.client.consumer.commits import OffsetCommits
from tidelog.client.consumer.membership.classic import ClassicMembership
from tidelog.client.consumer.membership.consumer import ConsumerMembership
from tidelog.client.values import OffsetAndMetadata
from tidelog.common.types import TopicPartition

#: Quick enough for tests, and within what brokers allow.
QUICK = {"heartbeat.interval.ms": 100, "session.timeout.ms": 6000}


class FakeHost:
    """The seven methods, a log of them, and the membership that it has joined with."""

    def __init__(self, topics: Iterable[str], pattern: str | None = None) -> None:
        self.subscribed = frozenset(topics)
        self.pattern = pattern
        self.log: list[tuple[str, list[TopicPartition]]] = []
        self.errors: list[Exception] = []
        self.fatal: Exception | None = None
        self.held_back: frozenset[TopicPartition] = frozenset()
        self.turn = asyncio.Event()
        self.turn.set()
        #: What to commit while partitions are revoked, as auto-commit and listeners do.
        self.positions: dict[TopicPartition, int] = {}
        self._owned: set[TopicPartition] = set()
        self.cluster: ClusterClient | None = None
        self.member: ClassicMembership | ConsumerMembership | None = None
        self.commits: OffsetCommits | None = None

    def topics(self) -> frozenset[str]:
        return self.subscribed

    def server_pattern(self) -> str | None:
        return self.pattern

    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self._owned)

    async def revoke(self, partitions: Iterable[TopicPartition]) -> None:
        gone = sorted(partitions)
        await self.turn.wait()
        positions = {tp: OffsetAndMetadata(self.positions[tp]) for tp in gone if tp in self.positions}
        if positions and self.commits is not None:
            await self.commits.commit(positions)
        self._note("revoke", gone)
        self._owned.difference_update(gone)

    async def lose(self, partitions: Iterable[TopicPartition]) -> None:
        gone = sorted(partitions)
        await self.turn.wait()
        self._note("lose", gone)
        self._owned.difference_update(gone)

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        new = sorted(partitions)
        await self.turn.wait()
        assert not self._owned.intersection(new), "assigned what is owned already"
        self._note("assign", new)
        self._owned.update(new)

    def hold_back(self) -> None:
        self.held_back = frozenset(self._owned)

    def failed(self, error: Exception, *, final: bool = False) -> None:
        self.errors.append(error)
        if final:
            self.fatal = error

    def _note(self, what: str, partitions: list[TopicPartition]) -> None:
        self.log.append((what, partitions))

    @property
    def numbers(self) -> list[int]:
        return sorted(tp.partition for tp in self._owned)

    def words(self) -> list[str]:
        """The log without partitions."""
        return [what for what, _ in self.log]

    async def join(self, address: str, settings: Mapping[str, object]) -> ClassicMembership | ConsumerMembership:
        new = settings.get("group.protocol") == "consumer"
        config = parse(keys.KEYS, {"bootstrap.servers": address, "group.id": "g", **({} if new else QUICK), **settings})
        self.cluster = ClusterClient({"bootstrap.servers": address})
        self.commits = OffsetCommits(self.cluster, config)
        self.member = (ConsumerMembership if new else ClassicMembership)(self.cluster, self, config)
        self.commits.member = self.member
        await self.member.start()
        return self.member

    async def poll_until(self, condition: Callable[[], object]) -> None:
        """Wait as a user does who polls meanwhile."""
        member = self.member
        assert member is not None
        await until(lambda: member.polled() or condition())  # type: ignore[func-returns-value]  # polled gives None

    async def leave(self) -> None:
        assert self.member is not None
        assert self.cluster is not None
        await self.member.leave()
        await self.cluster.close()

    async def vanish(self) -> None:
        """As a process that is killed: nobody is told."""
        assert self.member is not None
        assert self.cluster is not None
        await self.member._stop_tasks()
        await self.cluster.close()
