"""Questions about partitions that change nothing: where they begin and end, where a time lies, lag, health, the tail.

They go to the brokers with connections of the consumer's, and leave its positions alone. Since fetches that wait have
a connection of their own (`engine`), an answer here never takes `fetch.max.wait.ms`.

Lag is a matter of whom one asks. `lag` asks for the ends now, one request per leader; `current_lag` and `health` take
what the last fetch said, which costs nothing and may be older by the time that the user has worked since.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tidelog.client.cluster.metadata import TopicInfo
from tidelog.client.consumer._records import ConsumerRecord
from tidelog.client.consumer.core import ConsumerCore
from tidelog.client.consumer.fetcher import Fetcher, FetchRange
from tidelog.client.nearest import did_you_mean
from tidelog.client.offsets import list_offsets
from tidelog.client.values import OffsetAndTimestamp
from tidelog.common.errors import UsageError
from tidelog.common.types import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, TopicPartition


@dataclass(frozen=True)
class ConsumerHealth:
    """How a consumer is, from what it knows by itself: cheap enough for a probe that asks every second."""

    ok: bool
    reason: str
    group_state: str | None
    assigned: int
    paused: int
    without_position: int
    connected: bool
    seconds_since_poll: float | None
    seconds_since_commit: float | None
    lag: int | None
    #: Topics and partitions that were asked for and do not exist.
    missing: tuple[str, ...] = ()
    #: How `run` is going (a `handling.course.HandlingState`), while it is.
    handling: Any = None


async def offsets_for_times(
    core: ConsumerCore, wanted: Mapping[TopicPartition, int]
) -> dict[TopicPartition, OffsetAndTimestamp | None]:
    """The first record at or after each time (milliseconds since 1970); None where there is none so late."""
    if any(timestamp < 0 for timestamp in wanted.values()):
        raise UsageError("offsets_for_times takes milliseconds since 1970, which are not negative")
    found = await list_offsets(core.cluster, wanted, isolation=core.positions.isolation)
    return {
        tp: OffsetAndTimestamp(entry.offset, entry.timestamp, entry.leader_epoch) if entry.offset >= 0 else None
        for tp, entry in found.items()
    }


async def beginning_offsets(core: ConsumerCore, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Log start offsets; the isolation level does not matter for them."""
    found = await list_offsets(core.cluster, dict.fromkeys(partitions, EARLIEST_TIMESTAMP))
    return {tp: entry.offset for tp, entry in found.items()}


async def end_offsets(core: ConsumerCore, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Where what this consumer may see ends: the high watermark, or the last stable offset under read_committed."""
    wanted = dict.fromkeys(partitions, LATEST_TIMESTAMP)
    found = await list_offsets(core.cluster, wanted, isolation=core.positions.isolation)
    return {tp: entry.offset for tp, entry in found.items()}


async def partitions_for(core: ConsumerCore, topic: str) -> list[TopicPartition]:
    """The partitions of a topic, in order; none if there is no such topic."""

    async def ask() -> None:
        await core.cluster.refresh([topic])

    await core.cluster.retry(ask)
    known = core.cluster.metadata.topics.get(topic)
    return [] if known is None else [TopicPartition(topic, index) for index in sorted(known.partitions)]


async def list_topics(core: ConsumerCore) -> dict[str, TopicInfo]:
    """All that we may see, internal ones included."""
    return await core.cluster.retry(core.cluster.all_topics)


async def lag(core: ConsumerCore) -> dict[TopicPartition, int]:
    """How many offsets lie between each position and the end, asked of the brokers now."""
    ends = await end_offsets(core, core.subscription.partitions)
    positions = {tp: await core.position(tp) for tp in core.subscription.partitions}
    return {tp: max(ends[tp] - position, 0) for tp, position in positions.items()}


def current_lag(core: ConsumerCore, tp: TopicPartition) -> int | None:
    """The same as the last fetch has told it; None before there was one."""
    part = core.subscription.part(tp)
    end = part.last_stable_offset if core.positions.isolation else part.high_watermark
    return None if part.position is None or end < 0 else max(end - part.position, 0)


def health(core: ConsumerCore) -> ConsumerHealth:
    """What is known without asking anybody. The first of the reasons counts: a consumer that is closed, then one whose
    next call is going to raise, then a user who does not poll, then a cluster that cannot be reached, then topics and
    partitions that are not there.
    """
    now = core.clock.monotonic()
    parts = list(core.subscription.partitions.values())
    lags = [current_lag(core, part.tp) for part in parts]
    membership = core.group.membership
    state = membership.state if membership is not None else None
    since_poll = None if core.metrics.last_poll_at is None else now - core.metrics.last_poll_at
    since_commit = None if core.metrics.last_commit_at is None else now - core.metrics.last_commit_at
    limit = core.config_max_poll_interval
    missing = core.missing.found()
    reason = ""
    if core.closed:
        reason = "the consumer is closed"
    elif core.pending_problem is not None:
        reason = str(core.pending_problem)
    elif since_poll is not None and since_poll > limit:
        reason = f"poll was not called for {since_poll:.0f} s, longer than max.poll.interval.ms"
    elif not core.cluster.is_connected:
        reason = _why_not_connected(core)
    elif missing:
        reason = f"not there: {', '.join(missing[:5])}{' and others' if len(missing) > 5 else ''}"
    return ConsumerHealth(
        ok=not reason,
        reason=reason,
        group_state=state,
        assigned=len(parts),
        paused=sum(part.paused for part in parts),
        without_position=sum(part.stand is None for part in parts),
        connected=core.cluster.is_connected,
        seconds_since_poll=since_poll,
        seconds_since_commit=since_commit,
        lag=None if None in lags else sum(each for each in lags if each is not None),
        missing=tuple(missing),
        handling=None if core.handling is None else core.handling(),
    )


def _why_not_connected(core: ConsumerCore) -> str:
    """Nobody was tried before the first call that needs a broker: no connection then is nobody's fault."""
    if core.cluster.trouble:
        return f"there is no connection to any broker: {core.cluster.trouble}"
    if core.metrics.last_poll_at is None:
        return "poll was not called yet: the first one connects"
    return "there is no connection to any broker yet"


async def tail(core: ConsumerCore, topic: str, count: int) -> list[ConsumerRecord]:
    """The last records of a topic, oldest first, by timestamp across its partitions.

    An offset is no record: compaction and transactions leave holes. So where a partition's last `count` offsets hold
    fewer records, twice as many are read, and so on to its beginning.
    """
    if count < 1:
        raise UsageError(f"tail of {count} records: ask for one at least")
    partitions = await partitions_for(core, topic)
    if not partitions:
        known = [name for name, info in (await list_topics(core)).items() if not info.internal]
        meant = did_you_mean(topic, known)
        raise UsageError(f"there is no topic {topic}{f': {meant}' if meant else ''}")
    begins, ends = await beginning_offsets(core, partitions), await end_offsets(core, partitions)
    found: list[ConsumerRecord] = []
    for tp in partitions:
        width = count
        while True:
            start = max(ends[tp] - width, begins[tp])
            records = await _read(core, tp, start, ends[tp]) if start < ends[tp] else []
            if len(records) >= count or start == begins[tp]:
                found += records[-count:]
                break
            width *= 2
    found.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
    return found[-count:]


async def _read(core: ConsumerCore, tp: TopicPartition, start: int, end: int) -> list[ConsumerRecord]:
    """All records of a range."""
    fetcher = Fetcher(core.cluster, {tp: FetchRange(start, end)})
    records: list[ConsumerRecord] = []
    try:
        while not fetcher.done:
            for piece in await fetcher.poll(core.default_timeout):
                records += piece.iter_records(core.deserializers.decoders)
    finally:
        await fetcher.close()
    return records
