"""The client scripts, by name; each says what it asks of a broker and in which order."""

from __future__ import annotations

from collections.abc import Callable

from interop.differential.scripts import data, topics
from interop.differential.session import Session

SCRIPTS: dict[str, Callable[[Session], None]] = {
    "metadata": topics.metadata,
    "create-topics": topics.create_topics,
    "delete-topics": topics.delete_topics,
    "create-partitions": topics.create_partitions,
    "describe-topic-partitions": topics.describe_topic_partitions,
    "produce": data.produce,
    "fetch": data.fetch,
    "list-offsets": data.list_offsets,
    "offset-for-leader-epoch": data.offset_for_leader_epoch,
    "delete-records": data.delete_records,
}
