"""Runs in the environment of Spark's own connector: reads topics with the option sets given on stdin, prints the rows.

In: {"broker": "host:port", "reads": [{option: text, ...}, ...]}
Out, last line: [{"rows": [...], "tasks": n} or {"error": "..."}, ...] in the same order.
"""

import json
import os
import sys

from pyspark.sql import SparkSession


def main() -> None:
    job = json.load(sys.stdin)
    builder = SparkSession.builder.master("local[2]").config("spark.jars", os.environ["SPARK_JVM_JARS"])
    spark = builder.config("spark.sql.session.timeZone", "UTC").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    results = []
    for options in job["reads"]:
        try:
            reader = spark.read.format("kafka").option("kafka.bootstrap.servers", job["broker"])
            frame = reader.options(**options).load()
            chosen = ["hex(key) key", "hex(value) value", "topic", "partition", "offset", "unix_millis(timestamp) ms"]
            if "headers" in frame.columns:
                chosen.append("to_json(headers) headers")
            rows = frame.selectExpr(*chosen, "timestampType").orderBy("topic", "partition", "offset").collect()
            types = frame.schema.simpleString()
            results.append({"rows": [list(row) for row in rows], "types": types, "tasks": frame.rdd.getNumPartitions()})
        except Exception as error:
            results.append({"error": str(error).splitlines()[0]})
    sys.stdout.write("\n" + json.dumps(results) + "\n")


if __name__ == "__main__":
    main()
