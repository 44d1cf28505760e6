"""Where a consumer stands: assigned, reset, sought, out of range, by time; on both faces."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from support.consumers import FACES, Face, of, take, values, write
from tidelog.client.cluster.client import ClusterClient
from tidelog.client.consumer.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from tidelog.client.consumer.reset import EARLIEST, LATEST, NONE, Reset, policy, since
from tidelog.client.values import OffsetAndMetadata, OffsetAndTimestamp
from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.protocol.messages import DeleteRecordsRequest
from tidelog.testing import Broker

BASE = 1_700_000_000_000


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(params=FACES, ids=lambda face: face.name)
def face(request: pytest.FixtureRequest) -> Face:
    return request.param


@pytest.fixture
def tp(broker: Broker, request: pytest.FixtureRequest) -> TopicPartition:
    """A partition of the test's own with ten records, a to j, a second apart."""
    name = "".join(c if c.isalnum() else "-" for c in request.node.name)[:200]
    broker.create_topic(name)
    tp = TopicPartition(name, 0)
    for index, letter in enumerate("abcdefghij"):
        write(broker, tp, of(letter, timestamp=BASE + 1000 * index))
    return tp


def delete_before(broker: Broker, tp: TopicPartition, offset: int) -> None:
    """What retention does, on demand."""

    async def ask() -> None:
        async with ClusterClient({"bootstrap.servers": broker.address}) as cluster:
            node = await cluster.node((await cluster.leader(tp)).id)
            partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=tp.partition, offset=offset)
            topic = DeleteRecordsRequest.DeleteRecordsTopic(name=tp.topic, partitions=[partition])
            answer = await node.send(DeleteRecordsRequest(topics=[topic], timeout_ms=5000))
            assert answer.topics[0].partitions[0].error_code == 0

    asyncio.run(ask())


def test_assign_and_poll_from_the_beginning(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp])
        assert consumer.assignment() == {tp}
        assert values(take(consumer, 10)) == [letter.encode() for letter in "abcdefghij"]
        assert consumer.position(tp) == 10
        assert not consumer.poll(0.01)
        write(broker, tp, ["k"])
        assert values(take(consumer, 1)) == [b"k"]


def test_latest_sees_only_what_comes(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, auto_offset_reset="latest") as consumer:
        consumer.assign([tp])
        assert consumer.position(tp) == 10
        write(broker, tp, ["new"])
        assert values(take(consumer, 1)) == [b"new"]


def test_by_duration_begins_so_long_ago(broker: Broker, face: Face, tp: TopicPartition) -> None:
    write(broker, tp, of("now", timestamp=SYSTEM_CLOCK.time_ms()))
    with face.consumer(broker, auto_offset_reset="by_duration:PT1H") as consumer:
        consumer.assign([tp])
        assert consumer.position(tp) == 10
        assert values(take(consumer, 1)) == [b"now"]


def test_none_raises_until_somebody_seeks(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, auto_offset_reset="none", group_id="nobody") as consumer:
        consumer.assign([tp])
        for _ in range(2):
            with pytest.raises(NoOffsetForPartitionError, match="no offset is committed") as caught:
                consumer.poll(10)
            assert caught.value.partitions == {tp}
        with pytest.raises(NoOffsetForPartitionError):
            consumer.position(tp)
        consumer.seek(tp, 8)
        assert values(take(consumer, 2)) == [b"i", b"j"]


def test_seek_forward_and_back(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker, max_poll_records=1) as consumer:
        consumer.assign([tp])
        assert values(take(consumer, 1)) == [b"a"]
        for offset in (7, 2, 2, 9, 0):
            consumer.seek(tp, offset)
            assert consumer.position(tp) == offset
            assert [record.offset for record in take(consumer, 1)] == [offset]
        consumer.seek(tp, OffsetAndMetadata(4))
        assert consumer.position(tp) == 4
        consumer.seek_to_end([tp])
        assert consumer.position(tp) == 10
        consumer.seek_to_beginning()
        assert consumer.position(tp) == 0
        with pytest.raises(UsageError, match="begin at 0"):
            consumer.seek(tp, -1)
        with pytest.raises(UsageError, match="not assigned"):
            consumer.seek(TopicPartition("other", 0), 1)


@pytest.mark.parametrize("reset", ["earliest", "latest", "none", "by_duration:PT1H"])
def test_out_of_range(broker: Broker, face: Face, tp: TopicPartition, reset: str) -> None:
    delete_before(broker, tp, 5)
    with face.consumer(broker, auto_offset_reset=reset) as consumer:
        consumer.assign([tp])
        consumer.seek(tp, 2)
        if reset == "none":
            with pytest.raises(OffsetOutOfRangeError, match="does not hold offset 2") as caught:
                consumer.poll(10)
            assert (caught.value.topic_partition, caught.value.offset) == (tp, 2)
            consumer.seek(tp, 5)
        if reset in ("latest", "by_duration:PT1H"):  # its records are older than an hour
            assert not consumer.poll(0.5)
            assert consumer.position(tp) == 10
            write(broker, tp, of("now", timestamp=SYSTEM_CLOCK.time_ms()))
            assert values(take(consumer, 1)) == [b"now"]
        else:
            assert values(take(consumer, 5)) == [b"f", b"g", b"h", b"i", b"j"]


def test_what_was_fetched_before_the_log_was_cut_is_handed_out_first(
    broker: Broker, face: Face, tp: TopicPartition
) -> None:
    with face.consumer(broker, max_poll_records=1) as consumer:
        consumer.assign([tp])
        assert values(take(consumer, 1)) == [b"a"]
        delete_before(broker, tp, 10)
        write(broker, tp, ["k"])
        found = values(take(consumer, 10))
        assert found == [letter.encode() for letter in "bcdefghijk"]


def test_offsets_for_times(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        assert consumer.offsets_for_times({tp: BASE + 2500}) == {tp: OffsetAndTimestamp(3, BASE + 3000, 0)}
        assert consumer.offsets_for_times({tp: BASE + 100_000}) == {tp: None}
        with pytest.raises(UsageError, match="not negative"):
            consumer.offsets_for_times({tp: -2})
        assert consumer.beginning_offsets([tp]) == {tp: 0}
        assert consumer.end_offsets([tp]) == {tp: 10}
        assert consumer.partitions_for(tp.topic) == [tp]
        assert consumer.partitions_for("no-such-topic") == []
        assert tp.topic in consumer.list_topics()


def test_since_begins_at_a_time(broker: Broker, face: Face, tp: TopicPartition) -> None:
    with face.consumer(broker) as consumer:
        consumer.assign([tp], since=datetime.fromtimestamp(BASE / 1000 + 6.5, UTC))
        assert values(take(consumer, 3)) == [b"h", b"i", b"j"]
        consumer.seek_to_time(BASE + 8000)
        assert values(take(consumer, 2)) == [b"i", b"j"]
        consumer.seek_to_time("10m", [tp])
        assert consumer.position(tp) == 10


def test_a_second_assignment_keeps_what_stays(broker: Broker, face: Face, tp: TopicPartition) -> None:
    other = f"{tp.topic[:180]}-other"
    broker.create_topic(other)
    with face.consumer(broker, max_poll_records=3) as consumer:
        consumer.assign([tp])
        take(consumer, 3)
        consumer.assign([tp, TopicPartition(other, 0)])
        assert consumer.position(tp) == 3
        consumer.assign([TopicPartition(other, 0)])
        assert consumer.assignment() == {TopicPartition(other, 0)}
        assert not consumer.poll(0.2)
        consumer.assign([])
        with pytest.raises(UsageError, match="not subscribed"):
            consumer.poll(0)


def test_policies_and_times_as_they_are_written() -> None:
    assert (policy("earliest"), policy("latest"), policy("none")) == (EARLIEST, LATEST, NONE)
    assert policy("by_duration:P1DT2H3M4.5S") == Reset(ago_ms=93_784_500)
    assert since("10m") == Reset(ago_ms=600_000)
    assert since("1h30m") == since(timedelta(minutes=90)) == Reset(ago_ms=5_400_000)
    assert since(5) == Reset(5)
    assert Reset(ago_ms=10).asked_at(100) == 90
    assert Reset(ago_ms=1000).asked_at(100) == 0
    for wrong in ("", "10", "m", "10x", "10m and more"):
        with pytest.raises(UsageError, match="expected a duration"):
            since(wrong)
    with pytest.raises(UsageError, match="time zone"):
        since(datetime(2026, 1, 1))


def test_a_log_start_that_the_broker_does_not_tell_is_not_told() -> None:
    tp = TopicPartition("orders", 0)
    assert str(OffsetOutOfRangeError(tp, 99, -1)).endswith("does not hold offset 99")
    assert str(OffsetOutOfRangeError(tp, 1, 5)).endswith("does not hold offset 1 (its log starts at 5)")
