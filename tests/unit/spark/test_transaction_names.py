"""Whose transaction it is, from its name; and which names a query may have."""

from __future__ import annotations

import pytest

from tidelog.common.errors import UsageError
from tidelog.spark.options import sink_options
from tidelog.spark.transaction_names import TransactionName

PLACE = {"kafka.bootstrap.servers": "h:1", "topic": "t"}


@pytest.mark.parametrize("query", ["sales", "sales/eu", "sales/0/1", "q/7/0", "mit Umlaut ü"])
def test_a_name_tells_its_query_exactly(query: str) -> None:
    name = TransactionName(query, 7, 3, "12-aZ_-b")
    assert TransactionName.parse(str(name)) == name


@pytest.mark.parametrize("text", ["sales", "tidelog-spark/q/1/x/a", "tidelog-spark//1/2/a", "else/q/1/2/a"])
def test_other_ids_are_none_of_ours(text: str) -> None:
    assert TransactionName.parse(text) is None


@pytest.mark.parametrize("query", ["", "job-1", "tidelog-spark/q", "a\nb", "x" * 201])
def test_a_query_id_that_would_be_mistaken_is_refused(query: str) -> None:
    with pytest.raises(UsageError, match="option queryId must"):
        sink_options({**PLACE, "queryId": query, "batchId": "1"})


def test_a_query_id_that_is_fine() -> None:
    assert sink_options({**PLACE, "queryid": "sales/eu", "batchid": "1"}).query_id == "sales/eu"
