"""A query's checkpoint, as far as the sink needs it: the file `metadata` in it holds the query's id.

Spark gives a sink's driver side the batch's number and the tasks' messages, and these name the query. When every task
has failed there are none. A checkpoint on a disk that the driver sees still tells it; for others there is no answer.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tidelog.common.fs import LOCAL_FS, FileSystem

_LOCAL_SCHEMES = ("", "file")


def query_of_checkpoint(location: str | None, fs: FileSystem = LOCAL_FS) -> str | None:
    """The id of the query whose checkpoint is there; None if that cannot be told from here."""
    if not location:
        return None
    place = urlsplit(location)
    if place.scheme not in _LOCAL_SCHEMES or place.netloc:
        return None
    path = Path(unquote(place.path) if place.scheme else location)
    try:
        found = json.loads(fs.read_bytes(path / "metadata"))
    except (OSError, ValueError):
        return None
    query = found.get("id") if isinstance(found, dict) else None
    return query if isinstance(query, str) and query else None
