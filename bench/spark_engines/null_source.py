"""A data source that does nothing: the floor under every Python source and sink, in the shape of ours.

Reads hand Spark the same Arrow batch again and again (same columns, same sizes as a topic's rows), writes throw away
what they get. What is left is Spark's own: planning, Python workers, Arrow over a socket, rows in the JVM.
"""

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from tidelog.spark.worker import prepare_worker

TASKS = 2
BATCH_BYTES = 4 << 20
SCHEMA = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"


def batch(rows, size):
    columns = [
        pa.array([b"key-00000000"] * rows, pa.binary()),
        pa.array([bytes(size)] * rows, pa.binary()),
        pa.repeat(pa.scalar(f"bench-{size}"), rows),
        pa.repeat(pa.scalar(0, pa.int32()), rows),
        pa.array(range(rows), pa.int64()),
        pa.repeat(pa.scalar(0, pa.timestamp("us", "UTC")), rows),
        pa.repeat(pa.scalar(0, pa.int32()), rows),
    ]
    return pa.RecordBatch.from_arrays(columns, names=[field.split()[0] for field in SCHEMA.split(", ")])


def same_rows(rows, size):
    """`rows` rows in batches of a few MB."""
    prepare_worker()
    step = max(min(BATCH_BYTES // size, rows), 1)
    made = batch(step, size)
    while rows > 0:
        yield made.slice(0, min(step, rows))
        rows -= step


class Reader(DataSourceReader):
    def __init__(self, options):
        self.rows, self.size = int(options["rows"]), int(options["size"])

    def partitions(self):
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, partition):
        return same_rows(self.rows // TASKS, self.size)


class StreamReader(DataSourceStreamReader):
    def __init__(self, options):
        self.rows, self.size = int(options["rows"]), int(options["size"])

    def initialOffset(self):
        return {"0": 0}

    def latestOffset(self, start, limit):
        return {"0": start["0"] + self.rows}

    def partitions(self, start, end):
        return [InputPartition(number) for number in range(TASKS)]

    def read(self, partition):
        return same_rows(self.rows // TASKS, self.size)


class Discard:
    def __init__(self, *_):
        pass

    def write(self, iterator):
        prepare_worker()
        for _ in iterator:
            pass
        return WriterCommitMessage()

    def commit(self, messages, *_):
        prepare_worker()

    def abort(self, messages, *_):
        pass


class Writer(Discard, DataSourceArrowWriter):
    pass


class StreamWriter(Discard, DataSourceStreamArrowWriter):
    pass


class NullSource(DataSource):
    @classmethod
    def name(cls):
        return "bench_null"

    def schema(self):
        prepare_worker()
        return SCHEMA

    def reader(self, schema):
        prepare_worker()
        return Reader(self.options)

    def streamReader(self, schema):
        return StreamReader(self.options)

    def writer(self, schema, overwrite):
        prepare_worker()
        return Writer()

    def streamWriter(self, schema, overwrite):
        prepare_worker()
        return StreamWriter()
