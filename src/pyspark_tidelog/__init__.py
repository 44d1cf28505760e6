"""By this module Spark finds the data source "tidelog": it imports every top-level `pyspark_*` it can see."""

from tidelog.spark.data_source import TidelogDataSource as DefaultSource

__all__ = ["DefaultSource"]
