"""ProducerRecord: what is to be written; RecordMetadata: where it was.

A record has no offset until its partition's leader gives it one, and no partition until the partitioner has chosen one,
unless the caller names it. Its timestamp is the caller's, else the time of `send`; a topic with
`message.timestamp.type=LogAppendTime` replaces it by the broker's, and then that is what `RecordMetadata` tells.

What a record may be made of is written here, once. The compiled way of `send` takes what is plainly right and leaves
everything else to the long way, which asks `checked` and `header_pairs`: so a mistake is refused in the same words
whether it is made with the first record or with the thousandth.

Why some things are refused that could be made to work:

- A float as a timestamp or a partition. `time.time()` are seconds; cut to an integer and taken for milliseconds they
  are a day in January 1970, and a topic with `retention.ms` deletes such records at its next check. Whole numbers of
  any type will do, NumPy's too.
- A callback that cannot be called. When the outcome is known, `send` has long returned: nobody would see the error.
- Text of two letters as a header, though it can be unpacked like a pair. A header's value may be text; a name must be.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import index
from typing import Any

from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import MAX_INT64


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


def checked(record: ProducerRecord) -> ProducerRecord:
    """The record with its numbers as Python's own, if it can be sent as it is; UsageError otherwise."""
    if not isinstance(record.topic, str):
        raise UsageError(f"topic {record.topic!r}: expected its name as a str, not {type(record.topic).__name__}")
    partition = _whole(record.partition, "partition", "0 or more, or None")
    timestamp = _whole(
        record.timestamp, "timestamp", "whole milliseconds since 1970 (int(time.time() * 1000)), or None"
    )
    if partition is not None and partition < 0:
        raise UsageError(f"partition {partition}: expected 0 or more, or None")
    if timestamp is not None and not 0 <= timestamp <= MAX_INT64:
        raise UsageError(f"a timestamp of {timestamp} ms: expected milliseconds since 1970, or None for now")
    return record._replace(partition=partition, timestamp=timestamp)


def _whole(given: Any, name: str, expected: str) -> int | None:
    """A number that counts something; text and fractions do not."""
    if given is None:
        return None
    try:
        return index(given)
    except TypeError:
        raise UsageError(f"{name} {given!r}: expected {expected}, not a {type(given).__name__}") from None


def header_pairs(headers: Any) -> tuple[tuple[str, bytes | None], ...]:
    """Pairs, from a list of pairs or a mapping; text values become UTF-8."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple(_header(pair) for pair in pairs)


def _header(pair: Any) -> tuple[str, bytes | None]:
    """One name and its value. (Text of two letters could be unpacked, too, but nobody means that.)"""
    if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2:
        raise UsageError(
            f"record header {pair!r}: expected a pair of name and value, as in headers=[('name', b'value')]"
        )
    name, value = pair
    if not isinstance(name, str):
        raise UsageError(f"the name of a record header is a str, not {type(name).__name__}")
    if isinstance(value, str):
        return name, value.encode()
    if value is not None and not isinstance(value, bytes):
        raise UsageError(f"the value of a record header is bytes, str or None, not {type(value).__name__}")
    return name, value


def check_callable(on_delivery: object) -> None:
    """Said at once: when the outcome is known, `send` has long returned."""
    if on_delivery is not None and not callable(on_delivery):
        text = f"on_delivery={on_delivery!r}: expected a function of metadata and error, or None"
        raise UsageError(text)
