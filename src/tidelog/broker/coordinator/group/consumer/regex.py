"""Regular expressions in subscriptions (KIP-848), by RE2: its matching time is linear, so no pattern can hang us.

The broker resolves them, and not the client as in classic groups: all members with one pattern see the same topics.
Kafka's broker uses RE2/J, the same syntax, so a pattern means the same in both.
"""

from __future__ import annotations

from collections.abc import Iterable

import re2

from tidelog.common.errors import ErrorCode, KafkaError

#: What one compiled pattern may cost; a pattern beyond it is refused.
_MAX_MEMORY = 1 << 20


def compile_regex(pattern: str) -> re2._Regexp:
    """Raises INVALID_REGULAR_EXPRESSION, with RE2's own words."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MAX_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else ""
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {text}.",
        ) from error


def matching_topics(pattern: str, topics: Iterable[str]) -> frozenset[str]:
    """The topics whose whole name matches."""
    regex = compile_regex(pattern)
    return frozenset(topic for topic in topics if regex.fullmatch(topic) is not None)
