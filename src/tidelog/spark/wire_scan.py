"""A task of wire mode: fetch one range of offsets and yield it as Arrow batches.

While Spark takes one batch, the next is being decoded and the one after it is on its way. The range ends by offset, not
by count: offsets that compaction removed, transaction markers and aborted records leave gaps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidelog.client.blocking import Driver
from tidelog.client.consumer.arrow_fetcher import ArrowFetcher
from tidelog.client.consumer.fetcher import Fetcher, FetchRange, OffsetOutOfRangeError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.spark.boundaries import DataLossError
from tidelog.spark.offsets import OffsetRange
from tidelog.spark.options import SourceOptions
from tidelog.spark.schema import RowAssembler

if TYPE_CHECKING:
    import pyarrow as pa


def scan(options: SourceOptions, part: OffsetRange, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The records of the range, in order."""
    tp = TopicPartition(part.topic, part.partition)
    rows = RowAssembler(part.topic, part.partition, columns)
    timeout = options.poll_timeout_ms / 1000
    with Driver(options.kafka) as driver:
        fetcher = Fetcher(driver.cluster, {tp: FetchRange(part.start, part.end)})
        reader = ArrowFetcher(fetcher, columns=rows.decoded)
        try:
            while not reader.done:
                try:
                    batches = driver.run(reader.poll(timeout))
                except OffsetOutOfRangeError as error:
                    _skip_lost(options, part, fetcher, error, driver)
                    continue
                if not batches and not reader.done:
                    position = fetcher.ranges[tp].position
                    text = f"nothing of {tp} came within {timeout:g} s: at offset {position}, to read up to {part.end}"
                    raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, text)
                for piece in batches:
                    if piece.batch.num_rows:
                        yield rows.assemble(piece.batch)
        finally:
            driver.run(reader.close())


def _skip_lost(
    options: SourceOptions, part: OffsetRange, fetcher: Fetcher, error: OffsetOutOfRangeError, driver: Driver
) -> None:
    """Go on behind what was deleted; without failOnDataLoss=false that is an error."""
    from tidelog.client.offsets import beginning_offsets

    tp = error.topic_partition
    start = driver.run(beginning_offsets(driver.cluster, [tp]))[tp]
    if options.fail_on_data_loss:
        raise DataLossError(f"Offset {error.offset} of {tp} is out of range: the log now starts at {start}.") from error
    fetcher.seek(tp, start if error.offset < start else part.end)
