"""Which of a request's topics and partitions exist: the others are answered before the coordinator sees the request.

A coordinator keeps offsets of any name; that a partition exists is checked against this broker's metadata, as in
Kafka. So one request may succeed for some partitions and have UNKNOWN_TOPIC_OR_PARTITION for others, in the same topic
even: both kinds of answers are put together again, one entry per topic.
"""

from __future__ import annotations

import copy
from typing import Any

from tidelog.broker.handlers.groups.versions import OffsetCommit
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.common.errors import ErrorCode
from tidelog.common.uuids import ZERO_UUID


def known_topics(
    metadata: MetadataCache, topics: list[Any], version: int
) -> tuple[list[Any], list[tuple[Any, ErrorCode]]]:
    """The topics that exist (with their names filled in), and the others with the error of each.

    By ids a topic that nobody knows is UNKNOWN_TOPIC_ID; a partition beyond the last is UNKNOWN_TOPIC_OR_PARTITION,
    however the topic was named.
    """
    known, unknown = [], []
    for topic in topics:
        if version >= OffsetCommit.TOPIC_IDS:
            name = metadata.topic_name(topic.topic_id)
            if name is None:
                unknown.append((topic, ErrorCode.UNKNOWN_TOPIC_ID))
                continue
            topic.name = name
        there, missing = _known_partitions(metadata, topic)
        if there is not None:
            known.append(there)
        if missing is not None:
            unknown.append((missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    return known, unknown


def _known_partitions(metadata: MetadataCache, topic: Any) -> tuple[Any | None, Any | None]:
    """A topic with those of its partitions that exist, and with those that do not; None in place of an empty one."""
    count = metadata.partition_count(topic.name)
    if count is None:
        return None, topic
    there = [entry for entry in topic.partitions if 0 <= entry.partition_index < count]
    if len(there) == len(topic.partitions):
        return topic if there else None, None
    missing = copy.copy(topic)
    missing.partitions = [entry for entry in topic.partitions if not 0 <= entry.partition_index < count]
    topic.partitions = there
    return topic if there else None, missing


def split_known(metadata: MetadataCache, topics: list[Any]) -> tuple[list[Any], list[Any]]:
    """Topics that exist and those that do not, partition by partition."""
    pairs = [_known_partitions(metadata, topic) for topic in topics]
    return [there for there, _ in pairs if there is not None], [gone for _, gone in pairs if gone is not None]


def add_failures(response: Any, topics: list[Any]) -> None:
    """Put the answers of what does not exist beside those of the coordinator, one entry per topic."""
    for topic in topics:
        name, topic_id = topic.name, getattr(topic, "topic_id", ZERO_UUID)
        known = (t for t in response.topics if t.name == name and getattr(t, "topic_id", ZERO_UUID) == topic_id)
        if (there := next(known, None)) is not None:
            there.partitions += topic.partitions
        else:
            response.topics.append(topic)
