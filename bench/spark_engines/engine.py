"""One engine's side of bench/spark_read_write.py, in that engine's own environment: does what it is told, line by line.

    engine.py FORMAT BROKER BROKER-PID TOPICS-JSON [LOG-DIRECTORY]

FORMAT is `tidelog` or `kafka`. Imports nothing of Tidelog but the session, and that only for `tidelog`; there the floor
is an engine's third name: a data source that does nothing (null_source.py), under the same queries. A line of standard
input is a JSON list; its answer is a line of JSON behind ANSWER:

    ["cases"]            the names of what can be measured
    ["run", name, who]   run that query once: [seconds, CPU seconds by whom]; who is "own" or "floor"
    ["triggers", who]    the median milliseconds of a micro-batch's parts
"""

import json
import os
import shutil
import statistics
import sys
import tempfile
import time

ANSWER = "answer "
FLOOR = "bench_null"
TRIGGERS, WARM_TRIGGERS = 60, 20
TICKS = os.sysconf("SC_CLK_TCK")
PARTS = ("Spark", "Python", "broker")


def cpu_seconds(spark, broker):
    """User and system time: of Spark's Java, of its Python workers, of the broker (each with all processes below)."""
    children, used = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                command, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue  # it has ended meanwhile
        fields = rest.split()
        children.setdefault(int(fields[1]), []).append(int(name))
        used[int(name)] = "Spark" if command == "java" else "Python", sum(map(int, fields[11:15])) / TICKS
    total = dict.fromkeys(PARTS, 0.0)
    pending = [(spark, None), (broker, "broker")]
    while pending:
        process, part = pending.pop()
        kind, seconds = used.get(process, ("Python", 0.0))
        total[part or kind] += seconds
        pending += [(child, part) for child in children.get(process, [])]
    return total


def session(form):
    if form == "tidelog":
        from tidelog.spark.session import tidelog_session

        here = os.path.dirname(os.path.abspath(__file__))
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        spark = tidelog_session("bench", master="local[2]", settings={"spark.driver.memory": "2g"})
        from null_source import NullSource

        spark.dataSource.register(NullSource)
    else:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.jars", os.environ["SPARK_JVM_JARS"])
        spark = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "2g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


class Bench:
    """The queries. Each is made once (`cases`), and then run as often as one likes."""

    def __init__(self, form, broker, broker_pid, directory):
        self.form, self.broker, self.directory = form, broker, directory
        self.processes = (os.getpid(), broker_pid)
        self.spark = session(form)
        self.scratch = tempfile.mkdtemp(prefix="spark-bench-")

    def timed(self, action):
        """Seconds that it takes, and of CPU time, by whom."""
        started, before = time.perf_counter(), cpu_seconds(*self.processes)
        action()
        took, after = time.perf_counter() - started, cpu_seconds(*self.processes)
        return took, {part: after[part] - before[part] for part in PARTS}

    def total(self, make, rows):
        """Summing up all values. A new DataFrame each time: Spark keeps an old one's shuffle."""

        def run():
            found = make().selectExpr("count(value) n", "sum(length(value)) s").collect()[0].n
            assert found == rows, found

        return run

    def read(self, topic, rows):
        def make():
            reader = self.spark.read.format(self.form).option("kafka.bootstrap.servers", self.broker)
            return reader.option("subscribe", topic).option("minPartitions", 2).load()

        return self.total(make, rows)

    def segments(self, topic, rows):
        def make():
            reader = self.spark.read.format("tidelog").option("mode", "segments").option("subscribe", topic)
            return reader.option("minPartitions", 2).load(self.directory)

        deadline = time.monotonic() + 60  # files are read up to the high watermark that the broker has written down
        while make().count() < rows and time.monotonic() < deadline:
            time.sleep(1)
        return self.total(make, rows)

    def read_floor(self, size, rows):
        return self.total(lambda: self.spark.read.format(FLOOR).option("rows", rows).option("size", size).load(), rows)

    def write(self, form, topic, size, rows, **options):
        path = f"{self.scratch}/{size}"
        if not os.path.exists(path):
            source = self.spark.range(0, rows, 1, 2)
            columns = source.selectExpr(
                "cast(concat('key-', id) as binary) key", f"cast(repeat('v', {size}) as binary) value"
            )
            columns.write.parquet(path)
        frame = self.spark.read.parquet(path)

        def save():
            writer = frame.write.format(form).option("kafka.bootstrap.servers", self.broker)
            writer.option("topic", topic).options(**options).mode("append").save()

        return save

    def micro_batch(self, source, target):
        """Topic to topic, while there is always more to read."""
        reader = self.spark.readStream.format(self.form).option("kafka.bootstrap.servers", self.broker)
        reader = reader.option("subscribe", source).option("maxOffsetsPerTrigger", 100)
        rows = reader.option("startingOffsets", "earliest").load().select("key", "value")
        writer = rows.writeStream.format(self.form).option("kafka.bootstrap.servers", self.broker)
        return writer.option("topic", target)

    def micro_batch_floor(self):
        rows = self.spark.readStream.format(FLOOR).option("rows", 100).option("size", 100).load()
        return rows.select("key", "value").writeStream.format(FLOOR)

    def triggers(self, writer):
        """Milliseconds: the medians of the parts that Spark times."""
        with tempfile.TemporaryDirectory() as checkpoint:
            query = writer.option("checkpointLocation", checkpoint).start()
            took = {}
            while len(took) < TRIGGERS and query.exception() is None:
                took.update({p["batchId"]: p["durationMs"] for p in query.recentProgress if p["numInputRows"]})
                time.sleep(0.05)
            query.stop()
            counted = list(took.values())[WARM_TRIGGERS:]
            return {part: statistics.median(one.get(part, 0) for one in counted) for part in counted[0]}


def cases(bench, topics):
    """(what is measured, its query, its floor's), in the order of the table."""
    form, ours = bench.form, bench.form == "tidelog"
    for topic in topics:
        size, rows, name = topic["size"], topic["rows"], topic["name"]
        target = f"{name}-{form}"
        read_floor = bench.read_floor(size, rows)
        write_floor = bench.write(FLOOR, "", size, rows)
        yield f"read {size} B", bench.read(name, rows), read_floor
        if ours:
            yield f"segments {size} B", bench.segments(name, rows), read_floor
        yield f"write {size} B", bench.write(form, target, size, rows), write_floor
        if ours:
            once = bench.write(form, target, size, rows, delivery="at_least_once")
            yield f"write {size} B, at least once", once, write_floor


def main():
    form, broker, broker_pid, topics = sys.argv[1:5]
    bench = Bench(form, broker, int(broker_pid), sys.argv[5] if len(sys.argv) > 5 else None)
    topics = json.loads(topics)
    queries = {name: {"own": own, "floor": floor} for name, own, floor in cases(bench, topics)}
    first = topics[0]["name"]
    streams = {"own": lambda: bench.micro_batch(first, f"{first}-{form}"), "floor": bench.micro_batch_floor}
    for line in sys.stdin:
        command, *words = json.loads(line)
        if command == "run":
            name, who = words
            answer = bench.timed(queries[name][who])
        elif command == "triggers":
            answer = bench.triggers(streams[words[0]]())
        else:
            answer = list(queries)
        sys.stdout.write(f"\n{ANSWER}{json.dumps(answer)}\n")
        sys.stdout.flush()
    shutil.rmtree(bench.scratch)


if __name__ == "__main__":
    main()
