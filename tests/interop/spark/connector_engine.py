"""One Spark connector under remote control, in its own environment: commands on stdin, one JSON answer per line.

    connector_engine.py kafka|tidelog BROKER

The same script runs Spark's own connector (`kafka`, PySpark 4.0.0) and ours (`tidelog`, 4.3), so that both are asked
the same questions in the same words. A command is {"do": name, ...}; an answer is {"ok": ...} or {"error": text}.
"""

import json
import os
import sys
import time

ANSWER = "answer:"
COLUMNS = ["hex(key) key", "hex(value) value", "topic", "partition", "offset", "unix_millis(timestamp) ms"]


def session(form):
    if form == "tidelog":
        from tidelog.spark.session import tidelog_session

        spark = tidelog_session("connector", master="local[2]")
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.jars", os.environ["SPARK_JVM_JARS"])
        spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows_of(frame):
    chosen = [*COLUMNS, "timestampType"]
    if "headers" in frame.columns:
        chosen.append("to_json(headers) headers")
    return [list(row) for row in frame.selectExpr(*chosen).orderBy("topic", "partition", "offset").collect()]


class Engine:
    def __init__(self, form, broker):
        self.form, self.broker, self.spark = form, broker, session(form)
        self.queries, self.batches = {}, {}

    def read(self, options):
        """A batch query: its rows, its schema, its number of tasks."""
        frame = self.of(self.spark.read, options).load()
        return {"rows": rows_of(frame), "types": frame.schema.simpleString(), "tasks": frame.rdd.getNumPartitions()}

    def write(self, rows, types, options):
        writer = self.of(self.spark.createDataFrame(rows, types).coalesce(1).write, options)
        writer.mode("append").save()

    def start(self, name, options, checkpoint, trigger):
        """Start a stream that keeps what each batch held."""
        kept = self.batches.setdefault(name, [])

        def take(batch, number):
            rows = rows_of(batch)
            if rows:
                kept.append({"rows": rows, "tasks": batch.rdd.getNumPartitions()})

        writer = self.of(self.spark.readStream, options).load().writeStream.foreachBatch(take)
        self.queries[name] = writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()

    def copy(self, options, target, checkpoint):
        """A stream from topic to topic, to the end of what is there."""
        writer = self.of(self.spark.readStream, options).load().select("key", "value").writeStream
        writer = self.of(writer, {"topic": target}).option("checkpointLocation", checkpoint)
        writer.trigger(availableNow=True).start().awaitTermination()

    def settle(self, name):
        """Wait until the running stream has taken what it is going to take now."""
        self.queries[name].processAllAvailable()
        return self.batches[name]

    def wait(self, name, batches):
        """Wait for that many batches."""
        deadline = time.monotonic() + 300
        while len(self.batches[name]) < batches and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.batches[name]

    def finish(self, name):
        """Wait for the end of a stream that ends by itself."""
        self.queries.pop(name).awaitTermination()
        return self.batches[name]

    def stop(self, name):
        self.queries.pop(name).stop()
        return self.batches[name]

    def of(self, builder, options):
        return builder.format(self.form).option("kafka.bootstrap.servers", self.broker).options(**options)


def main():
    engine = Engine(*sys.argv[1:])
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = {"ok": getattr(engine, command.pop("do"))(**command)}
        except Exception as error:
            answer = {"error": str(error)[:2000]}
        sys.stdout.write(f"\n{ANSWER}{json.dumps(answer)}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
