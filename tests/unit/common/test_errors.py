"""The table of error codes, and the exceptions that carry them."""

from __future__ import annotations

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError, error_name


def test_error_table() -> None:
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER == 6
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.refresh_metadata
    assert not ErrorCode.MESSAGE_TOO_LARGE.retriable
    assert sorted(ErrorCode) == list(range(-1, 134))
    assert error_name(9999) == "ERROR_9999"


def test_errors_carry_code_and_text() -> None:
    assert KafkaError(3).code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    corrupt = CorruptRecordError("bad length", 17)
    assert corrupt.code == ErrorCode.CORRUPT_MESSAGE
    assert "byte 17" in str(corrupt)


def test_a_code_of_a_newer_kafka_is_an_unknown_error() -> None:
    assert ErrorCode(9999) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert KafkaError(9999).code is ErrorCode.UNKNOWN_SERVER_ERROR
