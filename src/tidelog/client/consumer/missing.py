"""Topics and partitions that were asked for and are not there: said once in the log, and in `health()`.

A consumer may be started before its topic is made, so `poll` waits for it, as Kafka's does. But most often such a name
is misspelt, and whoever waits at a `poll` that returns nothing should not have to find that out alone:

    there is no topic ordres: did you mean orders? poll waits for it, and looks every 300 s (metadata.max.age.ms)

The nearest names are looked for among all topics, which are asked for once. A name that comes to be, and goes again
later, is said again. Brokers may be set to make what is asked for: a misspelt topic is there then, new and empty.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.config import common
from tidelog.client.consumer.subscription import Mode, SubscriptionState
from tidelog.client.nearest import did_you_mean
from tidelog.common.errors import KafkaError
from tidelog.common.types import TopicPartition

logger = logging.getLogger("tidelog.client.consumer")


class MissingTopics:
    """What is wanted and not there. `look` and the rest run on the loop; `found` anywhere."""

    def __init__(self, cluster: ClusterClient, subscription: SubscriptionState) -> None:
        self._cluster = cluster
        self._subscription = subscription
        self._told: frozenset[str] = frozenset()
        self._seen = 0
        self.task: asyncio.Task[None] | None = None

    def found(self) -> list[str]:
        """Names of topics, and of partitions (`orders-7`) of topics that have fewer; as far as metadata tells."""
        metadata, state = self._cluster.metadata, self._subscription
        wanted = state.names if state.mode is Mode.TOPICS else frozenset()
        topics = {name for name in wanted if name in metadata.absent}
        partitions = set()
        for tp in list(state.partitions):
            known = metadata.topics.get(tp.topic)
            if tp.topic in metadata.absent:
                topics.add(tp.topic)
            elif known is not None and known.partitions and tp.partition not in known.partitions:
                partitions.add(str(tp))
        return sorted(topics) + sorted(partitions)

    def look(self) -> None:
        """If there is news of the cluster: say what is missing, unless that was said."""
        if self._cluster.metadata.revision == self._seen:
            return
        self._seen = self._cluster.metadata.revision
        missing = frozenset(self.found())
        new = missing - self._told
        self._told &= missing
        if new and self.task is None:
            self._told |= new
            self.task = asyncio.create_task(self._tell(new))

    async def _tell(self, missing: Iterable[str]) -> None:
        try:
            topics = await self._all_topics()
            partitions = {str(tp): tp for tp in self._subscription.partitions}
            for name in sorted(missing):
                if name in partitions and name not in self._cluster.metadata.absent:
                    logger.warning("%s; poll waits for it", self._no_partition(partitions[name]))
                else:
                    meant = did_you_mean(name, topics)
                    hint = f": {meant}" if meant else ";"
                    logger.warning("there is no topic %s%s poll waits for it%s", name, hint, self._again())
        finally:
            self.task = None

    async def made(self, names: Iterable[str]) -> None:
        """These were not there, and the broker has made them because we asked: worth a warning where another topic has
        nearly the same name.
        """
        topics = None
        for name in sorted(names):
            topics = await self._all_topics() if topics is None else topics
            meant = did_you_mean(name, [other for other in topics if other != name])
            level, hint = (logging.WARNING, f": {meant}") if meant else (logging.INFO, "")
            logger.log(level, "there was no topic %s: the broker has made it now%s", name, hint)

    async def _all_topics(self) -> list[str]:
        """None, if they cannot be had: then nothing is offered."""
        try:
            found = await self._cluster.all_topics()
        except KafkaError as error:
            logger.debug("no names to offer: %s", error)
            return []
        return [name for name, info in found.items() if not info.internal]

    def _no_partition(self, tp: TopicPartition) -> str:
        known = self._cluster.metadata.topics.get(tp.topic)
        count = len(known.partitions) if known is not None else 0
        return f"{tp.topic} has no partition {tp.partition}: it has 0 to {count - 1}"

    def _again(self) -> str:
        """Assigned partitions are looked for all the time; topics of a group when metadata is due."""
        if not self._subscription.by_group:
            return ""
        age = self._cluster.config[common.METADATA_MAX_AGE_MS] / 1000
        return f", and looks every {age:g} s (metadata.max.age.ms)"
