"""`format("tidelog")`: the entry that Spark calls for sources and sinks, batch and stream.

    spark.read.format("tidelog").option("kafka.bootstrap.servers", "...").option("subscribe", "orders").load()

Found without registration through `pyspark_tidelog`. Spark makes instances in several processes (the driver's planner,
each task), pickles readers and writers between them, and gives options in lower case.

The methods are Spark's, as are their names. What each may do is told by where it runs: `schema` and `reader` in a
short-lived planner process of the driver, `read` and `write` in tasks, `commit` and `abort` in another process of the
driver. Nothing is shared between them but what is pickled.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from tidelog.spark.options import schema_options, sink_options, source_options
from tidelog.spark.schema import ddl
from tidelog.spark.worker import prepare_worker

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

#: Loaded in the planner only when the session has spark.sql.python.filterPushdown.enabled; without that, Spark refuses
#: a reader that takes filters.
_PUSHDOWN_WORKER = "pyspark.sql.worker.data_source_pushdown_filters"


class TidelogDataSource(DataSource):
    """Topics of any Kafka-compatible cluster, or of log directories, as tables."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> str:
        """The table's columns as DDL text. Spark asks for it first, without saying what for: nothing may be opened
        here.
        """
        prepare_worker()
        columns, include_headers = schema_options(self.options)
        return ddl(columns, include_headers=include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """For `spark.read`. Which class it is decides whether Spark pushes filters down; a session that does not would
        refuse the other.
        """
        from tidelog.spark.batch_reader import BatchReader, FilteringBatchReader

        prepare_worker()
        options = source_options(self.options, streaming=False)
        kind = FilteringBatchReader if _PUSHDOWN_WORKER in sys.modules else BatchReader
        return kind(options, tuple(schema.fieldNames()))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """For `spark.readStream`. It lives as long as the query, in a process of its own."""
        from tidelog.spark.stream_reader import StreamReader

        return StreamReader(source_options(self.options, streaming=True), tuple(schema.fieldNames()))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        """For `df.write`. Modes append and overwrite are the same: a log is only ever appended to."""
        from tidelog.spark.writers import BatchSinkWriter

        prepare_worker()
        return BatchSinkWriter(sink_options(self.options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        """For `df.writeStream`; an instance in each task and one in the driver for each batch."""
        from tidelog.spark.writers import StreamWriter

        prepare_worker()
        return StreamWriter(sink_options(self.options), schema)
