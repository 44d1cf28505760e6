"""Leader-epoch validation (KIP-320): after a leader change, is what we have read still in the log?

An election that had to take a replica which was not in sync cuts records off that consumers may have read already. A
consumer that stands behind the cut would read on among other records, with offsets that mean something else now. So it
asks the new leader where the epoch of its last record ends. If that lies before its position, the logs part there:

    ours      0 ... 90 | epoch 5: 90 91 92 93 94 ▲ we stand at 95
    leader    0 ... 90 | epoch 5: 90 91 | epoch 6: 92' 93' ...      "epoch 5 ends at 92" < 95: go back to 92

It costs a question per leader change, not per fetch: a fetch names the leader epoch that it believes in, and a broker
that has another one refuses it (FENCED_LEADER_EPOCH). So whatever a broker has answered at an epoch is sound at it, and
only a position that came from elsewhere (a commit, or records of an older epoch) has to be compared.

With `auto.offset.reset=none` that is a `LogTruncationError`, which names the offset.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from tidelog.client.cluster.client import ClusterClient
from tidelog.client.cluster.metadata import ClusterMetadata
from tidelog.client.consumer.errors import LogTruncationError
from tidelog.client.consumer.reset import Reset
from tidelog.client.consumer.subscription import SubscriptionState, TopicPartitionState
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_EPOCH, TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import OffsetForLeaderEpochRequest

logger = logging.getLogger("tidelog.client.consumer")

#: Consumers may ask from this version on; before, only brokers.
_FIRST_FOR_CONSUMERS = 3


def needs_validation(metadata: ClusterMetadata, part: TopicPartitionState) -> bool:
    """Whether a leader of a later epoch than at the last comparison is known, and we know the epoch of our place."""
    if part.stand is None or part.stand[1] == NO_EPOCH or part.validated_epoch == _leader_epoch(metadata, part.tp):
        return False
    return _leader_epoch(metadata, part.tp) > part.validated_epoch


def _leader_epoch(metadata: ClusterMetadata, tp: TopicPartition) -> int:
    topic = metadata.topics.get(tp.topic)
    info = topic.partitions.get(tp.partition) if topic is not None else None
    return NO_EPOCH if info is None else info.leader_epoch


async def validate(
    cluster: ClusterClient, subscription: SubscriptionState, policy: Reset, problem: Callable[[Exception], None]
) -> None:
    """Compare every position that needs it with its leader's log.

    Nothing is fetched of these partitions meanwhile, so nobody else asks for their leaders: metadata that a failure has
    shown to be old (a leader of a still later epoch, or none) is asked for anew here, or it would stay old for ever.

    A partition without a leader, or whose leader cannot be reached, does not hold up the others: these are compared
    first, and what went wrong is raised at the end.
    """
    topics = {part.tp.topic for part in subscription.partitions.values() if needs_validation(cluster.metadata, part)}
    try:
        await cluster.ensure_topics(topics)
        by_leader: dict[int, list[TopicPartitionState]] = {}
        failed: list[KafkaError] = []
        for part in subscription.partitions.values():
            if needs_validation(cluster.metadata, part):
                try:
                    by_leader.setdefault(cluster.metadata.leader(part.tp).id, []).append(part)
                except KafkaError as error:
                    failed.append(error)
        for node_id, parts in by_leader.items():
            try:
                failed += await _ask(cluster, node_id, parts, policy, problem)
            except KafkaError as error:
                failed.append(error)
        if failed:
            raise failed[0]
    except KafkaError:
        cluster.metadata.mark_stale(topics)
        raise


async def _ask(
    cluster: ClusterClient,
    node_id: int,
    parts: list[TopicPartitionState],
    policy: Reset,
    problem: Callable[[Exception], None],
) -> list[KafkaError]:
    """Ask one leader; the errors that it has for some of them."""
    node = await cluster.node(node_id)
    stands = {part.tp: (part, part.stand, part.generation, _leader_epoch(cluster.metadata, part.tp)) for part in parts}
    served = node.versions.get(ApiKey.OFFSET_FOR_LEADER_EPOCH)
    if served is None or served.high < _FIRST_FOR_CONSUMERS:
        for part, _, _, epoch in stands.values():  # such a broker has nothing to say: Kafka's clients go on, too
            part.validated_epoch = epoch
        return []
    topics: dict[str, list[Any]] = {}
    for tp, (_, stand, _, epoch) in stands.items():
        assert stand is not None
        entry = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=tp.partition, current_leader_epoch=epoch, leader_epoch=stand[1]
        )
        topics.setdefault(tp.topic, []).append(entry)
    Topic = OffsetForLeaderEpochRequest.OffsetForLeaderTopic
    request = OffsetForLeaderEpochRequest(
        replica_id=-1, topics=[Topic(topic=name, partitions=entries) for name, entries in topics.items()]
    )
    response = await node.send(request)
    failed: list[KafkaError] = []
    for topic in response.topics:
        for answer in topic.partitions:
            part, stand, generation, epoch = stands[TopicPartition(topic.topic, answer.partition)]
            if answer.error_code:
                code = ErrorCode(answer.error_code)
                failed.append(KafkaError(code, f"OffsetForLeaderEpoch of {part.tp}: {code.text}"))
            elif part.generation == generation and stand is not None:
                _compare(part, stand[0], answer, epoch, policy, problem)
    return failed


def _compare(
    part: TopicPartitionState,
    position: int,
    answer: Any,
    epoch: int,
    policy: Reset,
    problem: Callable[[Exception], None],
) -> None:
    """The epoch of our last record ends at or behind our position, or the log was cut."""
    part.validated_epoch = epoch
    if answer.end_offset >= position:
        return
    error = LogTruncationError(part.tp, position, answer.end_offset)
    if policy.is_none:
        problem(error)
        part.validated_epoch = NO_EPOCH
        part.look_for(policy)
        return
    logger.warning("%s", error)
    if answer.end_offset < 0 or answer.leader_epoch == NO_EPOCH:
        part.look_for(policy)
    else:
        part.move(answer.end_offset, answer.leader_epoch)
    part.validated_epoch = epoch
