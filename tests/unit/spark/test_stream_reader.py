"""The stream's reader in the planner, and its copies in the tasks."""

from __future__ import annotations

import pickle

from tidelog.spark.options import source_options
from tidelog.spark.stream_reader import StreamReader


def test_tasks_get_a_copy_without_connections() -> None:
    options = source_options({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}, streaming=True)
    reader = StreamReader(options, ("value",))
    try:
        assert reader._connected() is reader._connected()
        copy = pickle.loads(pickle.dumps(reader))
        assert copy._options == options
        assert copy._client is None
    finally:
        reader.stop()
