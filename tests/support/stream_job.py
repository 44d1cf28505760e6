"""A streaming job in a process of its own, to be killed: copies a topic to another, exactly once, in small batches.

    python -m support.stream_job BROKER SOURCE TARGET CHECKPOINT [MASTER]

Prints `running` when the query has started and `done` at its end.
"""

from __future__ import annotations

import sys

from tidelog.spark.session import tidelog_session


def main() -> None:
    broker, source, target, checkpoint = sys.argv[1:5]
    master = sys.argv[5] if len(sys.argv) > 5 else "local[2]"
    settings = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    spark = tidelog_session("job", master=master, settings=settings)
    spark.sparkContext.setLogLevel("OFF")
    reader = spark.readStream.format("tidelog").option("kafka.bootstrap.servers", broker).option("subscribe", source)
    rows = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 1000).load()
    writer = rows.select("key", "value").writeStream.format("tidelog").option("kafka.bootstrap.servers", broker)
    writer = writer.option("topic", target).option("checkpointLocation", checkpoint)
    query = writer.trigger(availableNow=True).start()
    print("running", flush=True)
    query.awaitTermination()
    print("done", flush=True)


if __name__ == "__main__":
    main()
