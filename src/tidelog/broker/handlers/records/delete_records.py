"""DeleteRecords, versions 0 to 2 (KIP-107): move partitions' log start offsets up; answered when all replicas have
followed.

Nothing is cut inside a segment: the leader notes the new start, no reader gets below it any more, and segments that lie
wholly below are deleted in passing. Followers learn the start with their next fetch. The answer's low watermark is the
smallest start of all replicas; it waits until that has come up to the offset asked for, or is REQUEST_TIMED_OUT: the
records are gone from the leader all the same. -1 stands for the high watermark, and more than that is
OFFSET_OUT_OF_RANGE. Topics that are only compacted refuse (POLICY_VIOLATION), internal ones too
(INVALID_TOPIC_EXCEPTION): their readers rely on finding every key.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.replication.partition import Partition
from tidelog.broker.replication.waiting import WaitFor
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import INTERNAL_TOPICS, NO_OFFSET, TopicPartition
from tidelog.protocol.messages import DeleteRecordsRequest, DeleteRecordsResponse

TopicAnswer = DeleteRecordsResponse.DeleteRecordsTopicResult
Answer = DeleteRecordsResponse.DeleteRecordsPartitionResult
Waiting = dict[TopicPartition, tuple[Partition, int, Answer]]


async def handle(services: RecordServices, ctx: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    """Begin everywhere, then wait once for all partitions that have followers."""
    waiting: Waiting = {}
    offsets = {  # of a partition that is named twice the last offset counts
        TopicPartition(topic.name, asked.partition_index): asked.offset
        for topic in request.topics
        for asked in topic.partitions
    }
    topics: dict[str, TopicAnswer] = {}
    for tp, offset in offsets.items():
        answers = topics.setdefault(tp.topic, TopicAnswer(name=tp.topic, partitions=[])).partitions
        answers.append(_delete(services, tp, offset, waiting))
    response = DeleteRecordsResponse(topics=list(topics.values()))
    if waiting:
        operation = WaitFor(lambda: _settle(waiting))
        if not services.purgatories.delete_records.try_or_watch(operation, list(waiting), request.timeout_ms):
            await operation.done
        for _, _, answer in waiting.values():
            answer.error_code = ErrorCode.REQUEST_TIMED_OUT
    return response


def _delete(services: RecordServices, tp: TopicPartition, offset: int, waiting: Waiting) -> Answer:
    """One partition; what its followers have yet to do is noted in `waiting`."""
    answer = Answer(partition_index=tp.partition, low_watermark=NO_OFFSET)
    try:
        if tp.topic in INTERNAL_TOPICS:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Cannot delete records of internal topic {tp.topic}")
        partition = services.replicas.leader_or_error(tp)
        if isinstance(partition, ErrorCode):
            raise KafkaError(partition)
        answer.low_watermark = partition.delete_records(offset)
        wanted = partition.log.log_start_offset if offset == -1 else offset
        if answer.low_watermark < wanted:
            waiting[tp] = (partition, wanted, answer)
    except KafkaError as error:
        answer.error_code = error.code
    return answer


def _settle(waiting: Waiting) -> bool:
    """Take out the partitions that are done; whether none is left."""
    for tp, (partition, wanted, answer) in list(waiting.items()):
        if not partition.is_leader:
            answer.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
            del waiting[tp]
        elif (low := partition.low_watermark()) >= wanted:
            answer.low_watermark = low
            del waiting[tp]
    return not waiting
