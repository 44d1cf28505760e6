"""Time-outs as they are given to a call: seconds, as a number; None where a call may wait for ever.

Kafka's settings count in milliseconds (`request.timeout.ms`) and Java's calls take a Duration; Python's own libraries
take seconds. So do the calls here. Whoever gives something else is told at once what was expected, and with which
number: a "1s" that fails as a TypeError three calls further down helps nobody, and a -1 that means "for ever" in one
library and "not at all" in another would be found out in production.
"""

from __future__ import annotations

import re
from datetime import timedelta
from numbers import Real
from typing import TypeVar

from tidelog.common.errors import UsageError

#: What follows a number in a text, in seconds.
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_TEXT = re.compile(rf"\s*(\d+(?:\.\d+)?)\s*({'|'.join(_UNITS)})?\s*")

Seconds = TypeVar("Seconds", float, float | None)


def seconds(given: Seconds, name: str = "timeout") -> Seconds:
    """What was given, if it is a time-out: a number that is not negative, or None. UsageError for anything else.

    Floats and ints are through at the first look: `poll` comes by here each time.
    """
    if given is None or (type(given) in (float, int) and given >= 0):
        return given
    if not isinstance(given, Real) or isinstance(given, bool):
        raise UsageError(f"{name}={given!r}: a time-out is a number of seconds{_meant(given, name)}")
    if not given >= 0:
        raise UsageError(f"{name}={given!r}: a time-out is not negative (None waits for as long as it takes)")
    return float(given)


def lock_wait(given: float | None) -> float:
    """The same for a future's `result`, as a lock takes it: -1 waits for ever. What is negative is over, as with
    Python's own futures: their callers count down to a deadline.
    """
    if given is None:
        return -1
    return 0.0 if isinstance(given, float | int) and given < 0 else seconds(given)


def _meant(given: object, name: str) -> str:
    """What would have been right, if that can be told."""
    if isinstance(given, timedelta):
        return f", as {name}={given.total_seconds():g}"
    if isinstance(given, str) and (found := _TEXT.fullmatch(given)) is not None:
        number, unit = found.groups()
        return f", as {name}={float(number) * _UNITS[unit or 's']:g}"
    return f", as {name}=1.5"
