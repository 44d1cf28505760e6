"""From what the options say to offsets: who is read, from where, to where.

`Topics` is what both ways to read offer (brokers over the wire, log directories on disk); everything here works on it
and touches neither.

The order in which Spark's source lets options win is kept: one time for all partitions (`startingTimestamp`), times by
partition, offsets by partition, a word. Offsets by partition must name all partitions, or none of those left out would
ever be read without anybody noticing.

Between two questions the cluster may change. A topic that a pattern matched is gone when its end is asked for: that is
no error, but a topic that does not match any more. A topic named by the user that is gone is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from tidelog.common.errors import ErrorCode, KafkaError, UsageError
from tidelog.common.types import TopicPartition
from tidelog.spark.offsets import EARLIEST, LATEST, OffsetRange, Offsets
from tidelog.spark.options import Boundary, SourceOptions

#: How often in a row a topic may be deleted between two questions about it.
_LOOKUPS = 5


class DataLossError(KafkaError):
    """Records that the query should have read are gone; failOnDataLoss=false carries on without them."""

    def __init__(self, what: str) -> None:
        super().__init__(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{what} Some data may have been lost because it was deleted (retention) or the topic was made anew. "
            "If you want the query to carry on without it, set the source option failOnDataLoss to false.",
        )


class Topics(Protocol):
    """What can be asked about topics."""

    def names(self) -> list[str]:
        """All topics, internal ones left out."""
        ...

    def partitions(self, topics: Iterable[str]) -> list[TopicPartition]:
        """All partitions of these topics; KafkaError if one does not exist."""
        ...

    def ids(self, topics: Iterable[str]) -> dict[str, bytes]:
        """The ids of those of the topics that exist and have one, as of the newest answer about them."""
        ...

    def earliest(self, partitions: Iterable[TopicPartition]) -> Offsets: ...

    def latest(self, partitions: Iterable[TopicPartition]) -> Offsets: ...

    def at_timestamp(self, wanted: Mapping[TopicPartition, int]) -> Offsets:
        """The first offset at or after each time; LATEST (-1) where there is none."""
        ...


def assigned(options: SourceOptions, topics: Topics) -> list[TopicPartition]:
    """The partitions that the query reads at present."""
    if options.assign is not None:
        return sorted(options.assign)
    if options.subscribe is not None:
        return sorted(topics.partitions(options.subscribe))
    assert options.pattern is not None
    try:
        pattern = re.compile(options.pattern)
    except re.error as error:
        raise UsageError(f"subscribePattern {options.pattern!r} is no regular expression: {error}") from error
    for _ in range(_LOOKUPS):
        try:
            return sorted(topics.partitions(name for name in topics.names() if pattern.fullmatch(name)))
        except KafkaError as error:
            if error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise  # else one was deleted since its name was told: it does not match any more
    return sorted(topics.partitions(name for name in topics.names() if pattern.fullmatch(name)))


def latest_offsets(options: SourceOptions, look: Callable[[], Topics]) -> Offsets:
    """The ends of all partitions that the query reads at present, in topics as each `look` shows them.

    One that a pattern has matched may be deleted before its end is told: then it does not match any more.
    """
    for _ in range(_LOOKUPS):
        topics = look()
        try:
            return topics.latest(assigned(options, topics))
        except KafkaError as error:
            if options.pattern is None or error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
    topics = look()
    return topics.latest(assigned(options, topics))


def starting_offsets(options: SourceOptions, topics: Topics, partitions: list[TopicPartition]) -> Offsets:
    """The first offset of each partition; LATEST where the query starts at the end."""
    found = _offsets_of(options.starting, topics, partitions, "startingOffsets")
    for tp, offset in found.items():
        timed = options.starting.timestamp is not None or options.starting.timestamps is not None
        if timed and offset == LATEST and not options.missing_timestamp_is_latest:
            wanted = (
                options.starting.timestamp if options.starting.timestamps is None else options.starting.timestamps[tp]
            )
            raise UsageError(f"No offset matched from request of topic-partition {tp} and timestamp {wanted}.")
    return found


def ending_offsets(options: SourceOptions, topics: Topics, partitions: list[TopicPartition]) -> Offsets:
    """The offset after the last one to read, of each partition."""
    found = _offsets_of(options.ending, topics, partitions, "endingOffsets")
    open_ended = [tp for tp, offset in found.items() if offset == LATEST]
    return {**found, **topics.latest(open_ended)}


def _offsets_of(boundary: Boundary, topics: Topics, partitions: list[TopicPartition], option: str) -> Offsets:
    """Offsets for one side of the query. EARLIEST is replaced by numbers at once, as retention would move it on between
    planning and reading; LATEST stays a mark for whoever decides when "now" is.
    """
    if boundary.timestamp is not None:
        return topics.at_timestamp(dict.fromkeys(partitions, boundary.timestamp))
    if boundary.timestamps is not None:
        _check_complete(boundary.timestamps, partitions, f"{option}ByTimestamp")
        return topics.at_timestamp({tp: boundary.timestamps[tp] for tp in partitions})
    if boundary.offsets is not None:
        _check_complete(boundary.offsets, partitions, option)
        found = dict(boundary.offsets)
    else:
        assert boundary.offset is not None
        found = dict.fromkeys(partitions, boundary.offset)
    early = [tp for tp, offset in found.items() if offset == EARLIEST]
    return {**found, **topics.earliest(early)}


def _check_complete(given: Offsets, partitions: list[TopicPartition], option: str) -> None:
    """Spark's own words: users search for them."""
    if set(given) != set(partitions):
        raise UsageError(
            f"If {option} contains specific offsets, you must specify all TopicPartitions.\n"
            f"Use -1 for latest, -2 for earliest. Specified: {_names(given)} Assigned: {_names(partitions)}"
        )


def _names(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(tp) for tp in sorted(partitions))


def batch_ranges(options: SourceOptions, topics: Topics) -> list[OffsetRange]:
    """What a batch query reads, one range per partition (empty ones included).

    Starts are resolved before ends, so that a log which grows meanwhile gives a larger range and never a negative one.
    """
    partitions = assigned(options, topics)
    starts = starting_offsets(options, topics, partitions)
    ends = ending_offsets(options, topics, partitions)
    late = [tp for tp, offset in starts.items() if offset == LATEST]
    starts.update(topics.latest(late))
    return [OffsetRange(tp.topic, tp.partition, starts[tp], ends[tp]) for tp in partitions]


def stream_ranges(
    options: SourceOptions, topics: Topics, start: Offsets, end: Offsets, anew: frozenset[str] = frozenset()
) -> list[OffsetRange]:
    """What lies between two offsets of a stream; says what is missing (an error with failOnDataLoss).

    `anew` are topics that were deleted and made anew since `start`: they are read from their beginning.
    """
    gone = sorted(tp for tp in start if tp not in end)
    problems = [f"Partitions {', '.join(map(str, gone))} are gone."] if gone else []
    problems += [f"Topic {name} was deleted and made anew." for name in sorted(anew)]
    start = {tp: offset for tp, offset in start.items() if tp.topic not in anew}
    new = topics.earliest([tp for tp in end if tp not in start or start[tp] == EARLIEST])
    ranges = []
    for tp, until in end.items():
        begin = new.get(tp, start.get(tp, LATEST))
        if tp not in start and begin > 0:
            problems.append(f"Added partition {tp} starts from {begin} instead of 0.")
        if begin == LATEST:  # the first trigger of a stream that starts at the end: it pins the position, no more
            begin = until
        if until < begin:
            problems.append(f"Partition {tp}'s offset was changed from {begin} to {until}.")
            begin = until
        ranges.append(OffsetRange(tp.topic, tp.partition, begin, until))
    if problems and options.fail_on_data_loss:
        raise DataLossError(" ".join(problems))
    return ranges
