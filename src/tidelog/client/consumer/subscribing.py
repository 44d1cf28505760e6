"""What `subscribe` takes: names, a Python pattern, or a pattern for the server.

consumer.subscribe(["orders", "payments"])
consumer.subscribe(re.compile("orders-.*"))         # this client looks at the topics from time to time
consumer.subscribe(ServerPattern("orders-.*"))      # the broker does (RE2; group.protocol=consumer)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from tidelog.client.consumer.subscription import Mode
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition


class ServerPattern(NamedTuple):
    """A regular expression in RE2's syntax that the group coordinator resolves (Java's SubscriptionPattern)."""

    pattern: str


Topics = Iterable[str] | re.Pattern[str] | ServerPattern


def subscription_of(topics: Topics) -> tuple[Mode, dict[str, Any]]:
    """The mode and what it holds; nothing for an empty list, which means to unsubscribe."""
    if isinstance(topics, re.Pattern):
        return Mode.PATTERN, {"pattern": topics, "names": frozenset()}
    if isinstance(topics, ServerPattern):
        if not topics.pattern:
            raise UsageError("a ServerPattern must not be empty")
        return Mode.SERVER_PATTERN, {"server_pattern": topics.pattern}
    if isinstance(topics, str):
        raise UsageError(f"subscribe takes a list of topics: [{topics!r}], or re.compile({topics!r}) for a pattern")
    names = frozenset(topics)
    if any(not isinstance(name, str) or not name.strip() for name in names):
        raise UsageError("subscribe takes names of topics that are not empty")
    return Mode.TOPICS, {"names": names} if names else {}


def partitions_of(given: Iterable[Any]) -> list[TopicPartition]:
    """What `assign` takes: pairs of a topic's name and a number. A name alone is a matter for `subscribe`, and a single
    partition is still a list of one.
    """
    wanted = list(given)
    for each in wanted:
        pair = isinstance(each, tuple | list) and len(each) == 2
        if not pair or not isinstance(each[0], str) or not isinstance(each[1], int):
            raise UsageError(f'assign takes a list of partitions, as [TopicPartition("orders", 0)]: {each!r} is none')
        if not each[0] or each[1] < 0:
            raise UsageError("assign takes partitions of topics with a name, numbered from 0")
    return [TopicPartition(*each) for each in wanted]
