"""Levels of loggers, changed by IncrementalAlterConfigs: which changes Kafka takes, and carrying them out (KIP-412).

They hold for the running broker and are kept nowhere: the next start has the levels of its own config again. All
changes of a request are checked before the first is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.broker import logging_setup
from tidelog.broker.controller.config_changes import AlterOperation, Change
from tidelog.common.errors import ErrorCode, KafkaError


def change_levels(changes: Sequence[Change], *, validate_only: bool = False) -> None:
    """SET gives a logger a level of its own, DELETE takes it away: then that of the logger above it holds.

    Levels are no lists: APPEND and SUBTRACT are refused. So is DELETE of the root, which has nobody above.
    """
    for change in changes:
        _check(change)
    if not validate_only:
        for change in changes:
            logging_setup.set_level(change.name, change.value if change.operation == AlterOperation.SET else None)


def _check(change: Change) -> None:
    if change.operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
        verb = AlterOperation(change.operation).name
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{verb} operation is not allowed for the BROKER_LOGGER resource")
    if change.operation == AlterOperation.DELETE:
        if change.name == logging_setup.ROOT:
            text = f"Removing the log level of the {logging_setup.ROOT} logger is not allowed"
            raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        logging_setup.check_level(change.name, "INFO")
    else:
        logging_setup.check_level(change.name, change.value or "")
