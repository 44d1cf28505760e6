"""Moments as people type them: a date, a date and time, or milliseconds since 1970.

UTC, unless the text says otherwise: a log is read on another machine than it was written on, and a time zone that
depends on where the command runs would find other records there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    IntParam = click.ParamType[int]
else:  # older clicks have no generic types
    IntParam = click.ParamType


def parse_moment(text: str) -> int | None:
    """Milliseconds since the epoch; None when the text is neither a date nor a number. UTC unless it says otherwise.

    Digits alone are milliseconds, as Kafka's tools take them. Everything else is ISO 8601, with a time zone or without.
    """
    if text.isdigit():
        return int(text)
    from datetime import UTC, datetime, timedelta

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


class Moment(IntParam):
    """For options of commands: a mistake is told like any other of click's."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = parse_moment(str(value))
        if found is None:
            self.fail(
                f"{value} is no time: expected 2026-01-31, 2026-01-31T12:00:00 (UTC), or milliseconds", param, ctx
            )
        return found


MOMENT = Moment()
