"""Fetch sessions (KIP-227): a consumer names its partitions once; later requests and answers carry only what changed.

    session id 0, epoch -1    no session wanted: everything in the request, everything in the answer
    any id,       epoch 0     make a new session (and drop the named one): as above, and the answer carries its id
    id,           epoch n>0   the n-th request of the session: changes in the request, changes in the answer

The cache holds at most `slots` sessions. A new one may push out one that has not been used for `eviction_ms`, or, if it
is itself larger, a smaller one that has lived that long; followers come before consumers. Who finds no room goes on
without a session. A session's key of a partition is (topic id, "", number) or (b"", topic, number): it uses ids or
names, never both. Several connections may go on with one session, as nothing but the epoch ties it to one: who has
waited while another did so is told INVALID_FETCH_SESSION_EPOCH, since what it was to be told may have changed. But they
must see the same (`View`): an answer is left out because an earlier one has told the same, which holds only for who was
allowed to know. To a connection of another view the session does not exist; it can neither go on with it nor drop it.
Everything here is a plain data structure; the owner says what time it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tidelog.broker.handlers.records._fetch import FetchedPartition, Key, PartitionFetch
from tidelog.broker.requests._session import View
from tidelog.common.errors import ErrorCode
from tidelog.common.rng import Rng
from tidelog.common.types import MAX_INT32, NO_EPOCH

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1


def next_epoch(epoch: int) -> int:
    """The epoch of the request after the one with this epoch."""
    return 1 if epoch == MAX_INT32 else epoch + 1


class CachedPartition:
    """What was asked of a partition, and what it was last told: the answer has it only if one of these has changed."""

    __slots__ = ("fetch", "high_watermark", "log_start_offset")

    def __init__(self, fetch: PartitionFetch) -> None:
        self.fetch = fetch
        self.high_watermark = -1
        self.log_start_offset = -1

    def take_news(self, data: FetchedPartition) -> bool:
        """Whether an answer holds anything that the consumer does not know yet; remembers it."""
        news = bool(data.records)
        if data.high_watermark != self.high_watermark:
            self.high_watermark = data.high_watermark
            news = True
        if data.log_start_offset != self.log_start_offset:
            self.log_start_offset = data.log_start_offset
            news = True
        if data.error_code:
            self.high_watermark = -1  # the answer after the error must tell it again
            news = True
        return news or data.diverging_epoch != NO_EPOCH or data.preferred_read_replica != -1


class FetchSession:
    """What one client fetches, in the order in which it shall be served next.

    `epoch` is the number of the request that is expected next: one that was lost, sent twice or sent by another shows
    as another number, and both sides begin anew rather than guess.
    """

    __slots__ = ("created_ms", "epoch", "id", "partitions", "privileged", "used_ms", "uses_ids", "view")

    def __init__(self, id: int, view: View, privileged: bool, uses_ids: bool, now_ms: int) -> None:
        self.id = id
        self.view = view
        self.privileged = privileged
        self.uses_ids = uses_ids
        self.created_ms = now_ms
        self.used_ms = now_ms
        self.epoch = 1
        self.partitions: dict[Key, CachedPartition] = {}

    def update(self, fetches: Mapping[Key, PartitionFetch], forgotten: Iterable[Key]) -> None:
        """Take a request's changes: new partitions and new positions, then those to be forgotten."""
        for key, fetch in fetches.items():
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = CachedPartition(fetch)
            else:
                known.fetch = fetch
        for key in forgotten:
            self.partitions.pop(key, None)

    def fetches(self) -> list[tuple[Key, PartitionFetch]]:
        return [(key, cached.fetch) for key, cached in self.partitions.items()]

    def changed(self, answers: Iterable[tuple[Key, FetchedPartition]]) -> list[tuple[Key, FetchedPartition]]:
        """The answers that hold news. Who got records goes to the end, so that the others come first next time."""
        told = []
        for key, data in answers:
            if self.partitions[key].take_news(data):
                told.append((key, data))
                if data.records:
                    self.partitions[key] = self.partitions.pop(key)
        return told


class FetchSessionCache:
    """All sessions of a broker, within `max.incremental.fetch.session.cache.slots`.

    Random ids keep a client from going on, by mistake or on purpose, with the session of another.
    """

    def __init__(self, rng: Rng, slots: int = 1000, eviction_ms: int = 120_000) -> None:
        self.slots = slots
        self.eviction_ms = eviction_ms
        self.evictions = 0
        self._rng = rng
        self._sessions: dict[int, FetchSession] = {}
        """In the order of their last use."""

    def __len__(self) -> int:
        return len(self._sessions)

    def create(
        self, fetches: Mapping[Key, PartitionFetch], view: View, *, privileged: bool, uses_ids: bool, now_ms: int
    ) -> FetchSession | None:
        """A new session, if there is room or room can be made."""
        if len(self._sessions) >= self.slots and not self._evict(privileged, len(fetches), now_ms):
            return None
        session_id = self._rng.randint(1, MAX_INT32)
        while session_id in self._sessions:
            session_id = self._rng.randint(1, MAX_INT32)
        session = FetchSession(session_id, view, privileged, uses_ids, now_ms)
        session.update(fetches, ())
        self._sessions[session_id] = session
        return session

    def resume(self, session_id: int, view: View, epoch: int, uses_ids: bool, now_ms: int) -> FetchSession | ErrorCode:
        """The session that a request goes on with; its epoch moves on."""
        session = self._find(session_id, view)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_ids != uses_ids:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = next_epoch(epoch)
        session.used_ms = now_ms
        self._sessions[session_id] = self._sessions.pop(session_id)
        return session

    def remove(self, session_id: int, view: View) -> bool:
        found = self._find(session_id, view) is not None
        if found:
            del self._sessions[session_id]
        return found

    def _find(self, session_id: int, view: View) -> FetchSession | None:
        session = self._sessions.get(session_id)
        return session if session is not None and session.view is view else None

    def _evict(self, privileged: bool, size: int, now_ms: int) -> bool:
        """Make room for one more, if there is a session that counts less.

        First the one that has not been used for longest, if that is long enough. Otherwise followers push out
        consumers, and a larger session a smaller one that has lived for a while: it saves more than the small one does.
        Who is pushed out notices by FETCH_SESSION_ID_NOT_FOUND, and begins anew.
        """
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now_ms - oldest.used_ms <= self.eviction_ms:
            candidates = [
                session
                for session in self._sessions.values()
                if (privileged and not session.privileged)
                or (
                    session.privileged <= privileged
                    and now_ms - session.created_ms > self.eviction_ms
                    and len(session.partitions) < size
                )
            ]
            if not candidates:
                return False
            oldest = min(candidates, key=lambda session: (session.privileged, len(session.partitions)))
        del self._sessions[oldest.id]
        self.evictions += 1
        return True
