"""Kafka's words for what a log refuses."""

from __future__ import annotations

from tidelog.common.errors import ErrorCode
from tidelog.common.types import TopicPartition
from tidelog.log.config import LogConfig
from tidelog.log.partition.refusals import out_of_range, start_past_the_high_watermark, too_large

TP = TopicPartition("t", 1)


def test_the_topics_limit_and_the_segments_are_told_apart() -> None:
    config = LogConfig.from_topic({"max.message.bytes": "2000000", "segment.bytes": "1048576"})
    assert too_large(TP, config, 2_000_001).code is ErrorCode.MESSAGE_TOO_LARGE
    assert too_large(TP, config, 2_000_000).code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert "maximum configured value of 2000000" in too_large(TP, config, 2_000_001).message


def test_offsets_that_are_not_there() -> None:
    assert "segments from offset 5 up to 9" in out_of_range(TP, 4, 5, 9).message
    assert "larger than the high watermark 7" in start_past_the_high_watermark(TP, 8, 7).message
    assert out_of_range(TP, 4, 5, 9).code is start_past_the_high_watermark(TP, 8, 7).code
