"""Properties files that a command line names: a broker's or a client's configuration."""

from __future__ import annotations

from pathlib import Path

from tidelog.common.errors import UsageError
from tidelog.common.properties import parse_properties


def read_properties(name: str) -> dict[str, str]:
    """What the file sets. It is UTF-8, or Latin-1 as Java reads it: whatever Kafka's tools accept is accepted."""
    try:
        data = Path(name).read_bytes()
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    try:
        return parse_properties(text)
    except ValueError as error:
        raise UsageError(f"{name} is no properties file: {error}") from error
