"""What a topic's config asks of records, and what no producer may send."""

from __future__ import annotations

import pytest

from tidelog.broker.replication.produce_rules import largest_batch, produce_rules, refuse_base_offset
from tidelog.common.errors import InvalidRecordError
from tidelog.log.config import LogConfig
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.builder import BatchBuilder
from tidelog.records.kernel._batches import BatchRun


def one_batch(size: int, base_offset: int = 0) -> bytearray:
    builder = BatchBuilder()
    builder.append(0, None, b"v" * size)
    data = bytearray(builder.build())
    data[:8] = base_offset.to_bytes(8, "big")
    return data


@pytest.mark.parametrize(
    ("name", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", Codec.NONE, None),
        ("gzip", Codec.GZIP, 3),
        ("snappy", Codec.SNAPPY, None),
    ],
)
def test_compression_as_the_topic_says(name: str, codec: Codec | None, level: int | None) -> None:
    rules = produce_rules(LogConfig.from_topic({"compression.type": name, "compression.gzip.level": "3"}))
    assert (rules.codec, rules.level) == (codec, level)


def test_times_and_keys_as_the_topic_says() -> None:
    rules = produce_rules(
        LogConfig.from_topic({"message.timestamp.type": "LogAppendTime", "cleanup.policy": "compact"})
    )
    assert (rules.timestamp_type, rules.compacted) == (TimestampType.LOG_APPEND_TIME, True)


@pytest.mark.parametrize("as_run", [True, False])
def test_offsets_are_the_logs_to_give(as_run: bool) -> None:
    for offset in (0, 7):
        data = one_batch(10, offset)
        records: BatchRun | bytearray = data
        if as_run:
            records = BatchRun(data)
            records.scan()
        if offset:
            with pytest.raises(InvalidRecordError, match="should be 0, but it is 7"):
                refuse_base_offset(records)
        else:
            refuse_base_offset(records)


def test_the_first_batch_that_is_too_large_is_found_without_unpacking() -> None:
    small, large = one_batch(10), one_batch(500)
    assert largest_batch(small + large, len(small)) == len(large)
    assert largest_batch(small + large, len(large)) == 0
    assert largest_batch(small + large[:11], len(small)) == 0
