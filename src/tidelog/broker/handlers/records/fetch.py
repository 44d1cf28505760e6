"""Fetch, versions 0 to 18: read records from partitions.

The answer names bytes of segment files; they leave by sendfile. Only old clients (versions 0 to 3) make the broker
touch records: what it stores in magic 2 is converted to what they understand, on a thread.

A fetch is a long poll. If less than `min_bytes` can be read it waits in the purgatory, up to `max_wait_ms`, until
enough has come; an error in any partition is answered at once. Followers fetch like consumers, with their own id in
`replica_id`: where they fetch from tells the leader how far they have come, which is what moves the high watermark.

An incremental fetch (version 7, KIP-227) names only what has changed since the last request of its session, and is
answered only with partitions that have news: `fetch_sessions.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tidelog.broker import config as keys
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.records._fetch import FetchAnswer, FetchAsk, FetchedPartition, Key, PartitionFetch
from tidelog.broker.handlers.records.fetch_sessions import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    FetchSession,
    next_epoch,
)
from tidelog.broker.handlers.records.fetching import (
    NO_RECORDS,
    DelayedFetch,
    FetchParams,
    FetchRead,
    failed,
    read_all,
    release,
)
from tidelog.broker.handlers.records.leaders import leader_hint
from tidelog.broker.handlers.records.services import RecordServices
from tidelog.broker.handlers.records.versions import Fetch
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import FetchResponse
from tidelog.records.format.convert import down_convert

ISOLATION_LEVELS = (0, 1)
HINTED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
#: Old clients: the newest magic that each version understands.
OLD_MAGIC = {0: 0, 1: 0, 2: 1, 3: 1}
Fetches = dict[Key, PartitionFetch]


async def handle(services: RecordServices, ctx: RequestContext, request: FetchAsk) -> FetchAnswer:
    """The whole way of one fetch: which partitions, read, wait, convert, remember what was told.

    File slices are open files. Whatever was read and is not sent must be given back: on every way out but the last the
    answers are released, also when the client leaves while records are converted.

    Errors of the session (unknown id, wrong epoch) are those of the whole answer, and name no partition: the client
    then begins a new session with a full request.
    """
    fetches = request.fetches(services.metadata.topic_name)
    sessions = services.sessions
    session: FetchSession | None = None
    if request.isolation_level not in ISOLATION_LEVELS:
        return _refused(services, ctx, request, fetches)
    if request.session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        found = _resume(services, ctx, request, fetches)
        if isinstance(found, ErrorCode):
            return FetchAnswer(found)
        session = found
        pairs = session.fetches()
    else:
        pairs = list(fetches.items())
        if request.session_id != NO_SESSION:
            sessions.remove(request.session_id, ctx.session.view)
    wanted = [fetch for _, fetch in pairs]
    answers = await _read(services, _params(services, request), wanted)
    try:
        if request.version in OLD_MAGIC:
            for index, fetch in enumerate(wanted):
                answers[index] = await _convert(services, ctx, fetch, answers[index])
        told = list(zip([key for key, _ in pairs], answers, strict=True))
        if session is not None and session.epoch != next_epoch(request.session_epoch):
            release(answers)  # another connection went on with the session while this one waited
            return FetchAnswer(ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.id)
        session_id = NO_SESSION
        if session is not None:
            told = session.changed(told)
            session_id = session.id if session.partitions else NO_SESSION
            if not session.partitions:
                sessions.remove(session.id, session.view)
        elif request.session_epoch == INITIAL_EPOCH and request.version >= Fetch.SESSIONS:
            session_id = _new_session(services, ctx, request, fetches, told)
        return _answer(services, ctx, request, FetchAnswer(session_id=session_id), told, dict(pairs))
    except BaseException:  # the client may leave while records are converted
        release(answers)
        raise


# -- the request -----------------------------------------------------------------------------------------------------


def _resume(
    services: RecordServices, ctx: RequestContext, request: FetchAsk, fetches: Fetches
) -> FetchSession | ErrorCode:
    """The session that the request goes on with, brought up to date, or why it cannot.

    A session belongs to what its connection may see: one of another view is as good as unknown.
    """
    sessions, view, now_ms = services.sessions, ctx.session.view, services.clock.time_ms()
    session = sessions.resume(request.session_id, view, request.session_epoch, request.uses_ids, now_ms)
    if isinstance(session, FetchSession):
        session.update(fetches, request.forgotten_keys())
        if session.uses_ids:
            _resolve_again(services, session)
    return session


def _resolve_again(services: RecordServices, session: FetchSession) -> None:
    """Topic ids that were not known when the session heard of them may be by now, or may have gone.

    A consumer may hear of a new topic before this broker does, and asks for it with UNKNOWN_TOPIC_ID as the answer; the
    session goes on, and the partition is served as soon as the id is known.
    """
    for (topic_id, _, partition), cached in session.partitions.items():
        name = services.metadata.topic_name(topic_id)
        if (name is None) != (cached.fetch.error == ErrorCode.UNKNOWN_TOPIC_ID):
            cached.fetch.tp = TopicPartition(name or "", partition)
            cached.fetch.error = ErrorCode.NONE if name is not None else ErrorCode.UNKNOWN_TOPIC_ID


def _params(services: RecordServices, request: FetchAsk) -> FetchParams:
    """The limits of this fetch. A consumer gets no more than `fetch.max.bytes` of the broker's config allows; a
    follower, which must keep up, gets what it asks for.
    """
    limit = request.max_bytes
    if request.replica_id < 0:
        limit = min(limit, services.config[keys.FETCH_MAX_BYTES])
    return FetchParams(
        replica_id=request.replica_id,
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, limit),
        max_bytes=limit,
        committed_only=request.isolation_level == 1 and request.replica_id < 0,
        hard_limit=request.version < Fetch.MAX_BYTES,
    )


# -- reading ---------------------------------------------------------------------------------------------------------


async def _read(
    services: RecordServices, params: FetchParams, fetches: Sequence[PartitionFetch]
) -> list[FetchedPartition]:
    """Read now; if that is too little, wait for more and read again.

    What was read first is given back before the wait, as it would keep files open, and read anew at the end: the answer
    then has all that came meanwhile, within the limits. A client that says `max_wait_ms=0` gets what there is.
    """
    replicas = services.replicas
    read: FetchRead = read_all(replicas, params, fetches)
    if read.answer_now or read.bytes >= params.min_bytes or params.max_wait_ms <= 0 or not fetches:
        return read.partitions
    release(read.partitions)
    waiting = DelayedFetch(replicas, params, fetches)
    keys_of = [fetch.tp for fetch in fetches]
    if not services.purgatories.fetch.try_or_watch(waiting, keys_of, params.max_wait_ms):
        await waiting.done
    return read_all(replicas, params, fetches).partitions


async def _convert(
    services: RecordServices, ctx: RequestContext, fetch: PartitionFetch, data: FetchedPartition
) -> FetchedPartition:
    """Records for a client that does not know how they are stored (KIP-283).

    A topic may forbid it (`message.downconversion.enable`): such clients get UNSUPPORTED_VERSION then. Conversion
    unpacks and packs records and loses what the old magic has no room for (headers, sequences).
    """
    if not data.records:
        return data
    partition = services.replicas.partition(fetch.tp)
    config = partition.log.config if partition is not None else None
    if config is not None and not config.message_downconversion_enable:
        release([data])
        return failed(fetch, ErrorCode.UNSUPPORTED_VERSION)
    magic = OLD_MAGIC[ctx.header.api_version]
    piece: Any = data.records
    data.records = NO_RECORDS  # the file is the work's now, which may outlast this request

    def work() -> bytes:
        return down_convert(piece.read(), magic, fetch.fetch_offset)

    try:
        data.records = await services.workers.run(work, after=piece.release)
    except KafkaError as error:
        return failed(fetch, error.code)
    return data


# -- the answer ------------------------------------------------------------------------------------------------------


def _refused(services: RecordServices, ctx: RequestContext, request: FetchAsk, fetches: Fetches) -> FetchAnswer:
    """What Apache Kafka answers to a request that it cannot make sense of: an isolation level that nobody knows."""
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    told = [(key, FetchedPartition(key[2], code)) for key in fetches if not request.uses_ids]
    return _answer(services, ctx, request, FetchAnswer(code), told, fetches)


def _new_session(
    services: RecordServices,
    ctx: RequestContext,
    request: FetchAsk,
    fetches: Fetches,
    told: list[tuple[Key, FetchedPartition]],
) -> int:
    """Begin a session with what was asked and what is told now; its id, or 0 if there is no room for another."""
    session = services.sessions.create(
        fetches,
        ctx.session.view,
        privileged=request.replica_id >= 0,
        uses_ids=request.uses_ids,
        now_ms=services.clock.time_ms(),
    )
    if session is None:
        return NO_SESSION
    for key, data in told:
        session.partitions[key].take_news(data)
    return session.id


def _answer(
    services: RecordServices,
    ctx: RequestContext,
    request: FetchAsk,
    answer: FetchAnswer,
    told: list[tuple[Key, FetchedPartition]],
    fetches: Fetches,
) -> FetchAnswer:
    """Fill the answer in, topic by topic in the order of the partitions.

    Consumers that came to the wrong broker are told where the leader is (version 16, KIP-951); followers know.
    """
    endpoints = answer.node_endpoints if request.replica_id < 0 else []
    topics: dict[tuple[bytes, str], list[FetchedPartition]] = {}
    for (topic_id, name, partition), data in told:
        partitions = topics.get((topic_id, name))
        if partitions is None:
            partitions = topics[topic_id, name] = []
            answer.topics.append((name, topic_id, partitions))
        partitions.append(data)
        if data.error_code in HINTED and ctx.header.api_version >= Fetch.NODE_ENDPOINTS:
            tp = fetches[topic_id, name, partition].tp
            leader_hint(services, ctx, tp, data, endpoints, FetchResponse.NodeEndpoint)
    return answer
