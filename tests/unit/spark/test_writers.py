"""The sink's driver side, without Spark and brokers: what an abort does that no task has left a message for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")

from pyspark.sql.types import StringType, StructField, StructType

from tidelog.spark.options import sink_options
from tidelog.spark.writers import StreamWriter, TaskCommitMessage

SCHEMA = StructType([StructField("value", StringType())])


class Recorder(StreamWriter):
    """Writes down what its protocol is asked to abort."""

    def __init__(self, **options: str) -> None:
        place = {"kafka.bootstrap.servers": "127.0.0.1:1", "topic": "t"}
        super().__init__(sink_options({**place, **options}), SCHEMA)
        self.aborted: list[tuple[str, int]] = []

    def _protocol(self, driver: object, query: str, batch_id: int) -> Any:
        writer = self

        class Protocol:
            def abort(self) -> None:
                writer.aborted.append((query, batch_id))

        return Protocol()


def test_the_tasks_messages_name_the_query() -> None:
    writer = Recorder(queryId="other")
    writer.abort([None, TaskCommitMessage("q", 0)], 3)
    assert writer.aborted == [("q", 3)]


def test_without_messages_the_option_or_the_checkpoint_names_it(tmp_path: Path) -> None:
    (tmp_path / "metadata").write_text('{"id":"from-checkpoint"}')
    writer = Recorder(checkpointLocation=str(tmp_path))
    writer.abort([None, None], 7)
    assert writer.aborted == [("from-checkpoint", 7)]
    writer = Recorder(checkpointLocation=str(tmp_path), queryId="named")
    writer.abort([], 7)
    assert writer.aborted == [("named", 7)]


def test_a_query_that_nobody_names_is_left_to_the_next_batch(caplog: pytest.LogCaptureFixture) -> None:
    writer = Recorder()
    writer.abort([None], 7)
    assert writer.aborted == []
    assert "the next batch aborts its rest" in caplog.text


def test_without_transactions_there_is_nothing_to_abort() -> None:
    writer = Recorder(delivery="at_least_once", queryId="q")
    writer.abort([None], 7)
    assert writer.aborted == []
