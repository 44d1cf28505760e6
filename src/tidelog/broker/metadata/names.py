"""Which names a topic may have.

A topic's name becomes the name of its directories (`<topic>-<partition>`), of nodes in the store and of metrics. That
is where the rules come from: no slash, no `..`, and no more than 249 characters, so that the directory's name stays
below the 255 of most file systems with a partition number and a suffix such as `-delete` behind it. In the names of
metrics dots become underscores, so two topics must not differ in those alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tidelog.common.errors import ErrorCode, KafkaError

MAX_NAME_LENGTH = 249
METADATA_LOG_TOPIC = "__cluster_metadata"
_ALLOWED = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    reason = _fault(name)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {reason}")


def is_valid_topic_name(name: str) -> bool:
    return _fault(name) is None


def collision_key(name: str) -> str:
    return name.replace(".", "_")


def check_collision(name: str, existing: Iterable[str]) -> None:
    """Raise when a topic of another name would have the same metrics (`a.b` and `a_b`)."""
    if "." not in name and "_" not in name:
        return
    key = collision_key(name)
    for other in existing:
        if other != name and collision_key(other) == key:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}")


def _fault(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_NAME_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    if _ALLOWED.fullmatch(name) is None:
        return f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    return None
