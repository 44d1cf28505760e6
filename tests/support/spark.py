"""What the Spark tests share: a broker with topics, rows in and out, and streaming runs to their end."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from support.columns import begun, send_rows
from support.patience import eventually
from tidelog.client import topics
from tidelog.client.blocking import BlockingClient
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.offsets import end_offsets
from tidelog.client.producer.aio import Producer
from tidelog.client.transaction_requests import describe_transaction, list_transactions
from tidelog.common.types import TopicPartition
from tidelog.log.reading.reader import LogDirectory

T = TypeVar("T")


class BrokerLab:
    """A broker under test, with short names for what tests do all the time."""

    def __init__(self, address: str, name: str) -> None:
        self.address = address
        self._name, self._numbers = name, itertools.count()

    def ask(self, operation: Callable[[ClusterClient], Any], **settings: str) -> Any:
        with BlockingClient({"bootstrap.servers": self.address, **settings}) as client:
            return client.run(operation(client.cluster))

    def topic(self, partitions: int = 1, **config: str) -> str:
        """A new topic's name. Records may be as old as a test likes."""
        name = f"{self._name}-{next(self._numbers)}"
        entries = {"retention.ms": "-1", **{key.replace("_", "."): value for key, value in config.items()}}
        self.ask(lambda cluster: topics.create_topic(cluster, name, partitions, config=entries))
        return name

    def produce(
        self,
        topic: str,
        values: Iterable[str],
        *,
        partition: int | None = None,
        keyed: bool = True,
        timestamps: list[int] | None = None,
        headers: Any = None,
        transactional_id: str | None = None,
        commit: bool = True,
        **settings: str,
    ) -> None:
        """Write values, keyed by themselves; in a transaction if it has an id."""
        rows = list(values)
        column = pa.array([row.encode() for row in rows], pa.binary())
        with BlockingClient({"bootstrap.servers": self.address, **settings}) as client:
            if transactional_id is None:
                producer = Producer.over(client.cluster)
            else:
                producer = client.run(begun(client.cluster, transactional_id))
            client.run(
                send_rows(
                    producer,
                    topic,
                    value=column,
                    key=column if keyed else None,
                    timestamp=None if timestamps is None else pa.array(timestamps, pa.int64()),
                    headers=headers,
                    partition=None if partition is None else pa.array([partition] * len(rows), pa.int32()),
                )
            )
            if transactional_id is not None:
                client.run(producer.commit_transaction() if commit else producer.abort_transaction())
        if transactional_id is not None:
            self.await_markers()

    def await_markers(self) -> None:
        """Wait until no transaction is on its way: its end is decided first, and then written to its partitions."""
        states = ["PrepareCommit", "PrepareAbort"]
        eventually(lambda: not self.ask(lambda cluster: list_transactions(cluster, states=states)))

    def open_transactions(self, topic: str) -> list[str]:
        """The ids of those of Spark's transactions that are open and have written to the topic."""

        async def look(cluster: ClusterClient) -> list[str]:
            listed = await list_transactions(cluster, prefix="tidelog-spark/", states=["Ongoing"])
            described = [await describe_transaction(cluster, one.transactional_id) for one in listed]
            return [one.transactional_id for one in described if any(tp.topic == topic for tp in one.partitions)]

        found: list[str] = self.ask(look)
        return found

    def partitions_of(self, topic: str, count: int) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for number in range(count)]


class Lab(BrokerLab):
    """A broker and a Spark session."""

    def __init__(self, spark: SparkSession, address: str, data: Path, name: str) -> None:
        super().__init__(address, name)
        self.spark, self.data = spark, data

    def read(self, topic: str | None = None, **options: str) -> DataFrame:
        return self._source(self.spark.read, topic, options).load()

    def stream(self, topic: str | None = None, **options: str) -> DataFrame:
        return self._source(self.spark.readStream, topic, options).load()

    def settle(self, topic: str, partitions: int = 1) -> None:
        """Wait until the broker has written down high watermarks that cover what is in the topic now."""
        ends = self.ask(lambda cluster: end_offsets(cluster, self.partitions_of(topic, partitions)))
        eventually(
            lambda: LogDirectory(self.data).high_watermarks,
            lambda known: all(known.get(tp, 0) >= end for tp, end in ends.items()),
        )

    def segments(self, topic: str, **options: str) -> DataFrame:
        reader = self.spark.read.format("tidelog").option("mode", "segments").option("subscribe", topic)
        return reader.options(**options).load(str(self.data))

    def _source(self, reader: Any, topic: str | None, options: dict[str, str]) -> Any:
        reader = reader.format("tidelog").option("kafka.bootstrap.servers", self.address).options(**options)
        return reader if topic is None else reader.option("subscribe", topic)

    def committed(self, topic: str) -> list[str]:
        """The values that a reader of committed records sees, in order of partition and offset."""
        self.await_markers()
        frame = self.read(topic, **{"kafka.isolation.level": "read_committed"})
        return [row.v for row in frame.orderBy("partition", "offset").selectExpr("cast(value as string) v").collect()]

    def sink(self, frame: DataFrame, checkpoint: Path, *, form: str = "tidelog", **options: str) -> StreamingQuery:
        """Run a stream to the end of what is there now; the query, for its progress."""
        writer = frame.writeStream.format(form).option("checkpointLocation", str(checkpoint))
        writer = writer.option("kafka.bootstrap.servers", self.address).options(**options)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return query

    def into(self, frame: DataFrame, rows: list[Any], checkpoint: Path, **trigger: Any) -> StreamingQuery:
        """Run a stream to its end and keep what each batch held: rows gets (batch id, values in order)."""

        def take(batch: DataFrame, number: int) -> None:
            ordered = batch.orderBy("topic", "partition", "offset").selectExpr("cast(value as string) v")
            rows.append((number, [row.v for row in ordered.collect()]))

        query = (
            frame.writeStream.foreachBatch(take)
            .option("checkpointLocation", str(checkpoint))
            .trigger(**(trigger or {"availableNow": True}))
            .start()
        )
        if not trigger or "processingTime" not in trigger:
            query.awaitTermination()
        return query


def values(frame: DataFrame) -> list[str]:
    """The values as text, sorted."""
    return sorted(row.v for row in frame.selectExpr("cast(value as string) v").collect())
