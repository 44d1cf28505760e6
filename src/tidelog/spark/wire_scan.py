"""A task of wire mode: fetch one range of offsets and yield it as Arrow batches.

While Spark takes one batch, the next is being decoded and the one after it is on its way. The range ends by offset, not
by count: offsets that compaction removed, transaction markers and aborted records leave gaps.

The range was planned for a topic with a certain id. If that topic was deleted since, and another one has its name, its
records are not what was asked for, however well their offsets fit: the id travels with the task, and the fetcher
compares it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.client.blocking import BlockingClient
from tidelog.client.consumer.arrow_fetcher import ArrowBatch, ArrowFetcher
from tidelog.client.consumer.fetcher import Fetcher, FetchRange, OffsetOutOfRangeError, TopicRecreatedError
from tidelog.client.offsets import beginning_offsets, end_offsets
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.spark.boundaries import DataLossError
from tidelog.spark.offsets import OffsetRange
from tidelog.spark.options import SourceOptions
from tidelog.spark.schema import RowAssembler

if TYPE_CHECKING:
    import pyarrow as pa

#: When nothing has come for so many seconds, it is time to ask whether anything can come.
_LOOK_AFTER = 2.0
_GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def scan(
    options: SourceOptions, part: OffsetRange, columns: tuple[str, ...], *, topic_id: bytes | None = None
) -> Iterator[pa.RecordBatch]:
    """The records of the range, in order; of the topic that has this id, if it has one."""
    tp = TopicPartition(part.topic, part.partition)
    rows = RowAssembler(part.topic, part.partition, columns)
    with BlockingClient(options.kafka) as client:
        fetcher = Fetcher(client.cluster, {tp: FetchRange(part.start, part.end, topic_id)})
        reader = ArrowFetcher(fetcher, columns=rows.decoded)
        try:
            for piece in _pieces(options, part, reader, client):
                if piece.batch.num_rows:
                    yield rows.assemble(piece.batch)
        finally:
            client.run(reader.close())


def _pieces(
    options: SourceOptions, part: OffsetRange, reader: ArrowFetcher, client: BlockingClient
) -> Iterator[ArrowBatch]:
    """What comes, until the range is done. A pause is no failure: the leader may move, the broker may be slow. But a
    range whose end does not exist would never be done: after a few seconds of nothing it is asked whether the log still
    reaches it, and after `kafkaConsumer.pollTimeoutMs` the task fails, for Spark to try again.
    """
    tp = TopicPartition(part.topic, part.partition)
    fetcher, clock = reader.fetcher, client.cluster.clock
    timeout = options.poll_timeout_ms / 1000
    heard = clock.monotonic()
    while not reader.done:
        try:
            batches, over = _next(options, part, reader, client, min(timeout, _LOOK_AFTER))
        except KafkaError as error:
            if error.code not in _GONE:
                raise
            if options.fail_on_data_loss:
                raise DataLossError(f"{tp} was deleted since the query was planned.") from error
            batches, over = [], True
        if batches:
            heard = clock.monotonic()
            yield from batches
        elif over:
            fetcher.seek(tp, part.end)
        elif not reader.done and clock.monotonic() - heard >= timeout:
            position = fetcher.ranges[tp].position
            text = f"nothing of {tp} came within {timeout:g} s: at offset {position}, to read up to {part.end}"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text)


def _next(
    options: SourceOptions, part: OffsetRange, reader: ArrowFetcher, client: BlockingClient, timeout: float
) -> tuple[list[ArrowBatch], bool]:
    """What comes within that time, and whether nothing more can come."""
    try:
        batches = client.run(reader.poll(timeout))
    except OffsetOutOfRangeError as error:
        _skip_lost(options, part, reader.fetcher, error, client)
        return [], False
    return batches, not batches and not reader.done and _is_over(options, part, client)


def _is_over(options: SourceOptions, part: OffsetRange, client: BlockingClient) -> bool:
    """Whether the log ends before the range does: there is nothing to wait for."""
    tp = TopicPartition(part.topic, part.partition)
    end = client.run(end_offsets(client.cluster, [tp]))[tp]
    if end >= part.end:
        return False
    if options.fail_on_data_loss:
        raise DataLossError(f"{tp} ends at offset {end}, not at {part.end}.")
    return True


def _skip_lost(
    options: SourceOptions, part: OffsetRange, fetcher: Fetcher, error: OffsetOutOfRangeError, client: BlockingClient
) -> None:
    """Go on behind what was deleted; without failOnDataLoss=false that is an error. Another topic is never read."""
    tp = error.topic_partition
    if isinstance(error, TopicRecreatedError):
        if options.fail_on_data_loss:
            raise DataLossError(f"{tp} was deleted and made anew since the query was planned.") from error
        fetcher.seek(tp, part.end)
        return
    start = client.run(beginning_offsets(client.cluster, [tp]))[tp]
    if options.fail_on_data_loss:
        raise DataLossError(f"Offset {error.offset} of {tp} is out of range: the log now starts at {start}.") from error
    fetcher.seek(tp, start if error.offset < start else part.end, fetcher.ranges[tp].topic_id)
