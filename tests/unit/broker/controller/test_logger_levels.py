"""Levels of loggers: what is refused is refused before anything changes."""

from __future__ import annotations

import logging

import pytest

from tidelog.broker import logging_setup
from tidelog.broker.controller.config_changes import AlterOperation, Change
from tidelog.broker.controller.logger_levels import change_levels
from tidelog.common.errors import ErrorCode, KafkaError

NAME = "tidelog.requests"


@pytest.fixture(autouse=True)
def _levels_as_before():
    before = logging.getLogger(NAME).level
    yield
    logging.getLogger(NAME).setLevel(before)


@pytest.mark.parametrize(
    "wrong",
    [
        Change(NAME, AlterOperation.APPEND, "DEBUG"),
        Change(NAME, AlterOperation.SUBTRACT, "DEBUG"),
        Change(logging_setup.ROOT, AlterOperation.DELETE, None),
    ],
)
def test_one_wrong_change_keeps_all_from_being_made(wrong: Change) -> None:
    before = logging.getLogger(NAME).level
    with pytest.raises(KafkaError) as caught:
        change_levels([Change(NAME, AlterOperation.SET, "DEBUG"), wrong])
    assert caught.value.code is ErrorCode.INVALID_REQUEST
    assert logging.getLogger(NAME).level == before


def test_a_level_is_set_and_taken_away() -> None:
    change_levels([Change(NAME, AlterOperation.SET, "DEBUG")], validate_only=True)
    assert logging.getLogger(NAME).level == logging.NOTSET
    change_levels([Change(NAME, AlterOperation.SET, "DEBUG")])
    assert logging.getLogger(NAME).level == logging.DEBUG
    change_levels([Change(NAME, AlterOperation.DELETE, None)])
    assert logging.getLogger(NAME).level == logging.NOTSET
