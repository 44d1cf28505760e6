"""OffsetForLeaderEpoch, versions 0 to 4 (KIP-101, KIP-320): where an epoch ends in the leader's log.

A consumer or follower that was cut off asks with the epoch of its last record, and finds out from where on its own
history differs from the leader's. The answer is the largest epoch here that is not above the one asked for, and the
offset at which the next one began: a follower cuts its log there. An epoch before the oldest here ends where that
begins; one after the newest is answered with -1, as this leader cannot know it.

    leader      epoch 3 from 0, epoch 5 from 70, log ends at 100
    asked 3     → epoch 3, ends at 70
    asked 4     → epoch 3, ends at 70: whatever was written in epoch 4 is not in this log
    asked 5     → epoch 5, ends at 100
    asked 6     → epoch -1, ends at -1
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import OffsetForLeaderEpochRequest, OffsetForLeaderEpochResponse

TopicAnswer = OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
Answer = OffsetForLeaderEpochResponse.EpochEndOffset
Asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition


def handle(
    services: RecordServices, ctx: RequestContext, request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            TopicAnswer(
                topic=topic.topic, partitions=[_answer(services, topic.topic, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _answer(services: RecordServices, topic: str, asked: Asked) -> Answer:
    tp = TopicPartition(topic, asked.partition)
    partition = services.replicas.leader_or_error(tp, asked.current_leader_epoch)
    if isinstance(partition, ErrorCode):
        return Answer(partition=asked.partition, error_code=partition)
    epoch, end = partition.log.end_offset_for_epoch(asked.leader_epoch)
    return Answer(partition=asked.partition, leader_epoch=epoch, end_offset=end)
