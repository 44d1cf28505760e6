"""DescribeLogDirs (versions 0 to 5) and AlterReplicaLogDirs (0 to 2): which partition lies where, and moving it
(KIP-113).

Both are asked of the broker that has the directories. A move makes a second log in the other directory, which copies
the first while that serves on ("future"); when it has caught up the two are swapped. Until then DescribeLogDirs shows
both, and how far the copy is behind. Moves survive a restart: the copy is found in its directory, and goes on.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from tidelog.broker.handlers.cluster.services import ClusterServices
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.metadata.names import MAX_NAME_LENGTH
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

if TYPE_CHECKING:
    from tidelog.log.directory.log_dir import LogDir

Topic = DescribeLogDirsResponse.DescribeLogDirsTopic
Partition = DescribeLogDirsResponse.DescribeLogDirsPartition
Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult


def describe(
    services: ClusterServices, ctx: RequestContext, request: DescribeLogDirsRequest
) -> DescribeLogDirsResponse:
    """Every directory with its partitions, all or those asked for; null topics mean all.

    One that failed has KAFKA_STORAGE_ERROR and nothing else; the others are described as usual. A partition that is
    asked for and lies nowhere is left out: nobody could say in which directory it is missing.
    """
    wanted: set[TopicPartition] | None = None
    if request.topics is not None:
        wanted = {TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions}
    return DescribeLogDirsResponse(
        results=[_described(services, directory, wanted) for directory in services.log_manager.dirs]
    )


def _described(
    services: ClusterServices, directory: LogDir, wanted: Collection[TopicPartition] | None
) -> DescribeLogDirsResponse.DescribeLogDirsResult:
    """One directory. Sizes of its disk came with version 4 (KIP-827); who cannot be asked for them has failed.

    The lag of a future log is counted from the current log's end, that of a current one (a follower's) from its own
    high watermark.
    """
    result = DescribeLogDirsResponse.DescribeLogDirsResult(log_dir=str(directory.path.absolute()))
    if not directory.online:
        result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return result
    topics: dict[str, Topic] = {}
    manager = services.log_manager
    for logs, future in ((manager.logs, False), (manager.future, True)):
        for tp, log in logs.items():
            if log.dir.parent != directory.path or (wanted is not None and tp not in wanted):
                continue
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = Topic(name=tp.topic)
            current = manager.get(tp)
            behind = current.log_end_offset if future and current is not None else log.high_watermark
            topic.partitions.append(
                Partition(
                    partition_index=tp.partition,
                    partition_size=log.size,
                    offset_lag=max(behind - log.log_end_offset, 0),
                    is_future_key=future,
                )
            )
    result.topics = list(topics.values())
    try:
        result.total_bytes, result.usable_bytes = services.fs.disk_usage(directory.path)
    except OSError as error:
        services.log_manager.fail_dir(directory, error)
        return DescribeLogDirsResponse.DescribeLogDirsResult(
            log_dir=result.log_dir, error_code=ErrorCode.KAFKA_STORAGE_ERROR
        )
    result.is_cordoned = services.log_manager.is_cordoned(directory)
    return result


def alter(
    services: ClusterServices, ctx: RequestContext, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Begin the moves; answered at once, they take as long as they take. A directory where the partition lies already
    ends a move that is under way.
    """
    paths = {  # of a partition that is named twice the last directory counts
        TopicPartition(topic.name, index): wanted.path
        for wanted in request.dirs
        for topic in wanted.topics
        for index in topic.partitions
    }
    results: dict[str, Moved] = {}
    for tp, path in paths.items():
        result = results.setdefault(tp.topic, Moved(topic_name=tp.topic))
        result.partitions.append(
            AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult(
                partition_index=tp.partition, error_code=_move(services, tp, path)
            )
        )
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move(services: ClusterServices, tp: TopicPartition, path: str) -> ErrorCode:
    """Why a replica cannot be moved, or NONE when the move has begun. A partition that is not here is
    REPLICA_NOT_AVAILABLE: Kafka would remember the directory for the day when it comes. A cordoned directory takes no
    new partitions.
    """
    if len(tp.topic) > MAX_NAME_LENGTH:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    if not Path(path).is_absolute():
        return ErrorCode.LOG_DIR_NOT_FOUND
    directory = next((d for d in services.log_manager.dirs if d.path.absolute() == Path(path)), None)
    if directory is None:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if not directory.online:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if services.log_manager.is_cordoned(directory):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT
    partition = services.replicas.partition_or_error(tp)
    if isinstance(partition, ErrorCode):
        return ErrorCode.REPLICA_NOT_AVAILABLE if partition is ErrorCode.NOT_LEADER_OR_FOLLOWER else partition
    try:
        services.move_replica(partition, directory)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE
