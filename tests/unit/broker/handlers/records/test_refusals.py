"""What a producer is told of a batch that was refused, in both forms of Produce."""

from __future__ import annotations

import logging

import pytest

from support.wire import batch, connected, produce_request, run, serving
from tidelog.broker.handlers.records.records_field import UnreadableRecords
from tidelog.broker.handlers.records.refusals import UnverifiedError, foreseen, reasons
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.api import ApiKey

TP = TopicPartition("t", 0)


def test_words_are_told_where_the_code_alone_would_not_help() -> None:
    assert reasons(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "somebody else")) == ((), None)
    assert reasons(UnreadableRecords("no batch")) == ((), "no batch")
    assert reasons(UnverifiedError(ErrorCode.INVALID_TXN_STATE, "not open")) == ((), "not open")
    assert reasons(UnverifiedError(ErrorCode.NOT_COORDINATOR, "elsewhere")) == ((), None)


def test_what_nobody_foresaw_is_logged_and_told_without_details(caplog: pytest.LogCaptureFixture) -> None:
    known = KafkaError(ErrorCode.INVALID_RECORD)
    assert foreseen(known, TP) is known
    assert not caplog.records
    with caplog.at_level(logging.ERROR, "tidelog.requests"):
        assert foreseen(ZeroDivisionError("secret"), TP).code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "t-0" in caplog.text
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("hot", [True, False])
def test_without_an_answer_the_connection_is_closed_and_says_why(tmp_path, caplog, hot):
    """A topic that is compacted refuses a record without a key."""

    async def main():
        async with serving(tmp_path, hot=hot) as broker, connected(broker) as client:
            broker.create_topic("t", 1, {"cleanup.policy": "compact"})
            client.send(ApiKey.PRODUCE, 9, produce_request({"t": {0: batch(b"v", key=None)}}, acks=0))
            assert await client.reader.read() == b""
            assert broker.network.sink.taken()[ApiKey.PRODUCE] == hot

    with caplog.at_level(logging.WARNING, "tidelog.net"):
        run(main())
    assert "a produce request with acks=0 failed for t-0: INVALID_RECORD" in caplog.text
