"""What a coordinator must know of the cluster's topics. The broker gives a view of its metadata cache.

Consumer groups assign by topic id, and clients subscribe by name; both are looked up here, as of now. A coordinator
keeps no copy: a topic that is gone is simply not found any more.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from typing import Protocol

from tidelog.common.named_tuple import NamedTuple


class TopicView(NamedTuple):
    """What an assignor has to know of a topic. A topic that was deleted and made again has the name, but another id."""

    name: str
    topic_id: bytes
    partitions: int


class MetadataView(Protocol):
    """The topics as this broker knows them now. `version` changes whenever any of them does."""

    @property
    def version(self) -> int: ...
    def topic(self, name: str) -> TopicView | None: ...
    def topic_by_id(self, topic_id: bytes) -> TopicView | None: ...
    def topic_names(self) -> Collection[str]: ...


class StaticMetadata:
    """A `MetadataView` of a fixed set of topics; `replace` changes it."""

    def __init__(self, topics: Iterable[TopicView] = ()) -> None:
        self.version = 0
        self._by_name: dict[str, TopicView] = {}
        self._by_id: dict[bytes, TopicView] = {}
        self.replace(topics)

    def replace(self, topics: Iterable[TopicView]) -> None:
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.topic_id: topic for topic in self._by_name.values()}
        self.version += 1

    def topic(self, name: str) -> TopicView | None:
        return self._by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicView | None:
        return self._by_id.get(topic_id)

    def topic_names(self) -> Collection[str]:
        return self._by_name.keys()


def metadata_hash(view: MetadataView, names: Iterable[str]) -> int:
    """A signed 64-bit fingerprint of the subscribed topics that exist: a change of it calls for a new assignment.

    Kafka stores such a number too (from 4.1 on) and only ever compares it with one it computed itself,
    so the function is each broker's own affair: a foreign value costs one extra assignment.
    """
    digest = hashlib.blake2b(digest_size=8)
    found = False
    for name in sorted(names):
        topic = view.topic(name)
        if topic is not None:
            found = True
            digest.update(topic.topic_id + topic.partitions.to_bytes(4, "big") + name.encode() + b"\0")
    return int.from_bytes(digest.digest(), "big", signed=True) if found else 0
