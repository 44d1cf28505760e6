"""Properties files that a command line names: a broker's or a client's configuration.

A `server.properties` of Kafka's and the `--command-config` of its tools are the same format, and are taken as they are:
unknown keys are the business of whoever gets the result, which names them.
"""

from __future__ import annotations

from pathlib import Path

from tidelog.common.errors import UsageError
from tidelog.common.properties import parse_properties


def read_properties(name: str) -> dict[str, str]:
    """What the file sets. It is UTF-8, or Latin-1 as Java reads it: whatever Kafka's tools accept is accepted.

    Java reads these files as Latin-1 with escapes; people write UTF-8 into them. What is valid UTF-8 is taken for that,
    since text that is meant as Latin-1 hardly ever is.
    """
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
