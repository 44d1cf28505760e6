"""Errors that say what is wrong, of what, and what to do about it."""

from __future__ import annotations

from tidelog.admin import AdminError
from tidelog.client.admin.hints import failure, outcome, with_next_step
from tidelog.common.errors import ErrorCode, KafkaError


def test_the_brokers_text_comes_first_and_then_the_next_step() -> None:
    error = failure(ErrorCode.NON_EMPTY_GROUP, None, "group g")
    assert error.reason == "group g: The group is not empty"
    assert error.message.endswith("; stop its members first, or remove_members_from_consumer_group.")


def test_partitions_are_one_at_least() -> None:
    assert "a topic has one at least" in str(failure(ErrorCode.INVALID_PARTITIONS))


def test_what_the_broker_names_is_not_named_twice() -> None:
    assert failure(ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'a.b' already exists.", "topic a.b").reason == (
        "Topic 'a.b' already exists"
    )
    assert failure(ErrorCode.INVALID_CONFIG, "bad value", "topic a").reason == "topic a: bad value"


def test_codes_of_the_future_are_told_by_number() -> None:
    error = failure(999, "no way")
    assert (error.code, error.next_step) == (ErrorCode.UNKNOWN_SERVER_ERROR, None)
    assert "error 999, which this client does not know" in error.message


def test_an_error_with_more_to_tell_stays_what_it_is() -> None:
    bare = KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, "broker 7 is not there")
    assert with_next_step(bare).message == "broker 7 is not there; describe_cluster() lists the brokers."
    special = AdminError(ErrorCode.BROKER_NOT_AVAILABLE, "x", None)
    assert with_next_step(special) is special
    unknown = KafkaError(ErrorCode.CORRUPT_MESSAGE)
    assert with_next_step(unknown) is unknown


def test_no_code_is_no_error() -> None:
    assert outcome(5, 0) == 5
    assert isinstance(outcome(5, ErrorCode.INVALID_CONFIG), KafkaError)
