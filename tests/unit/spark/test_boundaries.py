"""From options to offset ranges, on topics that are a table in memory; and filters that narrow them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

import pytest

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition as TP
from tidelog.spark.boundaries import DataLossError, assigned, batch_ranges, starting_offsets, stream_ranges
from tidelog.spark.offsets import OffsetRange, Offsets
from tidelog.spark.options import SourceOptions, source_options

A0, A1, B0 = TP("a", 0), TP("a", 1), TP("b", 0)


class Table:
    """Partition → (log start, end). Offset n has the timestamp 10 n."""

    def __init__(self, partitions: dict[TP, tuple[int, int]]) -> None:
        self.logs = partitions

    def names(self) -> list[str]:
        return sorted({tp.topic for tp in self.logs})

    def partitions(self, topics: Iterable[str]) -> list[TP]:
        wanted = set(topics)
        for name in wanted - set(self.names()):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
        return [tp for tp in self.logs if tp.topic in wanted]

    def ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        return {}

    def earliest(self, partitions: Iterable[TP]) -> Offsets:
        return {tp: self.logs[tp][0] for tp in partitions}

    def latest(self, partitions: Iterable[TP]) -> Offsets:
        return {tp: self.logs[tp][1] for tp in partitions}

    def at_timestamp(self, wanted: Mapping[TP, int]) -> Offsets:
        found = {}
        for tp, timestamp in wanted.items():
            assert timestamp >= 0, "brokers take these for codes"
            start, end = self.logs[tp]
            offset = max(start, -(-timestamp // 10))
            found[tp] = offset if offset < end else -1
        return found


TABLE = Table({A0: (0, 100), A1: (40, 60), B0: (0, 10)})


def options(streaming: bool = False, **given: str) -> SourceOptions:
    strategy = {} if {"assign", "subscribePattern"} & set(given) else {"subscribe": "a"}
    return source_options({"kafka.bootstrap.servers": "h:1", **strategy, **given}, streaming=streaming)


def spans(**given: str) -> dict[TP, tuple[int, int]]:
    return {TP(r.topic, r.partition): (r.start, r.end) for r in batch_ranges(options(**given), TABLE)}


def test_who_is_read() -> None:
    assert assigned(options(), TABLE) == [A0, A1]
    assert assigned(options(subscribePattern="a|b"), TABLE) == [A0, A1, B0]
    assert assigned(options(subscribePattern="."), TABLE) == [A0, A1, B0]
    assert assigned(options(subscribePattern="x"), TABLE) == []
    assert assigned(options(assign='{"b":[0]}'), TABLE) == [B0]
    with pytest.raises(UsageError, match="no regular expression"):
        assigned(options(subscribePattern="("), TABLE)
    with pytest.raises(KafkaError, match="does not exist"):
        assigned(options(subscribe="gone"), TABLE)


def test_batch_ranges_in_every_form() -> None:
    assert spans() == {A0: (0, 100), A1: (40, 60)}
    assert spans(startingOffsets='{"a":{"0":5,"1":-2}}', endingOffsets='{"a":{"0":7,"1":-1}}') == {
        A0: (5, 7),
        A1: (40, 60),
    }
    assert spans(startingTimestamp="455", endingTimestamp="500") == {A0: (46, 50), A1: (46, 50)}
    assert spans(startingTimestamp="0", endingTimestamp="99999") == {A0: (0, 100), A1: (40, 60)}
    by_time = '{"a":{"0":100,"1":500}}'
    assert spans(startingOffsetsByTimestamp=by_time) == {A0: (10, 100), A1: (50, 60)}


def test_offsets_must_name_every_partition() -> None:
    with pytest.raises(
        UsageError, match=r"you must specify all TopicPartitions.*\n.*Specified: a-0 Assigned: a-0, a-1"
    ):
        spans(startingOffsets='{"a":{"0":5}}')


def test_a_time_after_the_end() -> None:
    late = {"startingTimestamp": "700"}
    with pytest.raises(UsageError, match="No offset matched from request of topic-partition a-1 and timestamp 700"):
        spans(**late)
    assert spans(**late, startingOffsetsByTimestampStrategy="latest") == {A0: (70, 100), A1: (60, 60)}
    stream = options(streaming=True, **late, startingOffsetsByTimestampStrategy="latest")
    assert starting_offsets(stream, TABLE, [A0, A1]) == {A0: 70, A1: -1}


def test_stream_ranges_pin_the_latest_and_take_new_partitions_from_their_beginning() -> None:
    table = Table({A0: (0, 100), A1: (0, 60)})
    found = stream_ranges(options(streaming=True), table, {A0: -1}, {A0: 100, A1: 60})
    assert found == [OffsetRange("a", 0, 100, 100), OffsetRange("a", 1, 0, 60)]


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ({A0: 5, A1: 50}, {A0: 100}, "Partitions a-1 are gone"),
        ({A0: 5}, {A0: 100, A1: 60}, "Added partition a-1 starts from 40 instead of 0"),
        ({A0: 120}, {A0: 100}, "offset was changed from 120 to 100"),
    ],
)
def test_lost_data_is_an_error_unless_it_is_allowed(start: Offsets, end: Offsets, reason: str) -> None:
    with pytest.raises(DataLossError, match=reason):
        stream_ranges(options(streaming=True), TABLE, start, end)
    tolerant = options(streaming=True, failOnDataLoss="false")
    assert all(part.size >= 0 for part in stream_ranges(tolerant, TABLE, start, end))


def test_a_topic_that_was_made_anew_is_a_loss_and_read_from_its_beginning() -> None:
    start, end = {A0: 50, B0: 5}, {A0: 100, B0: 10}
    with pytest.raises(DataLossError, match="Topic b was deleted and made anew"):
        stream_ranges(options(streaming=True), TABLE, start, end, frozenset({"b"}))
    tolerant = options(streaming=True, failOnDataLoss="false")
    found = stream_ranges(tolerant, TABLE, start, end, frozenset({"b"}))
    assert found == [OffsetRange("a", 0, 50, 100), OffsetRange("b", 0, 0, 10)]


def test_a_topic_that_is_deleted_between_two_questions_does_not_match() -> None:
    class Deleting(Table):
        """Its topic b is gone as soon as its name was told."""

        def partitions(self, topics: Iterable[str]) -> list[TP]:
            names = list(topics)
            if B0 in self.logs and "b" in names:
                del self.logs[B0]
            return super().partitions(names)

    given = source_options({"kafka.bootstrap.servers": "h:1", "subscribePattern": "[ab]"}, streaming=True)
    assert assigned(given, Deleting({A0: (0, 1), B0: (0, 1)})) == [A0]


def test_filters_narrow_the_ranges() -> None:
    from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, LessThan, LessThanOrEqual

    from tidelog.spark.pushdown import Narrowing

    whole = [OffsetRange("a", 0, 0, 100), OffsetRange("a", 1, 40, 60), OffsetRange("b", 0, 0, 10)]

    def narrowed(*filters: object) -> list[OffsetRange]:
        return Narrowing.of(filters).apply(whole, TABLE)  # type: ignore[arg-type]  # Spark's filters

    assert narrowed() == whole
    assert narrowed(EqualTo(("topic",), "b")) == whole[2:]
    assert narrowed(In(("partition",), (1, 2))) == whole[1:2]
    assert narrowed(GreaterThan(("offset",), 49), LessThanOrEqual(("offset",), 52)) == [
        OffsetRange("a", 0, 50, 53),
        OffsetRange("a", 1, 50, 53),
    ]
    assert narrowed(EqualTo(("offset",), 41), LessThan(("offset",), 99)) == [
        OffsetRange("a", 0, 41, 42),
        OffsetRange("a", 1, 41, 42),
    ]
    half = datetime.fromtimestamp(0.5, UTC)
    assert narrowed(GreaterThanOrEqual(("timestamp",), half)) == [
        OffsetRange("a", 0, 50, 100),
        OffsetRange("a", 1, 50, 60),
    ]
    assert narrowed(GreaterThan(("timestamp",), datetime.fromtimestamp(5, UTC))) == []
    for seconds in (-0.001, -0.002, -2_000_000_000):
        early = datetime.fromtimestamp(seconds, UTC)
        assert narrowed(GreaterThanOrEqual(("timestamp",), early)) == whole, "no record is older than 1970"
    assert narrowed(EqualTo(("value", "nested"), 1)) == whole
