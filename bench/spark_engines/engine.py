"""One engine's side of bench/spark_read_write.py, run in that engine's own environment; prints one line of JSON.

    engine.py FORMAT BROKER BROKER-PID TOPICS-JSON ROUNDS WARM-UP ONLY [LOG-DIRECTORY]

FORMAT is `tidelog` or `kafka`; measured is what has ONLY in its name. Imports nothing of Tidelog but the session, and
that only for `tidelog`; there the floor is measured as well: a data source that does nothing (null_source.py), under
the same queries. First all queries run for WARM-UP seconds each: Java compiles its code meanwhile, and none of them
profits more than another from what ran before it. Then each runs once more, and counts from there on.
"""

import functools
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from hot_memory import Filler

FLOOR = "bench_null"
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
    def __init__(self, form, broker, broker_pid, rounds, warm_up, directory):
        self.form, self.broker, self.rounds, self.directory = form, broker, rounds, directory
        self.warm_up = warm_up
        self.warming = False
        self.processes = (os.getpid(), broker_pid)
        self.spark = session(form)
        self.filler = Filler()

    def best(self, action, rows):
        """(rows per second, at its best; CPU time per row, median, and of that by whom); nothing while warming up."""
        action()
        if self.warming:
            until = time.perf_counter() + self.warm_up
            while time.perf_counter() < until:
                action()
            return None
        times, cpu = [], []
        for _ in range(self.rounds):
            self.filler.refill()
            started, before = time.perf_counter(), cpu_seconds(*self.processes)
            action()
            times.append(time.perf_counter() - started)
            after = cpu_seconds(*self.processes)
            cpu.append([(after[part] - before[part]) / rows for part in PARTS])
        typical = sorted(cpu, key=sum)[len(cpu) // 2]  # a worker that ends takes its time along
        return rows / min(times), dict(zip(PARTS, typical, strict=True))

    def total(self, make, rows):
        """Summing up all values. A new DataFrame each time: Spark keeps an old one's shuffle."""

        def run():
            found = make().selectExpr("count(value) n", "sum(length(value)) s").collect()[0].n
            assert found == rows, found

        return self.best(run, rows)

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

    def floor(self, size, rows):
        return self.total(lambda: self.spark.read.format(FLOOR).option("rows", rows).option("size", size).load(), rows)

    def write(self, form, topic, size, rows, **options):
        with tempfile.TemporaryDirectory() as scratch:
            path = f"{scratch}/rows"
            source = self.spark.range(0, rows, 1, 2)
            columns = source.selectExpr(
                "cast(concat('key-', id) as binary) key", f"cast(repeat('v', {size}) as binary) value"
            )
            columns.write.parquet(path)
            frame = self.spark.read.parquet(path)

            def save():
                writer = frame.write.format(form).option("kafka.bootstrap.servers", self.broker)
                writer.option("topic", topic).options(**options).mode("append").save()

            return self.best(save, rows)

    def micro_batch(self, source, target):
        """The median time of a trigger, topic to topic, while there is always more to read."""
        reader = self.spark.readStream.format(self.form).option("kafka.bootstrap.servers", self.broker)
        reader = reader.option("subscribe", source).option("maxOffsetsPerTrigger", 100)
        rows = reader.option("startingOffsets", "earliest").load().select("key", "value")
        writer = rows.writeStream.format(self.form).option("kafka.bootstrap.servers", self.broker)
        return self.triggers(writer.option("topic", target))

    def micro_batch_floor(self):
        rows = self.spark.readStream.format(FLOOR).option("rows", 100).option("size", 100).load()
        return self.triggers(rows.select("key", "value").writeStream.format(FLOOR))

    def triggers(self, writer):
        """Milliseconds: the median, and the medians of the parts that Spark times."""
        with tempfile.TemporaryDirectory() as checkpoint:
            query = writer.option("checkpointLocation", checkpoint).start()
            wanted = 20 + 15 * self.rounds
            took = {}
            while len(took) < wanted and query.exception() is None:
                took.update({p["batchId"]: p["durationMs"] for p in query.recentProgress if p["numInputRows"]})
                time.sleep(0.05)
            query.stop()
            counted = list(took.values())[20:]
            return {part: statistics.median(one.get(part, 0) for one in counted) for part in counted[0]}


def cases(bench, topics):
    """(what is measured, how, how its floor is measured), in the order of the table."""
    form, ours = bench.form, bench.form == "tidelog"
    for topic in topics:
        size, rows, name = topic["size"], topic["rows"], topic["name"]
        target = f"{name}-{form}"
        read_floor = functools.cache(functools.partial(bench.floor, size, rows))
        write_floor = functools.cache(functools.partial(bench.write, FLOOR, "", size, rows))
        write = functools.partial(bench.write, form, target, size, rows)
        yield f"read {size} B", functools.partial(bench.read, name, rows), read_floor
        if ours:
            yield f"segments {size} B", functools.partial(bench.segments, name, rows), read_floor
        yield f"write {size} B", write, write_floor
        if ours:
            yield f"write {size} B, at least once", functools.partial(write, delivery="at_least_once"), write_floor


def main():
    form, broker, broker_pid, topics, rounds, warm_up, only = sys.argv[1:8]
    directory = sys.argv[8] if len(sys.argv) > 8 else None
    bench = Bench(form, broker, int(broker_pid), int(rounds), float(warm_up), directory)
    topics = json.loads(topics)
    results, floors, parts = {}, {}, {}
    chosen = [case for case in cases(bench, topics) if only in case[0]]
    bench.warming = bench.warm_up > 0
    for _, measure, _ in chosen if bench.warming else ():
        measure()
    bench.warming = False
    for name, measure, floor in chosen:
        results[name] = measure()
        if form == "tidelog":
            floors[name] = floor()
    if only in "micro-batch ms":
        first = topics[0]["name"]
        who = "ours" if form == "tidelog" else "JVM connector"
        parts[who] = bench.micro_batch(first, f"{first}-{form}")
        results["micro-batch ms"] = parts[who]["triggerExecution"], None
        if form == "tidelog":
            parts["PySpark alone"] = bench.micro_batch_floor()
            floors["micro-batch ms"] = parts["PySpark alone"]["triggerExecution"], None
    sys.stdout.write("\n" + json.dumps({"results": results, "floors": floors, "parts": parts}) + "\n")


if __name__ == "__main__":
    main()
