"""Where to begin when there is no position: `auto.offset.reset`, `seek_to_beginning`, `since="10m"`.

All of them end as a ListOffsets question: a timestamp, or one of its special numbers. `Reset(None)` is the policy
`none`: the user is asked by an exception.

A duration is measured back from the moment in which the question is asked, not from the start of the program: a group
that gets a new partition after a week begins ten minutes before that. A time that no record is late enough for means
the end, as it does in Java.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

_ISO = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_SHORT = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

#: A time to begin at: "10m" or a timedelta ago, a datetime, or milliseconds since 1970.
Since = str | timedelta | datetime | int


class Reset(NamedTuple):
    """A question for ListOffsets: `timestamp`, or a duration before the time when it is asked; neither is `none`."""

    timestamp: int | None = None
    ago_ms: int | None = None

    @property
    def is_none(self) -> bool:
        return self.timestamp is None and self.ago_ms is None

    def asked_at(self, now_ms: int) -> int:
        """The timestamp to ask for."""
        if self.ago_ms is not None:
            return max(now_ms - self.ago_ms, 0)
        assert self.timestamp is not None
        return self.timestamp


EARLIEST = Reset(EARLIEST_TIMESTAMP)
LATEST = Reset(LATEST_TIMESTAMP)
NONE = Reset()


def policy(text: str) -> Reset:
    """`auto.offset.reset`, which the config has checked."""
    if text.startswith("by_duration:"):
        return Reset(ago_ms=_iso_ms(text.removeprefix("by_duration:")))
    return {"earliest": EARLIEST, "latest": LATEST, "none": NONE}[text]


def _iso_ms(text: str) -> int:
    match = _ISO.fullmatch(text)
    if match is None:
        raise UsageError(f"{text!r} is no ISO 8601 duration of days, hours, minutes and seconds")
    parts = {unit: float(number) for unit, number in match.groupdict().items() if number}
    return int(timedelta(**parts).total_seconds() * 1000)


def since(when: Since) -> Reset:
    """What `since=` may be: a text like "10m", "1h30m" or "2d", a timedelta, a datetime, or epoch milliseconds."""
    if isinstance(when, timedelta):
        return Reset(ago_ms=int(when.total_seconds() * 1000))
    if isinstance(when, datetime):
        if when.tzinfo is None:
            raise UsageError("since= takes a datetime with a time zone: which ten o'clock is meant?")
        return Reset(int(when.timestamp() * 1000))
    if isinstance(when, int):
        return Reset(when)
    pieces = _SHORT.findall(when)
    if not pieces or "".join(number + unit for number, unit in pieces) != when.replace(" ", ""):
        raise UsageError(f"since={when!r}: expected a duration like '90s', '10m', '1h30m', '2d'")
    return Reset(ago_ms=int(sum(float(number) * _UNITS[unit] for number, unit in pieces)))
