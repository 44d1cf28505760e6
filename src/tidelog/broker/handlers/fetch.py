"""Fetch, versions 0 to 18: read records from partitions.

The answer names bytes of segment files; they leave by sendfile. Only old clients (versions 0 to 3) make the broker
touch records: what it stores in magic 2 is converted to what they understand, on a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from tidelog.broker import config as keys
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.leaders import leader_hint
from tidelog.broker.replication.fetch_sessions import INITIAL_EPOCH, NO_SESSION, FetchSession, Key, key_of
from tidelog.broker.replication.fetching import (
    DelayedFetch,
    FetchParams,
    FetchRead,
    PartitionData,
    PartitionFetch,
    failed,
    read_all,
    release,
)
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import TopicPartition
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import FetchRequest, FetchResponse
from tidelog.records.convert import down_convert

TopicAnswer = FetchResponse.FetchableTopicResponse
TOPIC_IDS_SINCE = 13
LEADER_HINT_SINCE = 16
HINTED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
#: Old clients: the newest magic that each version understands.
OLD_MAGIC = {0: 0, 1: 0, 2: 1, 3: 1}
Fetches = dict[Key, PartitionFetch]


async def handle(ctx: RequestContext, request: FetchRequest) -> FetchResponse:
    fetches = _asked_for(ctx, request)
    session: FetchSession | None = None
    if request.session_epoch > INITIAL_EPOCH:
        found = _resume(ctx, request, fetches)
        if isinstance(found, ErrorCode):
            return FetchResponse(error_code=found, session_id=NO_SESSION, responses=[])
        session = found
        pairs = session.fetches()
    else:
        pairs = list(fetches.items())
        if request.session_id != NO_SESSION:
            ctx.broker.replicas.fetch_sessions.remove(request.session_id)
    params = _params(ctx, request)
    wanted = [fetch for _, fetch in pairs]
    answers = await _read(ctx, params, wanted)
    if ctx.header.api_version in OLD_MAGIC:
        answers = [await _convert(ctx, fetch, data) for fetch, data in zip(wanted, answers, strict=True)]
    told = list(zip([key for key, _ in pairs], answers, strict=True))
    session_id = NO_SESSION
    if session is not None:
        told = session.changed(told)
        session_id = session.id if session.partitions else NO_SESSION
        if not session.partitions:
            ctx.broker.replicas.fetch_sessions.remove(session.id)
    elif request.session_epoch == INITIAL_EPOCH and ctx.header.api_version >= 7:
        session_id = _new_session(ctx, request, fetches, told)
    return _response(ctx, session_id, told, dict(pairs))


# -- the request -----------------------------------------------------------------------------------------------------


def _asked_for(ctx: RequestContext, request: FetchRequest) -> Fetches:
    """The partitions of the request, by their key in a session. A topic id that is not known is an error of its own."""
    by_id = ctx.header.api_version >= TOPIC_IDS_SINCE
    fetches: Fetches = {}
    for topic in request.topics:
        name = ctx.broker.metadata.topic_name(topic.topic_id) if by_id else topic.topic
        error = ErrorCode.NONE if name is not None else ErrorCode.UNKNOWN_TOPIC_ID
        for part in topic.partitions:
            tp = TopicPartition(name or "", part.partition)
            fetches[key_of(tp, topic.topic_id, by_id)] = PartitionFetch(
                tp,
                topic.topic_id if by_id else ZERO_UUID,
                part.fetch_offset,
                part.partition_max_bytes,
                part.current_leader_epoch,
                part.last_fetched_epoch,
                part.log_start_offset,
                error,
            )
    return fetches


def _resume(ctx: RequestContext, request: FetchRequest, fetches: Fetches) -> FetchSession | ErrorCode:
    by_id = ctx.header.api_version >= TOPIC_IDS_SINCE
    sessions = ctx.broker.replicas.fetch_sessions
    session = sessions.resume(request.session_id, request.session_epoch, by_id, ctx.broker.clock.time_ms())
    if isinstance(session, ErrorCode):
        return session
    forgotten = [
        key_of(TopicPartition(topic.topic, partition), topic.topic_id, by_id)
        for topic in request.forgotten_topics_data
        for partition in topic.partitions
    ]
    session.update(fetches, forgotten)
    _resolve_again(ctx, session)
    return session


def _resolve_again(ctx: RequestContext, session: FetchSession) -> None:
    """Topic ids that were not known when the session heard of them may be by now, or may have gone."""
    for (topic_id, _, partition), cached in session.partitions.items():
        if not session.uses_ids:
            continue
        name = ctx.broker.metadata.topic_name(topic_id)
        error = ErrorCode.NONE if name is not None else ErrorCode.UNKNOWN_TOPIC_ID
        if error != cached.fetch.error:
            cached.fetch = cached.fetch._replace(tp=TopicPartition(name or "", partition), error=error)


def _params(ctx: RequestContext, request: FetchRequest) -> FetchParams:
    replica = request.replica_id if ctx.header.api_version < 15 else request.replica_state.replica_id
    limit = request.max_bytes
    if replica < 0:
        limit = min(limit, ctx.broker.config[keys.FETCH_MAX_BYTES])
    return FetchParams(
        replica_id=replica,
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, limit),
        max_bytes=limit,
        committed_only=request.isolation_level == 1 and replica < 0,
        hard_limit=ctx.header.api_version <= 2,
    )


# -- reading ---------------------------------------------------------------------------------------------------------


async def _read(ctx: RequestContext, params: FetchParams, fetches: Sequence[PartitionFetch]) -> list[PartitionData]:
    """Read now; if that is too little, wait for more and read again."""
    replicas = ctx.broker.replicas
    read: FetchRead = read_all(replicas, params, fetches)
    if read.answer_now or read.bytes >= params.min_bytes or params.max_wait_ms <= 0 or not fetches:
        return read.partitions
    release(read.partitions)
    waiting = DelayedFetch(replicas, params, fetches)
    keys_of = [fetch.tp for fetch in fetches]
    if not ctx.broker.purgatories.fetch.try_or_watch(waiting, keys_of, params.max_wait_ms):
        await waiting.done
    return read_all(replicas, params, fetches).partitions


async def _convert(ctx: RequestContext, fetch: PartitionFetch, data: PartitionData) -> PartitionData:
    """Records for a client that does not know how they are stored."""
    if not data.records:
        return data
    partition = ctx.broker.replicas.partition(fetch.tp)
    config = partition.log.config if partition is not None else None
    if config is not None and not config.message_downconversion_enable:
        release([data])
        return failed(fetch, ErrorCode.UNSUPPORTED_VERSION)
    magic = OLD_MAGIC[ctx.header.api_version]
    piece: Any = data.records

    def work() -> bytes:
        return down_convert(piece.read(), magic, fetch.fetch_offset)

    try:
        data.records = await asyncio.get_running_loop().run_in_executor(None, work)
    except KafkaError as error:
        return failed(fetch, error.code)
    finally:
        piece.release()
    return data


# -- the answer ------------------------------------------------------------------------------------------------------


def _new_session(
    ctx: RequestContext, request: FetchRequest, fetches: Fetches, told: list[tuple[Key, PartitionData]]
) -> int:
    session = ctx.broker.replicas.fetch_sessions.create(
        fetches,
        privileged=request.replica_id >= 0,
        uses_ids=ctx.header.api_version >= TOPIC_IDS_SINCE,
        now_ms=ctx.broker.clock.time_ms(),
    )
    if session is None:
        return NO_SESSION
    for key, data in told:
        session.partitions[key].take_news(data)
    return session.id


def _response(
    ctx: RequestContext, session_id: int, told: list[tuple[Key, PartitionData]], fetches: Fetches
) -> FetchResponse:
    response = FetchResponse(session_id=session_id, responses=[])
    topics: dict[tuple[bytes, str], TopicAnswer] = {}
    for (topic_id, name, partition), data in told:
        topic = topics.get((topic_id, name))
        if topic is None:
            topic = topics[topic_id, name] = TopicAnswer(topic=name, topic_id=topic_id or ZERO_UUID, partitions=[])
            response.responses.append(topic)
        topic.partitions.append(data)
        if data.error_code in HINTED and ctx.header.api_version >= LEADER_HINT_SINCE:
            tp = fetches[topic_id, name, partition].tp
            leader_hint(ctx, tp, data.current_leader, response.node_endpoints, FetchResponse.NodeEndpoint)
    return response
