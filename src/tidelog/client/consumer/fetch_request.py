"""A Fetch request of what a session's plan names: the one place where it is put together.

Topic ids are used if all topics have one (version 13 on): then a topic that was made anew under its old name is an
error of the broker's, UNKNOWN_TOPIC_ID, instead of somebody else's records.

What bounds an answer, from the inside out: `max.partition.fetch.bytes` for each partition, `fetch.max.bytes` for all of
them together. Both yield to a single batch that is larger, or a consumer could never get past it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidelog.client.config import consumer as keys
from tidelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED
from tidelog.common.config import Config
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.net.fetch_session import FetchPlan, FetchPosition
from tidelog.net.node_client import NodeClient
from tidelog.protocol.messages import FetchRequest

#: From the next version on, a fetch names topics by id.
_LAST_VERSION_WITH_NAMES = 12


class FetchLimits(NamedTuple):
    """What a consumer's settings say of each fetch."""

    min_bytes: int
    max_bytes: int
    max_wait_ms: int
    partition_bytes: int
    isolation: int
    rack: str = ""

    @classmethod
    def of(cls, config: Config, isolation: int | None = None) -> FetchLimits:
        """By the settings; `isolation` goes before `isolation.level`."""
        committed = config[keys.ISOLATION_LEVEL] == "read_committed"
        usual = READ_COMMITTED if committed else READ_UNCOMMITTED
        return cls(
            config[keys.FETCH_MIN_BYTES],
            config[keys.FETCH_MAX_BYTES],
            config[keys.FETCH_MAX_WAIT_MS],
            config[keys.MAX_PARTITION_FETCH_BYTES],
            usual if isolation is None else isolation,
            config[keys.CLIENT_RACK],
        )


async def send_fetch(
    node: NodeClient, plan: FetchPlan, asked: Mapping[TopicPartition, FetchPosition], limits: FetchLimits
) -> Any:
    """One Fetch and its answer. `asked` is all that the session wants, `plan` what of it has to be said."""
    ids = {tp.topic: position.topic_id for tp, position in asked.items()}
    by_name = ZERO_UUID in ids.values()
    topics: dict[str, list[FetchRequest.FetchPartition]] = {}
    for tp, position in plan.send.items():
        entry = FetchRequest.FetchPartition(
            partition=tp.partition,
            current_leader_epoch=position.leader_epoch,
            fetch_offset=position.offset,
            partition_max_bytes=position.max_bytes,
        )
        topics.setdefault(tp.topic, []).append(entry)
    request = FetchRequest(
        max_wait_ms=limits.max_wait_ms,
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        isolation_level=limits.isolation,
        session_id=plan.session_id,
        session_epoch=plan.epoch,
        topics=[
            FetchRequest.FetchTopic(topic=name, topic_id=ids[name], partitions=parts) for name, parts in topics.items()
        ],
        forgotten_topics_data=_forgotten(plan.forget),
        rack_id=limits.rack,
    )
    return await node.send(request, highest=_LAST_VERSION_WITH_NAMES if by_name else None)


def _forgotten(forget: Mapping[TopicPartition, bytes]) -> list[FetchRequest.ForgottenTopic]:
    """What the session no longer wants, by topic: the broker would go on to answer for it."""
    by_topic: dict[tuple[str, bytes], list[int]] = {}
    for tp, topic_id in forget.items():
        by_topic.setdefault((tp.topic, topic_id), []).append(tp.partition)
    return [
        FetchRequest.ForgottenTopic(topic=name, topic_id=topic_id, partitions=parts)
        for (name, topic_id), parts in by_topic.items()
    ]
