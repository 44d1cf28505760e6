"""What a handler of a state machine returns, and how it answers later.

`Result(records, response)` means: append `records`, replay them, and give `response` once they (and everything
written before them) are committed. A request whose answer waits for other members (JoinGroup, SyncGroup) hands the
machine a `Reply`; the machine calls it when the answer is known, and returns `NO_RESPONSE`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tidelog.broker.coordinator.records import CoordinatorRecord
from tidelog.common.errors import KafkaError
from tidelog.common.named_tuple import NamedTuple


class Caller(NamedTuple):
    """Who sent the request that a handler works on. `client_id` and `client_host` are shown by DescribeGroups; a new
    member's id begins with the former.
    """

    client_id: str = ""
    client_host: str = "/127.0.0.1"
    api_version: int = 0


class _NoResponse:
    """The type of `NO_RESPONSE`."""

    def __repr__(self) -> str:
        return "NO_RESPONSE"


NO_RESPONSE: Final = _NoResponse()

Reply = Callable[[Any], None]
"""Called exactly once with the response message."""


@dataclass(slots=True)
class Result:
    """Records to write and the answer that waits for them.

    A KafkaError as `response` is an error that is true once the records are committed (fencing writes, then refuses).
    `replay=False`: the machine has applied the change itself (classic groups, whose membership is soft state).
    `undo` comes with that: no batch may hold the records, nothing was written, so make it untrue (of this group alone)
    and tell who waits; it gets the error. Without it the whole shard has to be loaded anew.
    `on_commit` runs once the records are committed; it may return a further result (a rebalance that it triggers).
    `divisible`: the records need not be written all or nothing; they may be too many for one batch.
    `producer`: (producer id, epoch) when the records belong to a transaction.
    """

    records: Sequence[CoordinatorRecord] = ()
    response: Any = NO_RESPONSE
    replay: bool = True
    undo: Callable[[KafkaError], Result | None] | None = None
    on_commit: Callable[[], Result | None] | None = None
    producer: tuple[int, int] | None = None
    divisible: bool = False
