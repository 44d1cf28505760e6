"""Splitting: what to do with a batch that is larger than its topic takes (MESSAGE_TOO_LARGE). No I/O.

`batch.size` is the producer's, `max.message.bytes` the topic's (or the broker's), and nobody tells a producer of the
latter before it sends. So a batch of many records that is refused for its size is cut in two, about equal in bytes, and
both halves leave in its place; one that is still too large is cut again. A record that is too large by itself fails,
and with it nothing else.

    refused   [ a b c d e f g h ]        sequences 10 to 17
    instead   [ a b c d ] [ e f g h ]    10 to 13, 14 to 17

The halves have the sequence numbers that the whole had, record by record: to the broker, which has written nothing of
it, they are the next in order, and those behind them stay what they are. If the whole was in doubt, so are they
(`of_doubt`): perhaps an earlier attempt was written after all, before somebody made the limit smaller. Then the broker
does not know them for copies, as it remembers whole batches; but their numbers do not follow what it has, and it
refuses them. So for them, and only for them, that refusal does not say that they are not there (see `recovery`).

Java's producer does the same, with one attempt more: it first cuts by `batch.size`, which cures batches that were
compressed less well than expected. Ours count their records before compression and are never larger than that.

The records are decoded and encoded again, one by one. That is slow, but nobody has to live with it: a warning says,
once for each topic, which setting to change.
"""

from __future__ import annotations

from tidelog.client.producer._batch import ProducerBatch
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.records.format.attributes import Codec
from tidelog.records.format.batch import iter_batches
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._record import Record


def is_curable(batch: ProducerBatch, error: KafkaError) -> bool:
    """Whether the batch was refused for its size, and smaller ones with its records may be written instead."""
    return error.code is ErrorCode.MESSAGE_TOO_LARGE and batch.count > 1 and not batch.done


def split(batch: ProducerBatch) -> list[ProducerBatch]:
    """Two batches in place of one, in order; what waits for the one waits for them from now on."""
    (sent,) = iter_batches(bytes(batch))
    records = sent.records()
    middle = _middle([_size(record) for record in records])
    codec = Codec(batch.codec)
    return batch.split([_encoded(half, codec, batch.level) for half in (records[:middle], records[middle:])])


def _middle(sizes: list[int]) -> int:
    """After how many about half of the bytes are reached; at least one is on either side."""
    half, reached = sum(sizes) / 2, 0
    for index, size in enumerate(sizes[:-1]):
        # The record that crosses the middle goes to where it makes the larger half smaller.
        if reached + size / 2 > half:
            return max(index, 1)
        reached += size
    return len(sizes) - 1


def _size(record: Record) -> int:
    """About what it takes in a batch."""
    headers = sum(len(name) + len(value or b"") + 2 for name, value in record.headers)
    return 8 + len(record.key or b"") + len(record.value or b"") + headers


def _encoded(records: list[Record], codec: Codec, level: int | None) -> bytearray:
    builder = BatchBuilder(codec=codec, level=level)
    for record in records:
        builder.append(record.timestamp, record.key, record.value, record.headers)
    return bytearray(builder.build())
