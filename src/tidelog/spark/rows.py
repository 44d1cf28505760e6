"""The columns that the sink takes, checked against the DataFrame's schema, and cut out of each Arrow batch.

    value (string or binary) | key (string or binary) | topic string | partition int | headers array<struct<key, value>>

Other columns are ignored, as Spark's own Kafka sink does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.common.errors import UsageError
from tidelog.spark.options import SinkOptions

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

#: Column → the Spark types that it may have.
ACCEPTED = {
    "value": ("string", "binary"),
    "key": ("string", "binary"),
    "topic": ("string",),
    "partition": ("int",),
    "headers": ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
}


@dataclass(frozen=True)
class RowColumns:
    """Which columns of the DataFrame go where.

    Checked once, when the query is planned: a wrong type is the user's error, and should not be a task's.
    """

    topic: str | None
    names: tuple[str, ...]

    @classmethod
    def of(cls, options: SinkOptions, schema: StructType) -> RowColumns:
        """Check the DataFrame's schema; the error says which column is wrong and how."""
        types = {field.name: field.dataType.simpleString() for field in schema.fields}
        if "value" not in types:
            raise UsageError("Required attribute 'value' not found.")
        if options.topic is None and "topic" not in types:
            raise UsageError(
                "topic option required when no 'topic' attribute is present. Use the topic option for setting a topic."
            )
        wanted = [name for name in ACCEPTED if name in types and name != "timestamp"]
        if options.include_timestamp:
            if "timestamp" not in types:
                raise UsageError("includeTimestamp needs a 'timestamp' column")
            wanted.append("timestamp")
        for name in wanted:
            if types[name] not in ACCEPTED[name]:
                allowed = " or ".join(ACCEPTED[name])
                raise UsageError(f"{name} attribute type must be a {allowed}, not {types[name]}: cast it")
        return cls(options.topic, tuple(name for name in wanted if name != "topic" or options.topic is None))

    def by_topic(self, batch: pa.RecordBatch) -> Iterator[tuple[str, dict[str, Any]]]:
        """(topic, its rows, by the names that `Producer.send_arrow` knows)."""
        columns = {name: batch.column(name) for name in self.names if name != "topic"}
        if self.topic is not None:
            yield self.topic, columns
            return
        import pyarrow.compute as pc

        topics = batch.column("topic")
        if topics.null_count:
            raise UsageError(
                "null topic present in the data. Use the topic option for setting a default topic, or fill the column"
            )
        names = pc.unique(topics).to_pylist()
        for name in names:
            if len(names) == 1:
                yield name, columns
            else:
                mask = pc.equal(topics, name)
                yield name, {column: array.filter(mask) for column, array in columns.items()}
