"""Where Tidelog answers otherwise than Apache Kafka on purpose, each with its reason."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from interop.differential.session import Entry
from tidelog.protocol.api import api_spec


class Exception_(NamedTuple):
    api: str
    """A pattern for `Name vN`."""
    label: str
    path: str
    reason: str
    oracle: str = ""
    """Only against this version of Apache Kafka."""


EXCEPTIONS: tuple[Exception_, ...] = ()


def reason_for(oracle: str, entry: Entry, path: str, theirs: Any, ours: Any) -> str | None:
    """Why this field may differ, or None."""
    api = f"{api_spec(entry.key).name} v{entry.version}"
    for row in EXCEPTIONS:
        if (
            oracle.startswith(row.oracle)
            and re.fullmatch(row.api, api)
            and re.fullmatch(row.label, entry.label)
            and re.fullmatch(row.path, path)
        ):
            return row.reason
    return None
