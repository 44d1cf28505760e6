"""ProducerRecord: what is to be written; RecordMetadata: where it was.

A record has no offset until its partition's leader gives it one, and no partition until the partitioner has chosen one,
unless the caller names it. Its timestamp is the caller's, else the time of `send`; a topic with
`message.timestamp.type=LogAppendTime` replaces it by the broker's, and then that is what `RecordMetadata` tells.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tidelog.common.named_tuple import NamedTuple


class ProducerRecord(NamedTuple):
    """One record as a program has it: key and value are what the serializers take. Interceptors may return another."""

    topic: str
    value: Any = None
    key: Any = None
    partition: int | None = None
    timestamp: int | None = None
    headers: Sequence[tuple[str, bytes | None]] | None = None


class RecordMetadata(NamedTuple):
    """Where a record lies, as the broker has answered.

    `offset` is -1 where nobody knows it: with acks=0 no broker answers, and one that recognises a batch as a duplicate
    of an older one may not remember where that was. Sizes are of the serialized bytes, -1 for null.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    serialized_key_size: int
    serialized_value_size: int


#: Told of a record's outcome: where it is, and what went wrong (None: nothing).
OnDelivery = Callable[[RecordMetadata | None, Exception | None], object]
