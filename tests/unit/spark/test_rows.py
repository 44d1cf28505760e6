"""Columns of the sink, and constant columns of the source."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, DataType, IntegerType, StringType, StructField, StructType, TimestampType

from tidelog.common.errors import UsageError
from tidelog.spark.options import SinkOptions
from tidelog.spark.rows import RowColumns
from tidelog.spark.schema import RowAssembler

KAFKA = {"bootstrap.servers": "h:1"}


TYPES: dict[str, DataType] = {
    "value": StringType(),
    "topic": StringType(),
    "timestamp": TimestampType(),
    "extra": IntegerType(),
    "key": BinaryType(),
}


def columns(*names: str, topic: str | None = None, timestamp: bool = False) -> RowColumns:
    options = SinkOptions(kafka=KAFKA, topic=topic, include_timestamp=timestamp)
    return RowColumns.of(options, StructType([StructField(name, TYPES[name]) for name in names]))


def test_the_topic_option_goes_before_the_column() -> None:
    batch = pa.record_batch({"value": ["a", "b", "c"], "topic": ["x", "y", "x"]})
    assert [topic for topic, _ in columns("value", "topic", topic="z").by_topic(batch)] == ["z"]
    parts = {name: rows["value"].to_pylist() for name, rows in columns("value", "topic").by_topic(batch)}
    assert parts == {"x": ["a", "c"], "y": ["b"]}
    with pytest.raises(UsageError, match="null topic present"):
        list(columns("value", "topic").by_topic(pa.record_batch({"value": ["a"], "topic": [None]})))


def test_other_columns_are_ignored_and_time_is_taken_on_request() -> None:
    given = ("value", "timestamp", "extra", "key")
    assert columns(*given, topic="t").names == ("value", "key")
    assert columns(*given, topic="t", timestamp=True).names == ("value", "key", "timestamp")
    with pytest.raises(UsageError, match="needs a 'timestamp' column"):
        columns("value", topic="t", timestamp=True)


def test_rows_are_assembled_in_the_order_and_types_that_spark_wants() -> None:
    rows = RowAssembler("t", 3, ("partition", "timestampType", "topic", "timestamp", "headers"))
    assert rows.decoded == ("timestamp_type", "timestamp", "headers")
    kind = pa.list_(pa.struct([pa.field("key", pa.string(), nullable=False), ("value", pa.binary())]))
    decoded = pa.record_batch(
        {
            "timestamp_type": pa.array([0, 1], pa.int8()),
            "timestamp": pa.array([5, None], pa.timestamp("ms", "UTC")),
            "headers": pa.array([[], [("h", b"x")]], kind),
        }
    )
    for count in (2, 1):
        batch = rows.assemble(decoded.slice(0, count))
        assert batch.schema.names == ["partition", "timestampType", "topic", "timestamp", "headers"]
        assert [str(field.type) for field in batch.schema][:4] == ["int32", "int32", "string", "timestamp[us, tz=UTC]"]
        assert batch.column("topic").to_pylist() == ["t"] * count
        assert batch.column("headers").to_pylist() == [None, [{"key": "h", "value": b"x"}]][:count]
    with pytest.raises(UsageError, match="there is no column 'nope'"):
        RowAssembler("t", 0, ("nope",))
