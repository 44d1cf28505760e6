"""One broker's fetch session (KIP-227), as the side keeps it that asks (pure): a consumer, or a follower's fetcher.

A full fetch names every partition and opens a session; each later fetch of the session names only what changed, and
its answer only what has news. The epoch counts the fetches of a session; when the broker has forgotten the session,
or counts otherwise, the next fetch is a full one again.

    (no session) --full fetch--> epoch 0, answer gives the id --incremental--> epoch 1, 2, ...
         ^------------------------- session error, or lost connection -----------'

A topic is what its id says: one that was deleted and made anew under its name is forgotten by its old id and named by
the new one. Else the broker would go on answering for the old one, at once and with nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.common.errors import ErrorCode
from tidelog.common.types import MAX_INT32, NO_EPOCH, TopicPartition
from tidelog.common.uuids import ZERO_UUID

NO_SESSION = 0
INITIAL_EPOCH = 0


@dataclass(frozen=True)
class FetchPosition:
    """What a fetch asks of one partition."""

    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    topic_id: bytes = ZERO_UUID


@dataclass(frozen=True)
class FetchPlan:
    """One fetch: the session's coordinates, what to name, what to drop (with the topic's id of then)."""

    session_id: int
    epoch: int
    send: dict[TopicPartition, FetchPosition]
    forget: dict[TopicPartition, bytes] = field(default_factory=dict)


class FetchSessionHandler:
    """What the broker believes that we want, and the coordinates of the next fetch."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """The connection or the session is gone: begin anew."""
        self._id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._known: dict[TopicPartition, FetchPosition] = {}

    def plan(self, wanted: Mapping[TopicPartition, FetchPosition]) -> FetchPlan:
        """The next fetch that makes the broker's view equal to `wanted`."""
        if self._epoch == INITIAL_EPOCH:
            send, forget = dict(wanted), {}
        else:
            send = {tp: position for tp, position in wanted.items() if self._known.get(tp) != position}
            forget = {
                tp: known.topic_id
                for tp, known in self._known.items()
                if tp not in wanted or wanted[tp].topic_id != known.topic_id
            }
        self._known = dict(wanted)
        return FetchPlan(self._id, self._epoch, send, forget)

    def accept(self, error: int, session_id: int) -> bool:
        """Take in an answer's coordinates. False: the session is lost and the fetch must be repeated as a full one."""
        if error in (
            ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            ErrorCode.INVALID_FETCH_SESSION_EPOCH,
            ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
        ):
            self.reset()
            return False
        if session_id == NO_SESSION:  # the broker keeps no session for us: every fetch is a full one
            self.reset()
            return True
        self._id = session_id
        self._epoch = 1 if self._epoch == MAX_INT32 else self._epoch + 1
        return True
