"""Options: names and rules of Spark's Kafka source, and messages that say what to do."""

from __future__ import annotations

import pytest

from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition as TP
from tidelog.spark.options import Boundary, SourceOptions, schema_options, sink_options, source_options
from tidelog.spark.schema import ddl

BASE = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "a, b,a"}


def source(streaming: bool = False, **options: str) -> SourceOptions:
    return source_options({**BASE, **options}, streaming=streaming)


def test_defaults_are_sparks() -> None:
    batch, stream = source(), source(streaming=True)
    assert batch.subscribe == ("a", "b")
    assert (batch.starting, batch.ending) == (Boundary(offset=-2), Boundary(offset=-1))
    assert stream.starting == Boundary(offset=-1)
    assert batch.fail_on_data_loss
    assert not batch.include_headers
    assert batch.max_trigger_delay_ms == 900_000
    assert batch.poll_timeout_ms == 120_000
    assert batch.mode == "wire"


def test_names_are_found_in_any_case_and_kafka_settings_pass_through() -> None:
    options = {"KAFKA.Bootstrap.Servers": "h:1", "SubscribePattern": "t.*", "kafka.isolation.level": "read_committed"}
    parsed = source_options(options, streaming=True)
    assert parsed.pattern == "t.*"
    assert parsed.kafka == {"bootstrap.servers": "h:1", "isolation.level": "read_committed"}
    assert parsed.read_committed


def test_a_timestamp_goes_before_offsets_by_timestamp_and_those_before_offsets() -> None:
    per_partition = '{"a":{"0":1000}}'
    everything = {"startingTimestamp": "5", "startingOffsetsByTimestamp": per_partition, "startingOffsets": "earliest"}
    assert source(**everything).starting == Boundary(timestamp=5)
    del everything["startingTimestamp"]
    assert source(**everything).starting == Boundary(timestamps={TP("a", 0): 1000})
    del everything["startingOffsetsByTimestamp"]
    assert source(**everything).starting == Boundary(offset=-2)
    assert source(startingOffsets='{"a":{"0":-2,"1":7}}').starting == Boundary(offsets={TP("a", 0): -2, TP("a", 1): 7})


@pytest.mark.parametrize(
    ("options", "streaming", "reason"),
    [
        ({"subscribe": "a"}, False, "kafka.bootstrap.servers"),
        ({"kafka.bootstrap.servers": "h:1"}, False, "One of the following options must be specified"),
        ({**BASE, "assign": '{"a":[0]}'}, False, "Only one of the following options"),
        ({**BASE, "subscribe": " , "}, False, "No topics to subscribe to"),
        ({**BASE, "startingOffsets": "latest"}, False, "starting offset can't be latest for batch queries"),
        ({**BASE, "startingOffsets": '{"a":{"0":-1}}'}, False, "can't be latest"),
        ({**BASE, "endingOffsets": "earliest"}, False, "ending offset can't be earliest"),
        ({**BASE, "endingOffsets": '{"a":{"0":-2}}'}, False, "can't be earliest"),
        ({**BASE, "endingOffsets": "latest"}, True, "not valid in streaming queries"),
        ({**BASE, "endingOffsetsByTimestamp": "{}"}, True, "not valid in streaming queries"),
        ({**BASE, "minPartitions": "0"}, False, "minPartitions must be a whole number of at least 1"),
        ({**BASE, "maxOffsetsPerTrigger": "many"}, True, "maxOffsetsPerTrigger"),
        ({**BASE, "failOnDataLoss": "maybe"}, False, "failOnDataLoss must be true or false"),
        ({**BASE, "maxTriggerDelay": "soon"}, True, "duration"),
        ({**BASE, "kafka.auto.offset.reset": "earliest"}, False, "use startingOffsets instead"),
        ({**BASE, "kafka.enable.auto.commit": "true"}, False, "checkpoint"),
        ({**BASE, "mode": "magic"}, False, "mode must be one of wire, segments"),
        ({"mode": "segments", "subscribe": "a"}, False, "needs the log directories"),
        ({**BASE, "publishOffsets": "true"}, True, "set kafka.group.id"),
        ({**BASE, "startingOffsetsByTimestampStrategy": "guess"}, False, "must be one of error, latest"),
    ],
)
def test_wrong_options_say_what_is_wrong(options: dict[str, str], streaming: bool, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        source_options(options, streaming=streaming)


@pytest.mark.parametrize(("text", "expected"), [("500", 500), ("500ms", 500), ("30s", 30_000), ("15m", 900_000)])
def test_durations(text: str, expected: int) -> None:
    assert source(streaming=True, maxTriggerDelay=text).max_trigger_delay_ms == expected


def test_segments_mode_needs_no_broker() -> None:
    parsed = source_options({"mode": "segments", "path": "/a, /b", "subscribe": "t"}, streaming=False)
    assert parsed.paths == ("/a", "/b")


def schema(**options: str) -> str:
    columns, include_headers = schema_options(options)
    return ddl(columns, include_headers=include_headers)


def test_the_schema_follows_columns_and_headers() -> None:
    assert "headers" not in schema()
    assert schema(includeHeaders="true").endswith("headers array<struct<key:string,value:binary>>")
    assert schema(columns="value, TIMESTAMPTYPE") == "value binary, timestampType int"
    with pytest.raises(UsageError, match="there is no column 'nonsense'"):
        schema(columns="nonsense")


def test_sink_defaults_and_refusals() -> None:
    parsed = sink_options({"kafka.bootstrap.servers": "h:1", "topic": "t"})
    assert (parsed.topic, parsed.delivery) == ("t", "exactly_once")
    with pytest.raises(UsageError, match="delivery must be one of"):
        sink_options({"kafka.bootstrap.servers": "h:1", "delivery": "perhaps"})
    with pytest.raises(UsageError, match="makes its own"):
        sink_options({"kafka.bootstrap.servers": "h:1", "kafka.transactional.id": "x"})
