"""Whether everything that a fetch holds of a log's files has been given back."""

from __future__ import annotations

from support.loop import until
from tidelog.log.manager.manager import LogManager


def pins(manager: LogManager) -> int:
    """How many uses of segment files are open."""
    files = (segment.data for log in manager.logs.values() for segment in log.segments)
    return sum(file.pins for file in files)


async def all_given_back(manager: LogManager) -> None:
    await until(lambda: pins(manager) == 0)
