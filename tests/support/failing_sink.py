"""A sink that fails at one named step of the commit protocol; imported by Spark's workers, so it stands alone."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql.types import StructType

from tidelog.spark.data_source import TidelogDataSource
from tidelog.spark.options import sink_options
from tidelog.spark.writers import StreamWriter


class FailingWriter(StreamWriter):
    """Fails at one step, as often as the file that counts says."""

    def __init__(self, options: dict[str, str], schema: StructType) -> None:
        super().__init__(sink_options(options), schema)
        self.fail_at, self.counter, self.harmless = (
            options["failat"],
            Path(options["counter"]),
            int(options["harmless"]),
        )

    def step(self, name: str) -> None:
        if name != self.fail_at or self.counter.exists():
            return
        if self.harmless:
            self.harmless -= 1
            return
        self.counter.touch()
        raise RuntimeError(f"failed at {name!r}")


class FailingSource(TidelogDataSource):
    @classmethod
    def name(cls) -> str:
        return "tidelog_failing"

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        return FailingWriter(dict(self.options), schema)
