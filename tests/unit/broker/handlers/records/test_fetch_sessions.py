"""The cache of fetch sessions: room, eviction, epochs."""

from __future__ import annotations

from tidelog.broker.handlers.records._fetch import FetchedPartition, PartitionFetch
from tidelog.broker.handlers.records.fetch_sessions import FetchSessionCache
from tidelog.broker.requests._session import EVERYTHING, View
from tidelog.common.errors import ErrorCode
from tidelog.common.rng import seeded_rng
from tidelog.common.types import MAX_INT32, TopicPartition
from tidelog.common.uuids import ZERO_UUID


def asked(count):
    fetches = {}
    for number in range(count):
        tp = TopicPartition("t", number)
        fetches[b"", "t", number] = PartitionFetch(tp, ZERO_UUID, 0, 1000)
    return fetches


def cache(slots=2):
    return FetchSessionCache(seeded_rng(1), slots=slots, eviction_ms=1000)


def create(sessions, count=1, privileged=False, now=0, view=EVERYTHING):
    return sessions.create(asked(count), view, privileged=privileged, uses_ids=False, now_ms=now)


def test_no_room_means_no_session():
    sessions = cache()
    assert create(sessions)
    assert create(sessions)
    assert create(sessions) is None
    assert create(sessions, count=50) is None
    assert len(sessions) == 2


def test_the_unused_one_goes_first():
    sessions = cache()
    old, used = create(sessions), create(sessions)
    assert sessions.resume(used.id, EVERYTHING, 1, False, 1500) is used
    assert create(sessions, now=1600)
    assert sessions.resume(old.id, EVERYTHING, 1, False, 1700) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.evictions == 1


def test_a_larger_one_replaces_a_smaller_one_that_has_lived_long_enough():
    sessions = cache()
    small, large = create(sessions, count=2), create(sessions, count=9)
    for session in (small, large):
        sessions.resume(session.id, EVERYTHING, 1, False, 1400)
    assert create(sessions, count=2, now=1500) is None
    assert create(sessions, count=5, now=1500)
    assert sessions.resume(small.id, EVERYTHING, 2, False, 1600) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_followers_come_before_consumers():
    sessions = cache()
    create(sessions, count=9)
    create(sessions, count=9, privileged=True)
    assert create(sessions, count=1, privileged=True, now=1)
    assert create(sessions, count=1, privileged=True, now=2) is None


def test_the_epoch_wraps_to_one():
    sessions = cache()
    session = create(sessions)
    session.epoch = MAX_INT32
    assert sessions.resume(session.id, EVERYTHING, MAX_INT32, False, 5) is session
    assert session.epoch == 1


def test_who_got_records_goes_to_the_end():
    sessions = cache()
    session = create(sessions, count=3)
    keys = list(session.partitions)
    answers = [
        (key, FetchedPartition(n, high_watermark=1, records=b"x" if n == 0 else b"")) for n, key in enumerate(keys)
    ]
    assert len(session.changed(answers)) == 3
    assert list(session.partitions) == [keys[1], keys[2], keys[0]]
    quiet = [(key, FetchedPartition(n, high_watermark=1, records=b"")) for n, key in enumerate(keys)]
    assert session.changed(quiet) == []


def test_a_session_of_another_view_is_not_found():
    sessions, other = cache(), View("other")
    session = create(sessions)
    assert sessions.resume(session.id, other, 1, False, 1) == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert not sessions.remove(session.id, other)
    assert sessions.resume(session.id, EVERYTHING, 1, False, 2) is session
    theirs = create(sessions, view=other)
    assert sessions.resume(theirs.id, other, 1, False, 3) is theirs
    assert sessions.remove(session.id, EVERYTHING)
    assert len(sessions) == 1
