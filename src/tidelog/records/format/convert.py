"""Conversion between the three formats, batch by batch; `_convert.pyx` rewrites the records.

Down: for a consumer that asks with a Fetch version of before the batch's format. Headers, producer ids and control
batches do not exist there and are lost. Up: for readers of old segments that know magic 2 alone.

Offsets and timestamps are kept. What is old (or new) enough already is passed on as it is; neighbouring plain messages
are converted together.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import MAGIC_V1, MAGIC_V2, Codec, TimestampType
from tidelog.records.format.batch import RecordBatch, Source, codec_of
from tidelog.records.format.layout import MAGIC_OFFSET, RECORD_BATCH_OVERHEAD, entry_size
from tidelog.records.kernel._batches import BatchRun
from tidelog.records.kernel._convert import convert
from tidelog.records.kernel._messages import end_of, inner_base, plain_end, unwrap

EVERYTHING = -(2**63)


def down_convert(buffer: Source, to_magic: int, first_offset: int = 0, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The buffer's batches with at most magic `to_magic`. Plain messages below `first_offset` are left out; a packed
    batch is sent whole, and the client skips what it did not ask for."""
    return _converted(buffer, to_magic, (0, to_magic), first_offset, limit)


def up_convert(buffer: Source, to_magic: int = MAGIC_V2, *, limit: int = DEFAULT_LIMIT) -> bytes:
    """The buffer's entries with at least magic `to_magic`, as batches."""
    return _converted(buffer, to_magic, (to_magic, MAGIC_V2), EVERYTHING, limit)


def _converted(buffer: Source, to_magic: int, fine: tuple[int, int], first_offset: int, limit: int) -> bytes:
    """Runs of entries that are fine as they are become one piece of the result, uncopied until the end; runs of plain
    messages are converted by one call of the kernel; everything else goes entry by entry.
    """
    view = memoryview(buffer).cast("B")
    end = BatchRun(view).scan()
    parts: list[bytes | memoryview] = []
    position = 0
    while position < end:
        magic = view[position + MAGIC_OFFSET]
        if fine[0] <= magic <= fine[1]:
            stop = end_of(view[:end], position, *fine)
            parts.append(view[position:stop])
        elif magic < MAGIC_V2 and (stop := plain_end(view[:end], position)) > position:
            parts.append(convert(view[position:stop], magic, to_magic, keep_from=first_offset)[0])
        else:
            stop = position + entry_size(view, position)
            run = BatchRun(view[position:stop])
            run.scan()
            batch = RecordBatch(run, 0)
            if not (batch.is_control and magic == MAGIC_V2 and to_magic < MAGIC_V2):
                parts.append(_convert_batch(batch, to_magic, first_offset, limit))
        position = stop
    return b"".join(parts)


def _convert_batch(batch: RecordBatch, to_magic: int, first_offset: int, limit: int) -> bytes:
    """One batch, wrapper, or message with LogAppendTime.

    Unpacked, rewritten and packed again with the codec that it had. zstd cannot go down: readers of the old formats
    have never heard of it, and Kafka answers the same error.
    """
    header = batch.header
    codec = codec_of(header)
    if codec == Codec.ZSTD and to_magic < MAGIC_V2:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd batches cannot be sent as magic 0 or 1")
    broker_time = header.timestamp_type == TimestampType.LOG_APPEND_TIME
    base_offset = header.base_offset if header.magic == MAGIC_V2 else 0
    plain: bytes | memoryview
    if header.magic == MAGIC_V2:
        plain = batch.raw[RECORD_BATCH_OVERHEAD:]
        if codec != Codec.NONE:
            plain = decompress(codec, plain, limit=limit)
    elif codec != Codec.NONE:
        plain = unwrap(batch.raw, limit=limit)
        base_offset = inner_base(batch.raw, plain)
    else:
        plain = batch.raw
    return convert(
        plain,
        header.magic,
        to_magic,
        count=header.record_count,
        base_offset=base_offset,
        base_timestamp=header.base_timestamp,
        append_time=header.max_timestamp if broker_time else None,
        keep_from=first_offset if codec == Codec.NONE and to_magic <= MAGIC_V1 else EVERYTHING,
        codec=codec,
    )[0]
