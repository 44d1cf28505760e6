"""The compiled Fetch codec against the generic one: the same bytes, the same meaning, the same refusals."""

from __future__ import annotations

import contextlib
import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.broker.handlers.records._fetch import FetchAnswer, FetchAsk, FetchedPartition
from tidelog.common.errors import ProtocolError
from tidelog.common.uuids import ZERO_UUID
from tidelog.protocol.messages import FetchRequest, FetchResponse

VERSIONS = st.integers(0, 18)
TAGS_SINCE = 12
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
NAME = st.text(max_size=20)
ID = st.binary(min_size=16, max_size=16)


@st.composite
def requests(draw):
    version = draw(VERSIONS)

    def since(first, strategy, default):
        return draw(strategy) if version >= first else default

    def topic():
        return {"topic_id": draw(ID)} if version >= 13 else {"topic": draw(NAME)}

    request = FetchRequest(
        max_wait_ms=draw(INT32),
        min_bytes=draw(INT32),
        max_bytes=since(3, INT32, 0x7FFFFFFF),
        isolation_level=since(4, st.integers(0, 1), 0),
        session_id=since(7, INT32, 0),
        session_epoch=since(7, INT32, -1),
        topics=[
            FetchRequest.FetchTopic(
                **topic(),
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=draw(INT32),
                        current_leader_epoch=since(9, INT32, -1),
                        fetch_offset=draw(INT64),
                        last_fetched_epoch=since(12, INT32, -1),
                        log_start_offset=since(5, INT64, -1),
                        partition_max_bytes=draw(INT32),
                        replica_directory_id=since(17, ID, ZERO_UUID),
                    )
                    for _ in range(draw(st.integers(0, 3)))
                ],
            )
            for _ in range(draw(st.integers(0, 3)))
        ],
        forgotten_topics_data=[
            FetchRequest.ForgottenTopic(**topic(), partitions=draw(st.lists(INT32, max_size=3)))
            for _ in range(draw(st.integers(0, 2)) if version >= 7 else 0)
        ],
        rack_id=since(11, NAME, ""),
    )
    if version < 15:
        request.replica_id = draw(INT32)
    else:
        request.replica_state = FetchRequest.ReplicaState(replica_id=draw(INT32), replica_epoch=draw(INT64))
        if draw(st.booleans()):
            request.unknown_tags = {9: b"tag"}
    return version, request


def meaning(ask: FetchAsk):
    partitions = [
        (
            name or "",
            topic_id,
            [
                (
                    part.index,
                    part.current_leader_epoch,
                    part.fetch_offset,
                    part.last_fetched_epoch,
                    part.log_start_offset,
                    part.max_bytes,
                )
                for part in parts
            ],
        )
        for name, topic_id, parts in ask.topics
    ]
    forgotten = [(name or "", topic_id, numbers) for name, topic_id, numbers in ask.forgotten]
    head = (ask.replica_id, ask.max_wait_ms, ask.min_bytes, ask.max_bytes, ask.isolation_level)
    return (*head, ask.session_id, ask.session_epoch, partitions, forgotten)


def generic_meaning(version: int, request: FetchRequest):
    partitions = [
        (
            topic.topic,
            topic.topic_id,
            [
                (
                    part.partition,
                    part.current_leader_epoch,
                    part.fetch_offset,
                    part.last_fetched_epoch,
                    part.log_start_offset,
                    part.partition_max_bytes,
                )
                for part in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    forgotten = [(topic.topic, topic.topic_id, list(topic.partitions)) for topic in request.forgotten_topics_data]
    replica = request.replica_id if version < 15 else request.replica_state.replica_id
    head = (replica, request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level)
    return (*head, request.session_id, request.session_epoch, partitions, forgotten)


@settings(max_examples=200, deadline=None)
@given(requests())
def test_requests_mean_the_same(case):
    version, request = case
    data = request.encode(version)
    expected = generic_meaning(version, request)
    assert meaning(FetchAsk.decode(data, version)) == expected
    assert meaning(FetchAsk.decode(b"head" + data + b"tail", version, 4)) == expected


@settings(max_examples=200, deadline=None)
@given(requests(), st.randoms(use_true_random=False))
def test_damaged_requests_are_refused_or_mean_the_same(case, rng: random.Random):
    version, request = case
    data = bytearray(request.encode(version))
    for _ in range(rng.randrange(1, 4)):
        if data and rng.random() < 0.6:
            data[rng.randrange(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF])
        else:
            del data[rng.randrange(len(data) + 1) :]
    try:
        expected = generic_meaning(version, FetchRequest.decode(data, version))
    except ProtocolError:
        # From version 12 on there are tags; it skips those that it does not use, whatever is in them.
        with pytest.raises(ProtocolError) if version < TAGS_SINCE else contextlib.suppress(ProtocolError):
            FetchAsk.decode(data, version)
    else:
        assert meaning(FetchAsk.decode(data, version)) == expected


@st.composite
def answers(draw):
    version = draw(VERSIONS)
    answer = FetchAnswer(draw(st.integers(0, 120)) if version >= 7 else 0, draw(INT32) if version >= 7 else 0)
    generic = FetchResponse(error_code=answer.error_code, session_id=answer.session_id, responses=[])
    for _ in range(draw(st.integers(0, 2))):
        name, topic_id = ("", draw(ID)) if version >= 13 else (draw(NAME), b"")
        fields = {"topic_id": topic_id} if version >= 13 else {"topic": name}
        topic = FetchResponse.FetchableTopicResponse(**fields, partitions=[])
        generic.responses.append(topic)
        partitions = []
        answer.topics.append((name, topic_id, partitions))
        for _ in range(draw(st.integers(0, 3))):
            part, data = draw(partition_answers(version))
            partitions.append(part)
            topic.partitions.append(data)
    if version >= 16 and draw(st.booleans()):
        node = {"node_id": draw(INT32), "host": draw(NAME), "port": draw(INT32), "rack": draw(st.none() | NAME)}
        answer.node_endpoints.append(SimpleNamespace(**node))
        generic.node_endpoints = [FetchResponse.NodeEndpoint(**node)]
    return version, answer, generic


@st.composite
def partition_answers(draw, version):
    aborted = draw(st.none() | st.lists(st.tuples(INT64, INT64), max_size=2)) if version >= 4 else []
    part = FetchedPartition(
        draw(INT32),
        draw(st.integers(-1, 120)),
        draw(INT64),
        draw(INT64) if version >= 4 else -1,
        draw(INT64) if version >= 5 else -1,
        draw(st.binary(max_size=50)),
        None if aborted is None else [SimpleNamespace(producer_id=a, first_offset=b) for a, b in aborted],
    )
    if version >= 12:
        part.diverging_epoch, part.diverging_end = draw(st.tuples(INT32, INT64) | st.just((-1, -1)))
        part.leader_id, part.leader_epoch = draw(st.tuples(INT32, INT32) | st.just((-1, -1)))
    if version >= 11:
        part.preferred_read_replica = draw(INT32)
    data = FetchResponse.PartitionData(
        partition_index=part.index,
        error_code=part.error_code,
        high_watermark=part.high_watermark,
        last_stable_offset=part.last_stable_offset,
        log_start_offset=part.log_start_offset,
        diverging_epoch=FetchResponse.EpochEndOffset(epoch=part.diverging_epoch, end_offset=part.diverging_end),
        current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=part.leader_id, leader_epoch=part.leader_epoch),
        aborted_transactions=None
        if aborted is None
        else [FetchResponse.AbortedTransaction(producer_id=a, first_offset=b) for a, b in aborted],
        preferred_read_replica=part.preferred_read_replica,
        records=part.records,
    )
    return part, data


@settings(max_examples=200, deadline=None)
@given(answers())
def test_answers_are_the_same_bytes(case):
    version, answer, generic = case
    assert b"".join(answer.encode_parts(version, b"head")) == b"head" + generic.encode(version)


def test_large_records_are_parts_of_their_own():
    answer = FetchAnswer()
    piece = bytes(5000)
    answer.topics.append(("t", b"", [FetchedPartition(0, records=piece), FetchedPartition(1, records=b"small")]))
    parts = answer.encode_parts(4)
    assert [part is piece for part in parts] == [False, True, False]
