"""Topics by name and by id.

A topic has been what its id says since Kafka 2.8 (KIP-516): one that was deleted and made anew under the same name is
another topic. Requests of older versions know names only, so both ways are kept, and always together.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.broker.metadata.images import PartitionState, TopicImage
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID


class TopicTable:
    """Images are replaced whole, never changed: whoever holds one can go on reading it."""

    def __init__(self) -> None:
        self.topics: dict[str, TopicImage] = {}
        self._names: dict[bytes, str] = {}

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

    @property
    def partition_total(self) -> int:
        return sum(len(image.partitions) for image in self.topics.values())

    def put(self, images: Iterable[TopicImage]) -> None:
        """New topics, and new images of old ones. Topics of clusters before 2.8 have no id until a controller gives
        them one: they are found by name only."""
        for image in images:
            before = self.topics.get(image.name)
            if before is not None and before.topic_id != image.topic_id:
                self._names.pop(before.topic_id, None)
            self.topics[image.name] = image
            if image.topic_id != ZERO_UUID:
                self._names[image.topic_id] = image.name

    def remove(self, names: Iterable[str]) -> list[TopicImage]:
        """Forget topics; the last images of those that were known."""
        gone = []
        for name in names:
            image = self.topics.pop(name, None)
            if image is not None:
                self._names.pop(image.topic_id, None)
                gone.append(image)
        return gone
