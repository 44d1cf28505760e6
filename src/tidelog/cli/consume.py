"""`tidelog consume`: records of a topic as lines on standard output.

It reads without a group: nothing is committed, nobody is rebalanced, and two people may look at the same topic. Values
are written as they are, with a newline behind each: what was produced from lines comes out as the same lines. Records
of several partitions come as they arrive; their order holds within a partition only, as in Kafka.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from tidelog.cli.connection import client_settings, connection_options, no_partition, run
from tidelog.cli.output import Output, json_bytes, json_option
from tidelog.cli.times import parse_moment
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

if TYPE_CHECKING:
    from tidelog.client.cluster.client import ClusterClient
    from tidelog.client.consumer._records import ConsumerRecord
    from tidelog.client.consumer.fetcher import Fetched, FetchRange

POLL_SECONDS = 0.5


class Shown(NamedTuple):
    """What of a record is printed, in plain form."""

    keys: bool
    headers: bool
    meta: bool
    separator: str
    null_marker: str


@click.command("consume")
@click.argument("topic")
@click.option(
    "-f",
    "--from",
    "start",
    default="end",
    show_default=True,
    metavar="WHERE",
    help="beginning, end, an offset, -N (the last N of each partition), or a time (2026-01-31, …T12:00:00, ms).",
)
@click.option("-p", "--partition", "partitions", type=int, multiple=True, help="Only this one; may be repeated.")
@click.option("-n", "--max-messages", type=click.IntRange(min=0), help="Stop after so many.")
@click.option("-e", "--exit", "at_end", is_flag=True, help="Stop at the end that each partition has now.")
@click.option("-k", "--keys", is_flag=True, help="Print keys before values.")
@click.option("--headers", is_flag=True, help="Print headers first, as name:value,name:value.")
@click.option("-m", "--meta", is_flag=True, help="Print partition, offset and time first.")
@click.option("--separator", default="\t", help="Between the parts of a line.  [default: tab]")
@click.option("--null", "null_marker", default="", help="What is printed for no key or no value.")
@click.option("--committed", is_flag=True, help="Only records of committed transactions.")
@connection_options
@json_option
def consume(
    topic: str,
    start: str,
    partitions: tuple[int, ...],
    max_messages: int | None,
    at_end: bool,
    keys: bool,
    headers: bool,
    meta: bool,
    separator: str,
    null_marker: str,
    committed: bool,
    server: str | None,
    config_file: str | None,
    as_json: bool,
) -> None:
    """Print the records of TOPIC, one line each. No group: nothing is committed.

    \b
    Examples:
      tidelog consume orders --from beginning --exit
      tidelog consume orders --from -10 --keys --meta
      tidelog consume orders --from 2026-01-31T12:00:00 -n 100 --json
    """
    shown = Shown(keys, headers, meta, separator, null_marker)
    isolation = "read_committed" if committed else "read_uncommitted"

    async def work(cluster: ClusterClient) -> None:
        from tidelog.client.consumer.fetcher import Fetcher

        ranges = await _ranges(cluster, topic, partitions, start, at_end, committed)
        fetcher = Fetcher(cluster, ranges)
        left = max_messages if max_messages is not None else sys.maxsize
        try:
            while left > 0 and not fetcher.done:
                for fetched in await fetcher.poll(POLL_SECONDS):
                    left -= _print(fetched, left, shown, as_json)
                    if left <= 0:
                        break
                sys.stdout.flush()
        finally:
            await fetcher.close()
        if at_end and start == "end":
            Output().remark("There is nothing behind the end; --from beginning (or -N, or a time) reads what is there.")

    settings = client_settings(server, config_file, **{"isolation.level": isolation})
    run(settings, work)


def _print(fetched: Fetched, limit: int, shown: Shown, as_json: bool) -> int:
    """Print up to `limit` records; returns how many."""
    count = 0
    write = sys.stdout.buffer.write
    for record in fetched.iter_records():
        if count == limit:
            break
        write(_json_line(record) if as_json else _line(record, shown))
        count += 1
    return count


def _line(record: ConsumerRecord, shown: Shown) -> bytes:
    """A record as the options want it. Bytes are not decoded: what is no text stays what it is."""
    from tidelog.cli.output import time_text

    null = shown.null_marker.encode()
    parts: list[bytes] = []
    if shown.meta:
        time = time_text(record.timestamp) or "-"
        parts += [str(record.partition).encode(), str(record.offset).encode(), time.encode()]
    if shown.headers:
        parts.append(b",".join(name.encode() + b":" + (null if v is None else v) for name, v in record.headers))
    if shown.keys:
        parts.append(null if record.key is None else record.key)
    parts.append(null if record.value is None else record.value)
    return shown.separator.encode().join(parts) + b"\n"


def _json_line(record: ConsumerRecord) -> bytes:
    """All of a record; what `produce --json` reads back."""
    import json

    line = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": json_bytes(record.key),
        "value": json_bytes(record.value),
        "headers": [[name, json_bytes(value)] for name, value in record.headers],
    }
    return json.dumps(line, ensure_ascii=False).encode() + b"\n"


async def _ranges(
    cluster: ClusterClient, topic: str, wanted: tuple[int, ...], start: str, at_end: bool, committed: bool
) -> dict[TopicPartition, FetchRange]:
    """Where each partition begins and ends. All offsets are asked for first, so that a wrong `--from` is an error
    before anything is printed; with `--exit` the ends of this moment are the ends.
    """
    from tidelog.cli.topics import no_such_topic
    from tidelog.client.consumer.fetcher import FetchRange
    from tidelog.client.offsets import READ_COMMITTED, READ_UNCOMMITTED, beginning_offsets, list_offsets
    from tidelog.common.types import LATEST_TIMESTAMP

    found = await cluster.all_topics()
    info = found.get(topic)
    if info is None:
        raise UsageError(no_such_topic(topic, found))
    missing = [index for index in wanted if index not in info.partitions]
    if missing:
        raise no_partition(topic, len(info.partitions), missing[0])
    tps = [TopicPartition(topic, index) for index in (wanted or sorted(info.partitions))]
    isolation = READ_COMMITTED if committed else READ_UNCOMMITTED
    ends = await list_offsets(cluster, dict.fromkeys(tps, LATEST_TIMESTAMP), isolation=isolation)
    begins = await beginning_offsets(cluster, tps)
    where = _where(start)
    times = await list_offsets(cluster, dict.fromkeys(tps, where.time)) if where.time is not None else {}
    ranges = {}
    for tp in tps:
        end = ends[tp].offset
        if where.time is not None:
            position = times[tp].offset if times[tp].offset >= 0 else end
        elif where.offset is None:
            position = begins[tp] if where.beginning else end
        elif where.offset < 0:
            position = max(begins[tp], end + where.offset)
        else:
            position = where.offset
            if not begins[tp] <= position <= end:
                raise UsageError(f"{tp} holds the offsets {begins[tp]} to {end - 1}, not {position}")
        ranges[tp] = FetchRange(position, end if at_end else None)
    return ranges


class Where(NamedTuple):
    """What `--from` means: the beginning, an offset (negative: from the end), a time, or, if nothing is set,
    the end.
    """

    beginning: bool = False
    offset: int | None = None
    time: int | None = None


def _where(text: str) -> Where:
    """`--from` understood: a word, an offset (a number of at most 12 digits), or a time."""
    if text in ("beginning", "earliest"):
        return Where(beginning=True)
    if text in ("end", "latest"):
        return Where()
    if text.lstrip("-").isdigit():
        number = int(text)
        return Where(time=number) if number >= 10**12 else Where(offset=number)
    moment = parse_moment(text)
    if moment is None:
        raise UsageError(
            f"--from {text}: expected beginning, end, an offset, -N, a date such as 2026-01-31T12:00:00 (UTC unless it "
            "says otherwise), or milliseconds since 1970"
        )
    return Where(time=moment)
