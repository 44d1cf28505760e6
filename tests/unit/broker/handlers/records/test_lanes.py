"""Which batches the compiled Produce takes, for whom, and what it forgets when roles and configs change."""

from __future__ import annotations

import pytest

from support.wire import batch, connected, produce_request, run, serving
from tidelog.broker.handlers.records import lanes
from tidelog.broker.requests._session import EVERYTHING, View
from tidelog.common.types import GROUP_METADATA_TOPIC
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages import ApiVersionsRequest


@pytest.fixture
def made(monkeypatch):
    """The partitions for which lanes were made, in order."""
    partitions = []

    def counting(partition):
        partitions.append(partition.tp.partition)
        return lane_of(partition)

    lane_of = lanes.lane_of
    monkeypatch.setattr(lanes, "lane_of", counting)
    return partitions


def taken(broker) -> int:
    return broker.network.sink.taken()[ApiKey.PRODUCE]


def session_of(broker, port):
    """The session of the connection that comes from this port."""
    (connection,) = [one for one in broker.network.table.connections if one.peer.endswith(f":{port}")]
    return connection.session


def test_sessions_of_one_view_share_lanes_and_others_have_their_own(tmp_path, made):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as one, connected(broker) as other:
            broker.create_topic("t")
            await one.produce("t", batch(b"a"))
            await other.produce("t", batch(b"b"))
            assert made == [0], "both see everything"
            session = session_of(broker, other.writer.get_extra_info("sockname")[1])
            assert session.view is EVERYTHING
            session.view = View("little")
            await other.produce("t", batch(b"c"))
            assert made == [0, 0], "what was derived for one view is not found by another"
            await one.produce("t", batch(b"d"))
            assert (await other.produce("t", batch(b"e"))).base_offset == 4
            assert made == [0, 0], "and each keeps its own"
            assert taken(broker) == 5

    run(main())


def test_views_that_nobody_has_any_more_do_not_pile_up(tmp_path, made):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.produce("t", batch(b"a"))
            session = session_of(broker, client.writer.get_extra_info("sockname")[1])
            for number in range(70):
                session.view = View(str(number))
                await client.produce("t", batch(b"b"))
            assert len(made) == 71
            session.view = EVERYTHING
            await client.produce("t", batch(b"c"))
            assert len(made) == 72, "the table of the first view was given up for those that came later"
            assert taken(broker) == 72

    run(main())


def test_as_many_views_as_there_is_room_for_keep_their_lanes(tmp_path, made):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t")
            await client.ask(ApiKey.API_VERSIONS, 0, ApiVersionsRequest())
            session = session_of(broker, client.writer.get_extra_info("sockname")[1])
            views = [View(str(number)) for number in range(64)]
            for view in [*views, *views]:
                session.view = view
                await client.produce("t", batch(b"a"))
            assert len(made) == 64, "nobody had to make room"
            assert taken(broker) == 128

    run(main())


def test_lanes_are_made_anew_when_a_config_changes(tmp_path, made):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic("t", 2)
            await client.produce("t", batch(b"a"))
            assert made == [0, 1]
            broker.configs.set("t", {"compression.type": "gzip"})
            broker.replicas.update_topic_config("t", broker.configs.log_config("t"))
            await client.produce("t", batch(b"b"))
            assert made == [0, 1, 0, 1]
            assert taken(broker) == 1, "what has to be packed goes the long way"

    run(main())


@pytest.mark.parametrize(
    "config", [{"compression.type": "zstd"}, {"flush.messages": "1"}, {"message.format.version": "0.10.2"}]
)
def test_what_must_be_converted_or_waited_for_goes_the_long_way(tmp_path, config):
    async def main():
        old = {"inter.broker.protocol.version": "2.8"}  # else there is but one format
        async with serving(tmp_path, old) as broker, connected(broker) as client:
            broker.create_topic("t", 1, config)
            broker.create_topic("plain")
            assert (await client.produce("t", batch(b"a"))).error_code == 0
            assert taken(broker) == 0
            await client.produce("plain", batch(b"a"))
            assert taken(broker) == 1

    run(main())


def test_topics_that_are_not_here_or_not_for_clients_have_no_lanes(tmp_path, made):
    async def main():
        async with serving(tmp_path) as broker, connected(broker) as client:
            broker.create_topic(GROUP_METADATA_TOPIC)
            for topic in (GROUP_METADATA_TOPIC, "nowhere"):
                answer = await client.ask(ApiKey.PRODUCE, 9, produce_request({topic: {0: batch(b"a")}}))
                assert answer.responses[0].partition_responses[0].error_code
            assert made == []
            assert taken(broker) == 0

    run(main())
