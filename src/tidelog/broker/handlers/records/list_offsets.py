"""ListOffsets, versions 0 to 11: offsets by timestamp, and by the names of special places.

    -1 latest   -2 earliest   -3 largest timestamp   -4 earliest local   -5 last tiered   -6 earliest pending upload

A real time is answered with the first record that is not older, and -1 if there is none. What a consumer may not read
yet does not count: "latest" is its high watermark, or with read_committed the last stable offset. A new leader does not
know how far the old one's high watermark was until its followers have fetched: it is OFFSET_NOT_AVAILABLE until then
(LEADER_NOT_AVAILABLE before version 5), as an answer might lie behind what the client has seen already (KIP-207).

Real times (and -3) are looked up on a thread: that may open the indexes of every segment and unpack a batch. Nothing is
tiered here, so that -5 and -6 have no answer and -4 is the same as -2.

Version 0 is a question about segments: their first offsets, newest first, up to a number that the client names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine
from functools import partial
from typing import Any

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.replication.partition import Partition
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NO_EPOCH,
    NO_OFFSET,
    NO_TIMESTAMP,
    TopicPartition,
)
from tidelog.log.append import TimestampOffset
from tidelog.protocol.messages import ListOffsetsRequest, ListOffsetsResponse
from tidelog.records.format.attributes import MAGIC_V0

TopicAnswer = ListOffsetsResponse.ListOffsetsTopicResponse
Answer = ListOffsetsResponse.ListOffsetsPartitionResponse
Asked = ListOffsetsRequest.ListOffsetsPartition

#: The version that brought each special timestamp.
SINCE = {
    EARLIEST_TIMESTAMP: 0,
    LATEST_TIMESTAMP: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
CONSUMER = -1
READ_COMMITTED = 1
LEADER_EPOCH_SINCE = 4
OFFSET_NOT_AVAILABLE_SINCE = 5
NOTHING = TimestampOffset(NO_TIMESTAMP, NO_OFFSET, NO_EPOCH)


class Lookup(NamedTuple):
    """A question that the log's files have to answer, and the answer that waits for it."""

    answer: Answer
    partition: Partition
    timestamp: int
    end: int
    """What lies at this offset or above is not told."""

    def find(self) -> TimestampOffset:
        """On a thread. What is found at or above `end` is not committed yet, or not stable: for the client it is not
        there.
        """
        log = self.partition.log
        latest = self.timestamp == MAX_TIMESTAMP
        found = log.max_timestamp_offset() if latest else log.offset_for_timestamp(self.timestamp)
        return found if found is not None and found.offset < self.end else NOTHING


def handle(
    services: RecordServices, ctx: RequestContext, request: ListOffsetsRequest
) -> ListOffsetsResponse | Coroutine[Any, Any, ListOffsetsResponse]:
    """Answer at once what memory knows; what the files have to tell is looked up in one go on a thread.

    A partition that is named twice is INVALID_REQUEST and answered once; version 0 repeats the request's shape and
    minds nothing. A special timestamp that is younger than the request's version is UNSUPPORTED_VERSION, partition by
    partition.
    """
    if not 0 <= request.isolation_level <= READ_COMMITTED:
        return _refused(request)
    twice = _named_twice(request)
    lookups: list[Lookup] = []
    if ctx.header.api_version == 0:  # mirrors the request; later versions name each partition once
        return ListOffsetsResponse(
            topics=[
                TopicAnswer(
                    name=topic.name,
                    partitions=[
                        _answer(services, ctx, request, topic.name, asked, twice, lookups) for asked in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )
    answers: dict[str, dict[int, Answer]] = {}
    for topic in request.topics:
        for asked in topic.partitions:
            answer = _answer(services, ctx, request, topic.name, asked, twice, lookups)
            answers.setdefault(topic.name, {})[asked.partition_index] = answer
    topics = [TopicAnswer(name=name, partitions=list(found.values())) for name, found in answers.items()]
    response = ListOffsetsResponse(topics=topics)
    return _look_up(services, ctx, response, lookups) if lookups else response


async def _look_up(
    services: RecordServices, ctx: RequestContext, response: ListOffsetsResponse, lookups: list[Lookup]
) -> ListOffsetsResponse:
    """Fill in the answers that were left open."""
    for lookup, found in zip(lookups, await services.workers.run(partial(_find, lookups)), strict=True):
        if isinstance(found, KafkaError):
            _refuse(lookup.answer, found, ctx.header.api_version)
        else:
            _tell(lookup.answer, found, ctx.header.api_version)
    return response


def _find(lookups: list[Lookup]) -> list[TimestampOffset | KafkaError]:
    """All look-ups of a request, on a thread; each succeeds or fails by itself."""
    results: list[TimestampOffset | KafkaError] = []
    for lookup in lookups:
        try:
            results.append(lookup.find())
        except KafkaError as error:
            results.append(error)
    return results


def _refused(request: ListOffsetsRequest) -> ListOffsetsResponse:
    """What Apache Kafka answers to a request that it cannot make sense of: an isolation level that nobody knows fails
    in its code, and each partition gets the code of a failure.
    """
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    topics = [
        TopicAnswer(
            name=topic.name,
            partitions=[
                Answer(partition_index=asked.partition_index, error_code=code, old_style_offsets=[])
                for asked in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return ListOffsetsResponse(topics=topics)


def _named_twice(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    """Partitions that occur more than once, by (topic, number)."""
    counts = Counter((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    return {key for key, count in counts.items() if count > 1}


def _answer(
    services: RecordServices,
    ctx: RequestContext,
    request: ListOffsetsRequest,
    topic: str,
    asked: Asked,
    twice: set[tuple[str, int]],
    lookups: list[Lookup],
) -> Answer:
    """The answer for one partition, or an empty one and a look-up that will fill it.

    Checked in Kafka's order: named twice, a timestamp that is too new for the version, who leads (in the epoch that the
    client believes in, from version 4 on). The largest time of the active segment is made known here (`know_times`):
    after that a thread may look at the segments.
    """
    answer = Answer(partition_index=asked.partition_index, old_style_offsets=[])
    version = ctx.header.api_version
    tp = TopicPartition(topic, asked.partition_index)
    if version > 0 and tp in twice:
        answer.error_code = ErrorCode.INVALID_REQUEST
        return answer
    if asked.timestamp < 0 and version < SINCE.get(asked.timestamp, 32767):
        answer.error_code = ErrorCode.UNSUPPORTED_VERSION
        return answer
    partition = services.replicas.leader_or_error(tp, asked.current_leader_epoch)
    if isinstance(partition, ErrorCode):
        answer.error_code = partition
        return answer
    try:
        if version == 0:
            answer.old_style_offsets = _segment_starts(partition, asked, request.replica_id)
        else:
            found = offset_for(partition, asked.timestamp, request.replica_id, request.isolation_level)
            if isinstance(found, int):
                partition.log.know_times()
                lookups.append(Lookup(answer, partition, asked.timestamp, found))
            else:
                _tell(answer, found, version)
    except KafkaError as error:
        _refuse(answer, error, version)
    return answer


def _tell(answer: Answer, found: TimestampOffset, version: int) -> None:
    """Before version 4 there was no room for the epoch."""
    answer.timestamp, answer.offset = found.timestamp, found.offset
    if version >= LEADER_EPOCH_SINCE:
        answer.leader_epoch = found.leader_epoch


def _refuse(answer: Answer, error: KafkaError, version: int) -> None:
    """A code that the client's version did not know yet is told as the nearest that it did."""
    late = error.code == ErrorCode.OFFSET_NOT_AVAILABLE and version < OFFSET_NOT_AVAILABLE_SINCE
    answer.error_code = ErrorCode.LEADER_NOT_AVAILABLE if late else error.code


def offset_for(partition: Partition, timestamp: int, replica_id: int, isolation_level: int) -> TimestampOffset | int:
    """The offset that a special timestamp stands for; of a real one, the offset that the answer may not reach.

    "Earliest" is the log's start, with the epoch of the record there if it is known. A follower (replica id 0 or above)
    is told of everything up to the log's end; what a consumer may know of is described above. A log of magic 0 has no
    timestamps, and refuses real ones: UNSUPPORTED_FOR_MESSAGE_FORMAT.
    """
    log = partition.log
    epochs = log.leader_epochs
    if timestamp in (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP):
        earliest = epochs.earliest
        known = earliest is not None and earliest.start_offset <= log.log_start_offset
        epoch = earliest.epoch if known and earliest is not None else NO_EPOCH
        return TimestampOffset(NO_TIMESTAMP, log.log_start_offset, epoch)
    if timestamp in (LATEST_TIERED_TIMESTAMP, EARLIEST_PENDING_UPLOAD_TIMESTAMP):
        return NOTHING
    end = log.log_end_offset
    if replica_id == CONSUMER:
        end = log.last_stable_offset if isolation_level == READ_COMMITTED else log.high_watermark
        if log.high_watermark < partition.leader_epoch_start:
            raise KafkaError(
                ErrorCode.OFFSET_NOT_AVAILABLE,
                f"Failed to fetch offsets for partition {partition.tp}: the high watermark {log.high_watermark} has "
                f"not reached the start of the leader's epoch {partition.leader_epoch_start}",
            )
    if timestamp == LATEST_TIMESTAMP:
        return TimestampOffset(NO_TIMESTAMP, end, partition.leader_epoch)
    if log.config.record_magic == MAGIC_V0:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            f"Cannot search offsets based on timestamp because the message format of partition {partition.tp} has none",
        )
    return end


class _Start(NamedTuple):
    offset: int
    modified_ms: int


def _segment_starts(partition: Partition, asked: Asked, replica_id: int) -> list[int]:
    """Version 0: first offsets of the segments that were last written before the timestamp, newest first.

    The question of Kafka 0.8, when there were no time indexes. The log's end counts as the start of a segment that is
    yet to come, with the present as its time; "latest" (-1) takes all starts, "earliest" (-2) the oldest alone. A
    consumer is told nothing above the high watermark, which stands in for whatever lies there.
    """
    log = partition.log
    named = asked.timestamp in (LATEST_TIMESTAMP, EARLIEST_TIMESTAMP)
    starts = [_Start(segment.base_offset, 0 if named else segment.mtime_ms) for segment in log.segments]
    if log.active_segment.size > 0:
        starts.append(_Start(log.log_end_offset, log.home.clock.time_ms()))
    if starts:
        starts[0] = _Start(max(log.log_start_offset, starts[0].offset), starts[0].modified_ms)
    if asked.timestamp == LATEST_TIMESTAMP:
        count = len(starts)
    elif asked.timestamp == EARLIEST_TIMESTAMP:
        count = 1
    else:
        count = max((n for n, start in enumerate(starts, 1) if start.modified_ms <= asked.timestamp), default=0)
    offsets = sorted((start.offset for start in starts[:count]), reverse=True)[: max(0, asked.max_num_offsets)]
    hw = log.high_watermark
    if replica_id == CONSUMER and any(offset > hw for offset in offsets):
        offsets = [hw, *(offset for offset in offsets if offset <= hw and offset != hw)]
    return offsets
