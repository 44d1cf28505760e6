"""The query's id, from its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.spark.checkpoint import query_of_checkpoint


def test_the_query_of_a_checkpoint(tmp_path: Path) -> None:
    home = tmp_path / "with a blank"
    home.mkdir()
    (home / "metadata").write_text('{"id":"1a-2b"}')
    assert query_of_checkpoint(str(home)) == "1a-2b"
    assert query_of_checkpoint(home.as_uri()) == "1a-2b"


@pytest.mark.parametrize("content", [None, "", "[]", "{}", '{"id":""}'])
def test_no_answer(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "metadata").write_text(content)
    assert query_of_checkpoint(str(tmp_path)) is None
    assert query_of_checkpoint("hdfs://namenode/checkpoint") is None
    assert query_of_checkpoint(None) is None
