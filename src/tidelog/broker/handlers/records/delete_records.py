"""DeleteRecords, versions 0 to 2: move partitions' log start offsets up; answered when all replicas have followed."""

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
