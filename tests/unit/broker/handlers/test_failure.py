"""A handler that fails in a way nobody foresaw: the answer says so wherever it has room for a code."""

from __future__ import annotations

import pytest

from support.messages import Randomizer
from tidelog.broker.handlers import HANDLERS, Handler
from tidelog.broker.handlers.failure import failed
from tidelog.broker.handlers.records._fetch import FetchAsk
from tidelog.broker.handlers.transactions import add_partitions
from tidelog.common.errors import ErrorCode
from tidelog.protocol import messages as m
from tidelog.protocol.api import ApiKey, request_class, response_class
from tidelog.protocol.message import Structure

UNKNOWN = ErrorCode.UNKNOWN_SERVER_ERROR


def codes(entry: Structure) -> list[int]:
    """All error codes of an answer, from the top down to the first level that has them."""
    own = [getattr(entry, name) for name in ("error_code", "partition_error_code") if hasattr(entry, name)]
    if any(own):
        return own
    lists = [getattr(entry, field.name) for field in entry._schema_.fields if field.array and field.struct]
    return [code for items in lists for item in items or () for code in codes(item)]


@pytest.mark.parametrize("row", HANDLERS, ids=lambda row: row.key.name)
def test_every_version_says_it(row: Handler) -> None:
    told = 0
    for version in range(row.min_version, row.max_version + 1):
        for number in range(8):
            request = Randomizer((row.key, version, number)).message(request_class(row.key).__name__, version)
            asked = FetchAsk.decode(request.encode(version), version) if row.key is ApiKey.FETCH else request
            parts = failed(row.key, version, asked, UNKNOWN).encode_parts(version)
            answer = response_class(row.key).decode(b"".join(parts), version)
            found = codes(answer)
            told += len(found)
            assert set(found) <= {UNKNOWN}, answer
    assert told


def test_names_come_back() -> None:
    Topic = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    request = m.AddPartitionsToTxnRequest(v3_and_below_topics=[Topic(name="t", partitions=[3, 5])])
    (topic,) = failed(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request, UNKNOWN).results_by_topic_v3_and_below
    assert topic.name == "t"
    found = [(entry.partition_index, entry.partition_error_code) for entry in topic.results_by_partition]
    assert found == [(3, UNKNOWN), (5, UNKNOWN)]


def test_a_broker_answers_it(ask, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way: before, versions up to 3 were answered with an empty body, which clients take for success."""

    async def broken(*arguments: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(add_partitions, "_add", broken)
    Topic = m.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    topics = [Topic(name="t", partitions=[0])]
    request = m.AddPartitionsToTxnRequest(v3_and_below_transactional_id="x", v3_and_below_topics=topics)
    (topic,) = ask(request, 3).results_by_topic_v3_and_below
    assert [entry.partition_error_code for entry in topic.results_by_partition] == [UNKNOWN]
