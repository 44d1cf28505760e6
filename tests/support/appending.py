"""Appending to a broker's partition without a connection, as a producer or coordinator in the same process would."""

from __future__ import annotations

from tidelog.broker.replication.manager import ReplicaManager
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.log.append import AppendInfo, AppendOrigin


async def append(
    replicas: ReplicaManager,
    tp: TopicPartition,
    batches: bytes | bytearray,
    *,
    acks: int = -1,
    origin: AppendOrigin = AppendOrigin.COORDINATOR,
) -> AppendInfo:
    """Append, and wait until `acks` are satisfied. Raises KafkaError."""
    partition = replicas.leader_or_error(tp)
    if isinstance(partition, ErrorCode):
        raise KafkaError(partition)
    if acks == -1:
        partition.require_min_isr()
    info = partition.append_checked(partition.prepare(bytearray(batches), origin=origin).run, origin)
    await replicas.appends.written(partition, info)
    if acks == -1:
        code = (await replicas.appends.commit_codes({tp: (partition, info.last_offset + 1)}, 30_000))[tp]
        if code:
            raise KafkaError(code)
    return info
