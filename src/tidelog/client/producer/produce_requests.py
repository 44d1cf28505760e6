"""Produce requests and what their answers say of each batch. No I/O.

A request holds one batch of a partition at most, of as many partitions as fit. From version 9 on the form is compact,
from 12 on a Produce joins its partition to the transaction by itself (KIP-890), from 13 on topics go by their ids; a
broker that does not know a topic's id refuses it, so ids are used only where metadata has them, and names otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tidelog.client.producer._batch import ProducerBatch
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.protocol.headers import Apart
from tidelog.protocol.messages import ProduceRequest

#: From the next version on, a Produce joins its partition to the transaction by itself.
LAST_EXPLICIT = 11
#: From the next version on, topics go by their ids.
LAST_BY_NAME = 12


class Written(NamedTuple):
    """Where a batch was written; -1 where the broker does not say."""

    offset: int
    log_append_time: int


def produce_request(
    batches: Iterable[ProducerBatch], *, transactional_id: str | None, acks: int, timeout_ms: int
) -> ProduceRequest:
    """Large batches are not copied into the request (`Apart`): they are sent from where the records were appended."""
    topics: dict[str, list[ProduceRequest.PartitionProduceData]] = {}
    for batch in batches:
        topic, number = batch.topic_partition
        part = ProduceRequest.PartitionProduceData(index=number, records=Apart(memoryview(batch)))
        topics.setdefault(topic, []).append(part)
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[ProduceRequest.TopicProduceData(name=name, partition_data=parts) for name, parts in topics.items()],
    )


def outcomes(batches: Iterable[ProducerBatch], response: Any) -> Iterator[tuple[ProducerBatch, Written | KafkaError]]:
    """What the answer says of each batch; one that it leaves out has met an error that nobody expects."""
    entries = {(topic.name, entry.index): entry for topic in response.responses for entry in topic.partition_responses}
    for batch in batches:
        tp = batch.topic_partition
        entry = entries.get((tp.topic, tp.partition))
        if entry is None:
            text = f"the answer to a Produce says nothing of {tp}"
            yield batch, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
        elif entry.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            yield batch, Written(-1, -1)
        elif entry.error_code:
            yield batch, _error(batch, entry)
        else:
            yield batch, Written(entry.base_offset, entry.log_append_time_ms)


def _error(batch: ProducerBatch, entry: Any) -> KafkaError:
    """In the broker's words if it has some, with the records that it blames (KIP-467)."""
    code = ErrorCode(entry.error_code)
    blamed = [f"record {bad.batch_index}: {bad.batch_index_error_message}" for bad in entry.record_errors or ()]
    text = entry.error_message or f"writing to {batch.topic_partition}: {code.text}"
    if code is ErrorCode.MESSAGE_TOO_LARGE:
        text = f"{text} {_advice(batch)}"
    return KafkaError(code, f"{text} ({'; '.join(blamed[:3])})" if blamed else text)


def _advice(batch: ProducerBatch) -> str:
    """What helps against a batch that is too large. The limit is the topic's, which a producer is not told: only how
    large the batch was. One of many records can be made smaller here, a single record cannot.
    """
    topic, size = batch.topic_partition.topic, len(batch)
    if batch.count == 1:
        return (
            f"(1 record, {size} bytes as sent: set max.message.bytes of topic {topic} higher, or send less at a time)"
        )
    return (
        f"({batch.count} records, {size} bytes as sent: set batch.size lower, or max.message.bytes of {topic} higher)"
    )
