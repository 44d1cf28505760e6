"""A pipeline over topics, to copy from: orders in, enriched orders, revenue per minute, dead letters and Parquet out.

    orders ──┬─> orders-enriched ──┬─> revenue-per-minute   (windows over event time, upserts into a compacted topic)
    products ┘   dead-letters      └─> Parquet files        (one row per order)

Each arrow is exactly once: what a query reads and what it writes advance together, however often it is restarted.
Everything below is plain Spark; only `format("tidelog")` is ours. Run it against any Kafka-compatible broker:

    python examples/orders_pipeline.py localhost:9092 /tmp/orders
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from tidelog.spark.session import tidelog_session

ORDER = "order_id string, customer string, sku string, quantity int, at timestamp"
PRODUCT = "sku string, name string, category string, price double"
ENRICHED = f"{ORDER}, name string, category string, revenue double"


class OrdersPipeline:
    def __init__(self, spark: SparkSession, broker: str, home: Path) -> None:
        self.spark, self.broker, self.home = spark, broker, home

    # --- topics as tables ---------------------------------------------------------------------------------------------

    def table(self, topic: str) -> DataFrame:
        reader = self.spark.read.format("tidelog").option("kafka.bootstrap.servers", self.broker)
        return reader.option("subscribe", topic).option("kafka.isolation.level", "read_committed").load()

    def stream(self, topic: str) -> DataFrame:
        reader = self.spark.readStream.format("tidelog").option("kafka.bootstrap.servers", self.broker)
        reader = reader.option("kafka.isolation.level", "read_committed").option("startingOffsets", "earliest")
        return reader.option("subscribe", topic).load()

    def start_query(self, name: str, writer: DataStreamWriter) -> StreamingQuery:
        checkpoint = str(self.home / "checkpoints" / name)
        return (
            writer.queryName(name).option("checkpointLocation", checkpoint).trigger(processingTime="1 second").start()
        )

    def to_topics(self, rows: DataFrame) -> DataStreamWriter:
        """Rows (topic, key, value) to their topics, exactly once."""
        return rows.writeStream.format("tidelog").option("kafka.bootstrap.servers", self.broker)

    def upserts(self, rows: DataFrame) -> DataStreamWriter:
        """Rows that change to a compacted topic: the newest value of a key is the one that counts."""

        def write(batch: DataFrame, number: int) -> None:
            query = self.spark.sparkContext.getLocalProperty("sql.streaming.queryId")
            writer = batch.write.format("tidelog").option("kafka.bootstrap.servers", self.broker)
            writer.option("queryId", query).option("batchId", number).mode("append").save()

        return rows.writeStream.outputMode("update").foreachBatch(write)

    # --- the pipeline -------------------------------------------------------------------------------------------------

    def products(self) -> DataFrame:
        """The newest version of each product: a compacted topic is a table of its keys."""
        newest = self.table("products").groupBy("key").agg(f.max_by("value", "offset").alias("value"))
        rows = newest.where("value is not null")  # a null value is a tombstone: the product is gone
        return rows.select(f.from_json(f.col("value").cast("string"), PRODUCT).alias("p")).select("p.*")

    def enrich(self) -> DataFrame:
        """Orders joined with products; what cannot be joined or read goes to the dead letters, with the reason."""
        orders = self.stream("orders").select(
            "key", "value", f.from_json(f.col("value").cast("string"), ORDER).alias("o")
        )
        joined = orders.select("key", "value", "o.*").join(f.broadcast(self.products()), "sku", "left")
        reason = (
            f.when(f.col("order_id").isNull(), "not an order")
            .when(f.col("name").isNull(), "unknown product")
            .when(f.col("quantity") < 1, "quantity below 1")
        )
        revenue = f.round(f.col("quantity") * f.col("price"), 2).alias("revenue")
        good = f.to_json(f.struct("order_id", "customer", "sku", "quantity", "at", "name", "category", revenue))
        bad = f.to_json(f.struct(reason.alias("reason"), f.col("value").cast("string").alias("original")))
        return joined.select(
            "key",
            f.when(reason.isNull(), good).otherwise(bad).alias("value"),
            f.when(reason.isNull(), "orders-enriched").otherwise("dead-letters").alias("topic"),
        )

    def enriched(self) -> DataFrame:
        rows = self.stream("orders-enriched").select(f.from_json(f.col("value").cast("string"), ENRICHED).alias("o"))
        return rows.select("o.*")

    def revenue_per_minute(self) -> DataFrame:
        """Revenue by category and minute of event time; orders that come more than ten minutes late do not count."""
        minutes = (
            self.enriched()
            .withWatermark("at", "10 minutes")
            .groupBy(f.window("at", "1 minute").alias("minute"), "category")
            .agg(f.count("*").alias("orders"), f.round(f.sum("revenue"), 2).alias("revenue"))
        )
        return minutes.select(
            f.concat_ws("|", f.col("minute.start").cast("string"), "category").alias("key"),
            f.to_json(f.struct(f.col("minute.start").alias("minute"), "category", "orders", "revenue")).alias("value"),
            f.lit("revenue-per-minute").alias("topic"),
        )

    def archive(self) -> DataStreamWriter:
        """Every enriched order as a row of Parquet."""
        return self.enriched().writeStream.format("parquet").option("path", str(self.home / "orders.parquet"))

    def start(self) -> list[StreamingQuery]:
        return [
            self.start_query("enrich", self.to_topics(self.enrich())),
            self.start_query("revenue", self.upserts(self.revenue_per_minute())),
            self.start_query("archive", self.archive()),
        ]


def main() -> None:
    broker, home = sys.argv[1], Path(sys.argv[2])
    spark = tidelog_session("orders pipeline")
    OrdersPipeline(spark, broker, home).start()
    spark.streams.awaitAnyTermination()


if __name__ == "__main__":
    main()
