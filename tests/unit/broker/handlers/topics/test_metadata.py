"""Large answers are kept for the next who asks the same and sees the same."""

from __future__ import annotations

import asyncio

import pytest

from tidelog.broker.handlers.topics import metadata
from tidelog.broker.requests._session import View
from tidelog.net.node_client import NodeClient
from tidelog.protocol.messages import MetadataRequest

PARTITIONS = metadata.KEEP_PARTITIONS


@pytest.fixture
def built(monkeypatch):
    """One entry per answer that was made anew."""
    calls = []
    build = metadata.build

    def counting(*args):
        calls.append(args)
        return build(*args)

    monkeypatch.setattr(metadata, "build", counting)
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
