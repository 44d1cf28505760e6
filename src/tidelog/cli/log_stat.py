"""`tidelog log stat`: what the logs in a directory are made of.

Sizes, counts and offsets come from batch headers alone. The ratio and the earliest time need every packed batch
unpacked, and the number of keys every key hashed: `--fast` leaves ratio and keys out, and gives a time that the
earliest is not above, with a sign that says so. Keys are counted by the cleaner's map, which holds about a million;
beyond that the rest is estimated, with a tilde.
"""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.log_paths import partitions_of
from tidelog.cli.output import Output, json_option, size_text, time_text
from tidelog.log.reading.reader import PartitionReader
from tidelog.log.reading.statistics import PartitionStatistics, StatisticsReader

COLUMNS = (
    "Partition", "Segments", "Size", "Batches", "Records", "First", "Last", "From", "To", "Codecs", "Ratio", "Keys",
)  # fmt: skip


@click.command("stat")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--topic", "-t", multiple=True, help="Only this topic; may be repeated.")
@click.option("--fast", is_flag=True, help="Read headers only: no ratio, no keys, a bound for From.")
@json_option
def stat(paths: tuple[Path, ...], topic: tuple[str, ...], fast: bool, as_json: bool) -> None:
    """Show sizes, counts, time range, compression ratio and number of different keys.

    The number of keys is exact up to about a million keys per partition and an estimate (~) above. With --fast the
    earliest time may be known to be at most (≤) what is shown: headers do not tell the times of all records.

    \b
    Examples:
      tidelog log stat /var/lib/kafka
      tidelog log stat /var/lib/kafka --topic orders --fast
      tidelog log stat /var/lib/kafka --json | jq 'select(.records > 1000000)'
    """
    output = Output(as_json=as_json)
    partitions = list(partitions_of(paths, topic))
    results: list[tuple[PartitionReader, PartitionStatistics]] = []
    with output.progress("reading", sum(partition.size for partition in partitions)) as advance:
        for partition in partitions:
            reader = StatisticsReader(partition, keys=not fast, ratio=not fast, progress=advance)
            results.append((partition, reader.read()))
    if as_json:
        for partition, found in results:
            output.json(_json(partition, found, fast))
    else:
        output.rows(COLUMNS, [_row(partition, found, fast) for partition, found in results])


def _row(partition: PartitionReader, found: PartitionStatistics, fast: bool) -> list[object]:
    """For people: sizes and times readable, what was not measured left out."""
    return [
        str(partition.topic_partition),
        found.segments,
        size_text(found.bytes),
        found.batches,
        found.records,
        found.first_offset,
        found.last_offset,
        None if found.min_time is None else f"{'' if found.min_time_exact else '≤'}{time_text(found.min_time)}",
        time_text(found.max_time),
        " ".join(f"{name}:{count}" for name, count in sorted(found.codecs.items())),
        None if found.compression_ratio is None else f"{found.compression_ratio:.2f}",
        None if fast else f"{'' if found.keys_exact else '~'}{found.distinct_keys}",
    ]


def _json(partition: PartitionReader, found: PartitionStatistics, fast: bool) -> dict[str, object]:
    """For programs: all numbers as they are; what `--fast` did not measure is not there rather than 0."""
    fields: dict[str, object] = {"topic": partition.topic, "partition": partition.partition, **vars(found)}
    fields["compression_ratio"] = found.compression_ratio
    if fast:
        for name in ("distinct_keys", "keys_exact", "packed_bytes", "plain_bytes", "compression_ratio"):
            fields.pop(name)
    return fields
