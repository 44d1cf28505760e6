"""What a producer is told of a batch that was refused: by the plain and by the compiled form of Produce alike.

An answer has an error code per partition. From version 8 on (KIP-467) it may also name the records that were wrong, and
say in words why. Kafka fills the words in only where the code alone would not help; so do we, with Kafka's choice of
cases. A producer that asked for no answer (acks=0) can be told nothing: its connection is closed, so that it asks for
metadata anew and does not go on writing into the void.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tidelog.broker.handlers.records.records_field import UnreadableRecords
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.net._connection import ServerConnection

logger = logging.getLogger("tidelog.requests")


class UnverifiedError(KafkaError):
    """The write's transaction is not what its coordinator knows; refused before the log is asked."""


def foreseen(error: Exception, tp: TopicPartition) -> KafkaError:
    """The error to answer with. One that nobody foresaw is logged, and told as Kafka tells it, without details."""
    if isinstance(error, KafkaError):
        return error
    logger.error("a produce request failed for %s", tp, exc_info=error)
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def reasons(error: KafkaError) -> tuple[Sequence[tuple[int, str]], str | None]:
    """The records that were refused, by their place in the batch with the reason of each; and why, in words, if that
    is told."""
    record_errors: Sequence[tuple[int, str]] = getattr(error, "record_errors", ())
    unverified = isinstance(error, UnverifiedError) and error.code is ErrorCode.INVALID_TXN_STATE
    says_why = bool(record_errors) or unverified or isinstance(error, UnreadableRecords)
    return record_errors, error.message if says_why else None


def close_unanswered(connection: ServerConnection, tp: TopicPartition, code: int) -> None:
    """Who asked for no answer learns of an error by losing the connection."""
    connection.close(f"a produce request with acks=0 failed for {tp}: {ErrorCode(code).name}")
