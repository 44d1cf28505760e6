"""`tidelog log compact`: clean partitions offline, as the broker's cleaner does.

The same code cleans that cleans in a broker, so that the result is the same: delete horizons, markers, the last
sequence of each producer. What a broker takes from the topic's configuration is an option here, as a log directory does
not hold it. Only whole, closed segments are cleaned, and only up to the high watermark: beyond it a record may still be
taken back. `--roll` and `--all` lift the two for a log that no broker will continue.

Records without a key go, as they do in a broker whose topic has become a compacted one. That may be all of a topic that
was never meant to be compacted, so the result says how many they were.
"""

from __future__ import annotations

from pathlib import Path

import click

from tidelog.cli.log_paths import by_directory, is_partition, partitions_of
from tidelog.cli.output import Output, counted, json_option, size_text
from tidelog.common.errors import KafkaError, UsageError
from tidelog.log.cleaner.config import CleanerConfig
from tidelog.log.cleaner.rewriter import CleanerStats
from tidelog.log.config import LogConfig
from tidelog.log.reading.offline import OfflineDirectory

COLUMNS = (
    "Partition", "Passes", "Before", "After", "Records before", "Records after", "Keyless", "Seconds", "Result",
)  # fmt: skip


@click.command("compact")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--topic", "-t", multiple=True, help="This topic of the log directory; may be repeated.")
@click.option("--all", "to_the_end", is_flag=True, help="Also what the high watermark does not cover.")
@click.option("--roll", is_flag=True, help="Close the last segment first, so that it is compacted too.")
@click.option(
    "--from-start", is_flag=True, help="Take the whole log for dirty, not only what came since the last pass."
)
@click.option(
    "--delete-retention-ms", type=int, default=86_400_000, show_default=True, help="How long tombstones stay."
)
@click.option("--segment-bytes", type=int, default=1 << 30, show_default=True, help="The largest segment to make.")
@click.option("--memory", type=int, default=128 << 20, show_default=True, help="Bytes for the map of keys.")
@json_option
def compact(
    paths: tuple[Path, ...],
    topic: tuple[str, ...],
    to_the_end: bool,
    roll: bool,
    from_start: bool,
    delete_retention_ms: int,
    segment_bytes: int,
    memory: int,
    as_json: bool,
) -> int:
    """Keep only the last record of every key. No broker may run on the directory.

    A log directory does not say which topics are compacted, so name them: by --topic, or by their partitions' paths.
    Records without a key are removed, and counted (Keyless).

    \b
    Examples:
      tidelog log compact /var/lib/kafka/__consumer_offsets-12
      tidelog log compact /var/lib/kafka --topic accounts --roll
    """
    for path in paths:
        if not topic and path.is_dir() and not is_partition(path):
            raise UsageError(f"{path} is a whole log directory: name the topics to compact by --topic")
    output = Output(as_json=as_json)
    partitions = list(partitions_of(paths, topic))
    config = LogConfig.from_topic(
        {
            "cleanup.policy": "compact",
            "delete.retention.ms": delete_retention_ms,
            "internal.segment.bytes": segment_bytes,
        }
    )
    cleaner = CleanerConfig(dedupe_buffer_size=memory, io_buffer_size=4 << 20)
    rows: list[tuple[object, ...]] = []
    failed = False
    with output.progress("compacting", sum(partition.size for partition in partitions)) as advance:
        for root, members in by_directory(partitions):
            with OfflineDirectory(root) as directory:
                for partition in members:
                    before = partition.size
                    try:
                        passes = directory.compact(
                            partition.topic_partition, config, cleaner, roll=roll, to_the_end=to_the_end,
                            from_start=from_start,
                        )  # fmt: skip
                        rows.append(_row(str(partition.topic_partition), before, partition.size, passes))
                    except KafkaError as error:
                        failed = True
                        rows.append((str(partition.topic_partition), *[None] * 7, error.message))
                    advance(before)
    output.rows(COLUMNS, rows)
    return 1 if failed else 0


def _row(name: str, before: int, after: int, passes: list[CleanerStats]) -> tuple[object, ...]:
    """A partition's line: several passes are one result, as the map of keys may be too small for all at once."""
    read = sum(stats.read_messages for stats in passes)
    dropped = sum(stats.read_messages - stats.kept_messages for stats in passes)
    seconds = sum(stats.seconds for stats in passes)
    keyless = sum(stats.keyless for stats in passes)
    result = "ok" if passes else "nothing to clean"
    if keyless:
        result = f"ok, but {counted(keyless, 'record')} without a key {'was' if keyless == 1 else 'were'} removed"
    sizes = size_text(before), size_text(after)
    return name, len(passes), *sizes, read, read - dropped, keyless, round(seconds, 3), result
