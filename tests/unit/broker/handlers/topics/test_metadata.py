"""Metadata: what it makes, what it finds; large answers are kept for the next who asks the same and sees the same."""

from __future__ import annotations

import asyncio

import pytest

from support.admin_requests import (
    create,
    metadata,
)
from tidelog.broker.handlers.topics import metadata as handler
from tidelog.broker.requests._session import View
from tidelog.common.errors import ErrorCode
from tidelog.net.node_client import NodeClient
from tidelog.protocol import messages as m
from tidelog.protocol.messages import MetadataRequest

PARTITIONS = handler.KEEP_PARTITIONS


@pytest.fixture
def built(monkeypatch):
    """One entry per answer that was made anew."""
    calls = []
    build = handler.build

    def counting(*args):
        calls.append(args)
        return build(*args)

    monkeypatch.setattr(handler, "build", counting)
    return calls


async def asked(broker, view=None):
    """How many partitions the answer names; the session has `view`, if one is given."""
    node = await NodeClient.connect("127.0.0.1", broker.port)
    try:
        if view is not None:
            broker.call(give_view(broker.server, view))
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="wide")])
        (topic,) = (await node.send(request, 12)).topics
        return len(topic.partitions)
    finally:
        await node.close()


async def give_view(server, view):
    """To the newest connection, which is the one that has just asked for ApiVersions."""
    list(server.network.table.connections)[-1].session.view = view


def test_an_answer_is_kept_for_who_sees_the_same(broker, built):
    broker.create_topic("wide", PARTITIONS)
    alices, bobs = View("alice's"), View("bob's")
    for view, answers in ((None, 1), (None, 1), (alices, 2), (bobs, 3), (alices, 3), (None, 3)):
        assert asyncio.run(asked(broker, view)) == PARTITIONS
        assert len(built) == answers, view


def test_metadata_creates_when_both_sides_allow_it(ask):
    assert metadata(ask, "by-the-way").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    made = metadata(ask, "by-the-way", create=True).topics[0]
    assert (made.error_code, len(made.partitions)) == (0, 2)
    assert metadata(ask, "not ok", create=True).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_metadata_by_id(ask):
    topic_id = create(ask, "by-id").topic_id
    Topic = m.MetadataRequest.MetadataRequestTopic
    answer = ask(m.MetadataRequest(topics=[Topic(topic_id=topic_id, name=None), Topic(topic_id=b"x" * 16, name=None)]))
    assert {(topic.name, topic.error_code) for topic in answer.topics} == {
        ("by-id", 0),
        (None, ErrorCode.UNKNOWN_TOPIC_ID),
    }
    refused = ask(m.MetadataRequest(topics=[Topic(topic_id=topic_id, name=None)]), 11)
    assert refused.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_large_metadata_is_kept_encoded_until_something_changes(ask, broker):
    create(ask, "large", 200)
    first = metadata(ask, "large")
    assert metadata(ask, "large") == first
    create(ask, "large-2", 1)
    assert {"large", "large-2"} <= {topic.name for topic in ask(m.MetadataRequest(topics=None)).topics}
    assert len(metadata(ask, "large").topics[0].partitions) == 200


def test_a_deleted_topic_is_missed_once_before_it_is_made_anew(ask):
    create(ask, "phoenix")
    ask(m.DeleteTopicsRequest(topic_names=["phoenix"], timeout_ms=60_000), 5)
    first, second = (metadata(ask, "phoenix", create=True).topics[0] for _ in range(2))
    assert (first.error_code, len(first.partitions)) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)
    assert (second.error_code, len(second.partitions)) == (0, 2)
    assert metadata(ask, "never-seen", create=True).topics[0].error_code == 0, "a new name is in the first answer"
