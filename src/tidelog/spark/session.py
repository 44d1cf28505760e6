"""A Spark session with the settings under which this data source is at its best.

    spark = tidelog_session("my pipeline")

Nothing here is needed for correctness: `format("tidelog")` works in any session whose workers have the package
installed. Which workers those are is settled when the JVM starts: `PYSPARK_PYTHON`, else the `python3` of the `PATH`,
which is another one than the driver's unless its virtual environment is activated. Spark looks for data sources in such
a worker, so where that has no Tidelog nothing of ours ever runs, and all that there is to read is Spark's "Failed to
find the data source: tidelog". `register` mends such a session, whoever made it.

Two of the settings are about speed (how tasks and the JVM talk, how large a batch is that Spark hands over), one about
what is read at all (filters), the others are what a program on one machine wants. A session that exists already is
taken as it is: Spark has one per process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Setting → value, each with its reason.
SETTINGS = {
    "spark.python.unix.domain.socket.enabled": "true",  # a task costs 6 ms instead of 30
    "spark.sql.python.filterPushdown.enabled": "true",  # partition, offset and time filters narrow what is read
    "spark.sql.execution.arrow.maxBytesPerBatch": "7800000",  # eight of a sink's own batches
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",  # for one machine; a cluster wants more
    "spark.sql.streaming.metricsEnabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def register(spark: SparkSession) -> None:
    """Make the data source known to a session that is there already, with workers that run the driver's Python.

    A source that is registered runs with the Python that the session had by then, in planning as in tasks. On one
    machine that can be this one. The workers of a cluster are on other machines, and those of a Spark Connect server
    are the server's: they need a Python that has Tidelog, and their session is left as it is.
    """
    from tidelog.spark.data_source import TidelogDataSource

    context = getattr(spark, "_sc", None)  # a session of Spark Connect has none
    if context is not None and "PYSPARK_PYTHON" not in os.environ and context.master.startswith("local"):
        context.pythonExec = sys.executable
    spark.dataSource.register(TidelogDataSource)


def tidelog_session(name: str, *, master: str | None = None, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A local session (or one on `master`) whose workers use this Python."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    if master is not None or "SPARK_REMOTE" not in os.environ:
        builder = builder.master(master or "local[*]")
    for key, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()
