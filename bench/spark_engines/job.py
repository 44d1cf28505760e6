"""One engine's side of bench/spark_read_write.py, run in that engine's own environment; prints one line of JSON.

    job.py FORMAT BROKER TOPICS-JSON ROUNDS [LOG-DIRECTORY]

FORMAT is `tidelog` or `kafka`. Imports nothing of Tidelog but the session, and that only for `tidelog`.
"""

import json
import os
import statistics
import sys
import tempfile
import time


def session(form):
    if form == "tidelog":
        from tidelog.spark.session import tidelog_session

        spark = tidelog_session("bench", master="local[2]", settings={"spark.driver.memory": "2g"})
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.jars", os.environ["SPARK_JVM_JARS"])
        spark = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Bench:
    def __init__(self, form, broker, rounds, directory):
        self.form, self.broker, self.rounds, self.directory = form, broker, rounds, directory
        self.spark = session(form)

    def best(self, action):
        times = []
        for _ in range(self.rounds + 1):
            started = time.perf_counter()
            action()
            times.append(time.perf_counter() - started)
        return min(times[1:])

    def total(self, make, rows):
        """Rows per second of summing up all values. A new DataFrame each time: Spark keeps an old one's shuffle."""

        def run():
            found = make().selectExpr("count(value) n", "sum(length(value)) s").collect()[0].n
            assert found == rows or self.directory, found

        return rows / self.best(run)

    def read(self, topic, rows):
        def make():
            reader = self.spark.read.format(self.form).option("kafka.bootstrap.servers", self.broker)
            return reader.option("subscribe", topic).option("minPartitions", 2).load()

        return self.total(make, rows)

    def segments(self, topic, rows):
        def make():
            reader = self.spark.read.format("tidelog").option("mode", "segments").option("subscribe", topic)
            return reader.option("minPartitions", 2).load(self.directory)

        return self.total(make, rows)

    def write(self, topic, size, rows, **options):
        with tempfile.TemporaryDirectory() as scratch:
            path = f"{scratch}/rows"
            source = self.spark.range(0, rows, 1, 2)
            columns = source.selectExpr(
                "cast(concat('key-', id) as binary) key", f"cast(repeat('v', {size}) as binary) value"
            )
            columns.write.parquet(path)
            frame = self.spark.read.parquet(path)

            def save():
                writer = frame.write.format(self.form).option("kafka.bootstrap.servers", self.broker)
                writer.option("topic", topic).options(**options).mode("append").save()

            return rows / self.best(save)

    def micro_batch(self, source, target):
        """The median time of a trigger, topic to topic, while records keep coming."""
        with tempfile.TemporaryDirectory() as checkpoint:
            reader = self.spark.readStream.format(self.form).option("kafka.bootstrap.servers", self.broker)
            rows = (
                reader.option("subscribe", source)
                .option("maxOffsetsPerTrigger", 100)
                .option("startingOffsets", "earliest")
            )
            writer = rows.load().select("key", "value").writeStream.format(self.form)
            writer = writer.option("kafka.bootstrap.servers", self.broker).option("topic", target)
            query = writer.option("checkpointLocation", checkpoint).start()
            wanted = 20 + 15 * self.rounds
            took = {}
            while len(took) < wanted and query.exception() is None:
                took.update(
                    {
                        p["batchId"]: p["durationMs"]["triggerExecution"]
                        for p in query.recentProgress
                        if p["numInputRows"]
                    }
                )
                time.sleep(0.05)
            query.stop()
            return statistics.median(list(took.values())[20:])


def main():
    form, broker, topics, rounds = sys.argv[1:5]
    directory = sys.argv[5] if len(sys.argv) > 5 else None
    bench = Bench(form, broker, int(rounds), directory)
    results = {}
    for topic in json.loads(topics):
        size, rows, name = topic["size"], topic["rows"], topic["name"]
        results[f"read {size} B"] = bench.read(name, rows)
        if directory:
            results[f"segments {size} B"] = bench.segments(name, rows)
        results[f"write {size} B"] = bench.write(f"{name}-{form}", size, rows)
        if form == "tidelog":
            results[f"write {size} B, at least once"] = bench.write(
                f"{name}-{form}", size, rows, delivery="at_least_once"
            )
    first = json.loads(topics)[0]["name"]
    results["micro-batch ms"] = bench.micro_batch(first, f"{first}-{form}")
    sys.stdout.write("\n" + json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
