"""What every handler sees of the cluster: brokers, topics, leaders. Held by the event loop; images are replaced whole.

`version` grows with every change, so that whoever keeps something made from the cache (encoded Metadata answers, fetch
sessions' topic ids) knows when it is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tidelog.broker.metadata.images import BrokerImage, PartitionState, TopicImage
from tidelog.common.types import NO_NODE, TopicPartition
from tidelog.common.uuids import ZERO_UUID

ChangeCallback = Callable[[list[TopicImage], list[TopicImage]], None]

#: How many names of deleted topics are remembered.
DELETED_NAMES = 1000


class MetadataCache:
    def __init__(self) -> None:
        self.cluster_id = ""
        self.controller_id = NO_NODE
        self.controller_epoch = 0
        self.brokers: dict[int, BrokerImage] = {}
        self.topics: dict[str, TopicImage] = {}
        self.version = 0
        self._names: dict[bytes, str] = {}
        #: Names of deleted topics, the newest last, as far as nobody has used them again.
        self._deleted: dict[str, None] = {}
        self._callbacks: list[ChangeCallback] = []

    # -- looking -----------------------------------------------------------------------------------------------------

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def topic_id(self, name: str) -> bytes:
        image = self.topics.get(name)
        return ZERO_UUID if image is None else image.topic_id

    def partition_count(self, name: str) -> int | None:
        image = self.topics.get(name)
        return None if image is None else len(image.partitions)

    def partition(self, tp: TopicPartition) -> PartitionState | None:
        image = self.topics.get(tp.topic)
        if image is None or not 0 <= tp.partition < len(image.partitions):
            return None
        return image.partitions[tp.partition]

    def was_deleted(self, name: str) -> bool:
        """Whether there was a topic of this name, not long ago, and is none now."""
        return name in self._deleted

    def is_alive(self, node_id: int) -> bool:
        return node_id in self.brokers

    @property
    def partition_total(self) -> int:
        return sum(len(image.partitions) for image in self.topics.values())

    # -- changing (the controller's propagation only) ----------------------------------------------------------------

    def on_change(self, callback: ChangeCallback) -> None:
        """Call back with (changed or new topics, deleted topics) after each change."""
        self._callbacks.append(callback)

    def apply(self, changed: Iterable[TopicImage] = (), deleted: Iterable[str] = ()) -> None:
        gone = []
        for name in deleted:
            image = self.topics.pop(name, None)
            if image is not None:
                self._names.pop(image.topic_id, None)
                self._deleted[name] = None
                gone.append(image)
        while len(self._deleted) > DELETED_NAMES:
            del self._deleted[next(iter(self._deleted))]
        new = list(changed)
        for image in new:
            before = self.topics.get(image.name)
            if before is not None and before.topic_id != image.topic_id:
                self._names.pop(before.topic_id, None)
            self.topics[image.name] = image
            self._deleted.pop(image.name, None)
            if image.topic_id != ZERO_UUID:
                self._names[image.topic_id] = image.name
        self.version += 1
        for callback in self._callbacks:
            callback(new, gone)

    def set_brokers(self, brokers: Iterable[BrokerImage], controller_id: int) -> None:
        self.brokers = {broker.node_id: broker for broker in brokers}
        self.controller_id = controller_id
        self.version += 1
