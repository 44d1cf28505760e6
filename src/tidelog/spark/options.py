"""The options of the source and the sink, read and checked once (pure).

Names, defaults and rules are those of Spark's own Kafka source, so that a user changes one word, `kafka` to `tidelog`.
Spark hands options over in lower case. What is ours in addition:

    mode               wire (default) or segments: read log directories straight from disk
    path               log directories for segments mode, separated by commas (also `load("/data/kafka-logs")`)
    columns            which columns to produce, e.g. "value,timestamp": what is left out is never decoded
    publishOffsets     true: a stream publishes its position as consumer group `kafka.group.id` on each commit
    delivery           exactly_once (default) or at_least_once, for the sink
    includeTimestamp   true: the sink takes the records' time from a `timestamp` column
    queryId, batchId   in foreachBatch: names the write, so that it is done once however often the batch is replayed

Spark's own source refuses what it cannot honour, and so do we, with its words where users know them: deserializers and
offset resets belong to Spark, `group.id` is allowed but commits nothing unless asked to. Everything that begins with
`kafka.` goes to the client without that prefix, and the client names what it does not know.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from tidelog.common.errors import UsageError
from tidelog.common.types import TopicPartition
from tidelog.spark.offsets import EARLIEST, LATEST, Offsets, parse_assignment, parse_offsets
from tidelog.spark.transaction_names import checked_query_id

_log = logging.getLogger(__name__)
WIRE, SEGMENTS = "wire", "segments"
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"
STRATEGIES = ("assign", "subscribe", "subscribepattern")

_UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_FORBIDDEN_SOURCE = {
    "auto.offset.reset": "use startingOffsets instead",
    "key.deserializer": "keys are read as binary; cast them in Spark",
    "value.deserializer": "values are read as binary; cast them in Spark",
    "enable.auto.commit": "offsets are kept in the query's checkpoint",
    "interceptor.classes": "interceptors may break the query",
}
_FORBIDDEN_SINK = {
    "key.serializer": "keys are written as binary; cast them in Spark",
    "value.serializer": "values are written as binary; cast them in Spark",
    "transactional.id": "the sink makes its own, see docs/guide/spark.md",
}


@dataclass(frozen=True)
class Boundary:
    """Where to start or to end: a word (-2 earliest, -1 latest), offsets, or times."""

    offset: int | None = None
    offsets: Offsets | None = None
    timestamp: int | None = None
    timestamps: Offsets | None = None


@dataclass(frozen=True)
class SourceOptions:
    """What the source was told, checked. Exactly one of `assign`, `subscribe` and `pattern` is set. It is pickled to
    every task, so that it holds nothing but plain values.
    """

    kafka: dict[str, str]
    assign: tuple[TopicPartition, ...] | None
    subscribe: tuple[str, ...] | None
    pattern: str | None
    starting: Boundary
    ending: Boundary
    missing_timestamp_is_latest: bool
    fail_on_data_loss: bool
    max_offsets: int | None
    min_offsets: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records: int | None
    include_headers: bool
    group_id: str | None
    publish_offsets: bool
    poll_timeout_ms: int
    mode: str
    paths: tuple[str, ...]
    columns: tuple[str, ...] | None

    @property
    def read_committed(self) -> bool:
        """Kafka's default is read_uncommitted, here as well: rows of aborted transactions are rows then."""
        return self.kafka.get("isolation.level") == "read_committed"


@dataclass(frozen=True)
class SinkOptions:
    """What the sink was told, checked. `query_id` and `batch_id` come from the user; Spark's own come with each
    batch.
    """

    kafka: dict[str, str] = field(default_factory=dict)
    topic: str | None = None
    include_timestamp: bool = False
    delivery: str = EXACTLY_ONCE
    decisions_topic: str = "__tidelog_spark_decisions"
    query_id: str | None = None
    batch_id: int | None = None
    checkpoint: str | None = None


class _Raw:
    """The options as given, with typed access by name in any case."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values = {name.lower(): value for name, value in options.items()}

    def text(self, name: str) -> str | None:
        """The option without blanks around it; None if it was not given."""
        value = self._values.get(name.lower())
        return value.strip() if value is not None else None

    def flag(self, name: str, default: bool) -> bool:
        """`true` or `false` in any case; anything else is an error rather than a silent false."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in ("true", "false"):
            raise UsageError(f"option {name} must be true or false, not {text}")
        return text.lower() == "true"

    def count(self, name: str, default: int | None = None, *, least: int = 1) -> int | None:
        """A whole number that is not less than `least`."""
        text = self.text(name)
        if text is None:
            return default
        if not re.fullmatch(r"-?\d+", text) or int(text) < least:
            raise UsageError(f"option {name} must be a whole number of at least {least}, not {text}")
        return int(text)

    def duration_ms(self, name: str, default: int) -> int:
        """Durations as Spark writes them: `30s`, `15m`; a bare number is milliseconds."""
        text = self.text(name)
        if text is None:
            return default
        matched = re.fullmatch(r"(\d+)\s*([a-z]*)", text.lower())
        unit = matched.group(2) if matched else ""
        if matched is None or (unit and unit not in _UNIT_MS):
            raise UsageError(f"option {name} must be a duration such as 500ms, 30s or 15m, not {text}")
        return int(matched.group(1)) * _UNIT_MS[unit or "ms"]

    def kafka(self, forbidden: Mapping[str, str]) -> dict[str, str]:
        settings = {name[6:]: value for name, value in self._values.items() if name.startswith("kafka.")}
        for name, instead in forbidden.items():
            if name in settings:
                raise UsageError(f"Kafka option '{name}' is not supported: {instead}")
        return settings


def schema_options(options: Mapping[str, str]) -> tuple[tuple[str, ...] | None, bool]:
    """What decides about the schema alone, before Spark says whether it wants a batch or a stream: columns, headers."""
    raw = _Raw(options)
    columns = raw.text("columns")
    chosen = tuple(part.strip() for part in columns.split(",")) if columns else None
    return chosen, raw.flag("includeHeaders", False)


def source_options(options: Mapping[str, str], *, streaming: bool) -> SourceOptions:
    """The options of a source. A stream starts at the latest offsets unless told otherwise, a batch at the earliest, as
    in Spark's own: a stream is for what is to come, a batch for what there is.
    """
    raw = _Raw(options)
    mode = _choice(raw, "mode", WIRE, (WIRE, SEGMENTS))
    paths = tuple(part.strip() for part in (raw.text("path") or "").split(",") if part.strip())
    kafka = raw.kafka(_FORBIDDEN_SOURCE)
    _check_place(kafka, mode, paths)
    strategy = _strategy(raw)
    group = kafka.pop("group.id", None)
    publish = raw.flag("publishOffsets", False)
    if publish and group is None:
        raise UsageError("publishOffsets needs the group to publish as: set kafka.group.id")
    columns, include_headers = schema_options(options)
    if streaming:
        _forbid_endings(raw)
    return SourceOptions(
        kafka=kafka,
        assign=tuple(parse_assignment(strategy[1])) if strategy[0] == "assign" else None,
        subscribe=_topics(strategy[1]) if strategy[0] == "subscribe" else None,
        pattern=strategy[1] if strategy[0] == "subscribepattern" else None,
        starting=_boundary(raw, "starting", LATEST if streaming else EARLIEST, batch=not streaming),
        ending=_boundary(raw, "ending", LATEST, batch=not streaming),
        missing_timestamp_is_latest=_choice(raw, "startingOffsetsByTimestampStrategy", "error", ("error", "latest"))
        == "latest",
        fail_on_data_loss=raw.flag("failOnDataLoss", True),
        max_offsets=raw.count("maxOffsetsPerTrigger"),
        min_offsets=raw.count("minOffsetsPerTrigger"),
        max_trigger_delay_ms=raw.duration_ms("maxTriggerDelay", 15 * 60_000),
        min_partitions=raw.count("minPartitions"),
        max_records=raw.count("maxRecordsPerPartition"),
        include_headers=include_headers,
        group_id=group,
        publish_offsets=publish,
        poll_timeout_ms=raw.count("kafkaConsumer.pollTimeoutMs", 120_000) or 120_000,
        mode=mode,
        paths=paths,
        columns=columns,
    )


def sink_options(options: Mapping[str, str]) -> SinkOptions:
    """The options of a sink. `batchId` without `queryId` would name every query's batch 5 the same."""
    raw = _Raw(options)
    kafka = raw.kafka(_FORBIDDEN_SINK)
    _check_place(kafka, WIRE, ())
    query = raw.text("queryId")
    if raw.text("batchId") is not None and query is None:
        raise UsageError("batchId needs a queryId: together they name the write")
    return SinkOptions(
        kafka=kafka,
        topic=raw.text("topic"),
        include_timestamp=raw.flag("includeTimestamp", False),
        delivery=_choice(raw, "delivery", EXACTLY_ONCE, (EXACTLY_ONCE, AT_LEAST_ONCE)),
        decisions_topic=raw.text("decisionsTopic") or SinkOptions.decisions_topic,
        query_id=None if query is None else checked_query_id(query),
        batch_id=raw.count("batchId", least=0),
        checkpoint=raw.text("checkpointLocation"),
    )


def _check_place(kafka: Mapping[str, str], mode: str, paths: tuple[str, ...]) -> None:
    """Where the records are: brokers for wire mode, directories for segments mode; both are needed before anything is
    asked.
    """
    if mode == SEGMENTS:
        if not paths:
            raise UsageError('mode=segments needs the log directories: .load("/data/kafka-logs") or option path')
    elif not kafka.get("bootstrap.servers"):
        raise UsageError(
            "Option 'kafka.bootstrap.servers' must be specified: the host:port of some brokers, e.g. localhost:9092"
        )


def _strategy(raw: _Raw) -> tuple[str, str]:
    """Which of the three ways to name topics was chosen, and its text."""
    given = [(name, text) for name in STRATEGIES if (text := raw.text(name)) is not None]
    choices = "assign, subscribe, subscribePattern"
    if not given:
        raise UsageError(f"One of the following options must be specified: {choices}")
    if len(given) > 1:
        raise UsageError(f"Only one of the following options can be specified: {choices}")
    name, text = given[0]
    if not text:
        raise UsageError(f"option {name} is empty")
    return name, text


def _topics(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        raise UsageError(f"No topics to subscribe to in option subscribe: {text!r}")
    return names


def _choice(raw: _Raw, name: str, default: str, choices: tuple[str, ...]) -> str:
    text = (raw.text(name) or default).lower()
    if text not in choices:
        raise UsageError(f"option {name} must be one of {', '.join(choices)}, not {text}")
    return text


def _forbid_endings(raw: _Raw) -> None:
    """A stream has no end. `endingTimestamp` is only warned about, as Spark's own source lets it pass."""
    for name in ("endingOffsets", "endingOffsetsByTimestamp"):
        if raw.text(name) is not None:
            raise UsageError(f"{name} is not valid in streaming queries: a stream has no end")
    if raw.text("endingTimestamp") is not None:
        _log.warning("endingTimestamp means nothing to a stream, which has no end: ignored, as Spark's source does")


def _boundary(raw: _Raw, side: str, default: int, *, batch: bool) -> Boundary:
    """The first of {side}Timestamp, {side}OffsetsByTimestamp, {side}Offsets that is given."""
    timestamp = raw.count(f"{side}Timestamp", least=0)
    if timestamp is not None:
        return Boundary(timestamp=timestamp)
    by_timestamp = raw.text(f"{side}OffsetsByTimestamp")
    if by_timestamp is not None:
        return Boundary(timestamps=parse_offsets(f"{side}OffsetsByTimestamp", by_timestamp))
    text = raw.text(f"{side}Offsets")
    forbidden, word = (LATEST, "latest") if side == "starting" else (EARLIEST, "earliest")
    if text is None:
        return Boundary(offset=default)
    if text.lower() in ("earliest", "latest"):
        offset = EARLIEST if text.lower() == "earliest" else LATEST
        if batch and offset == forbidden:
            raise UsageError(f"{side} offset can't be {word} for batch queries")
        return Boundary(offset=offset)
    offsets = parse_offsets(f"{side}Offsets", text)
    if batch and forbidden in offsets.values():
        raise UsageError(f"{side}Offsets for {min(tp for tp in offsets if offsets[tp] == forbidden)} can't be {word}")
    return Boundary(offsets=offsets)
