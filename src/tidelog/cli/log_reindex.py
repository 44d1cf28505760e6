"""`tidelog log reindex`: build the indexes anew from the data.

A broker does this by itself after an unclean stop, for what lies behind the recovery point. It is for indexes that were
lost or damaged otherwise: copied without, cut by a full disk, or made with another interval. First the data is read and
checked from the first to the last byte; then the old indexes are removed, and the log is opened, which builds what is
missing.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from tidelog.cli.log_paths import by_directory, partitions_of
from tidelog.cli.output import Output, json_option
from tidelog.common.errors import KafkaError
from tidelog.log.config import LogConfig
from tidelog.log.reading.offline import OfflineDirectory


@click.command("reindex")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--topic", "-t", multiple=True, help="Only this topic; may be repeated.")
@click.option("--index-interval-bytes", type=int, default=4096, show_default=True, help="Bytes between index entries.")
@json_option
def reindex(paths: tuple[Path, ...], topic: tuple[str, ...], index_interval_bytes: int, as_json: bool) -> int:
    """Build .index, .timeindex and .txnindex anew from the data. No broker may run on the directory.

    A partition whose data is damaged is refused, and left as it is: `tidelog log verify` says where.

    \b
    Examples:
      tidelog log reindex /var/lib/kafka/orders-0
      tidelog log reindex /var/lib/kafka --topic orders
    """
    output = Output(as_json=as_json)
    partitions = list(partitions_of(paths, topic))
    config = LogConfig.from_topic({"index.interval.bytes": index_interval_bytes})
    rows: list[tuple[object, ...]] = []
    failed = False
    with output.progress("reindexing", sum(partition.size for partition in partitions)) as advance:
        for root, members in by_directory(partitions):
            with _as_expected(), OfflineDirectory(root) as directory:
                for partition in members:
                    try:
                        count = directory.reindex(partition.topic_partition, config, advance)
                        rows.append((str(partition.topic_partition), count, "ok", None))
                    except KafkaError as error:
                        failed = True
                        rows.append((str(partition.topic_partition), None, "error", error.message))
    output.rows(("Partition", "Segments", "Result", "Problem"), rows)
    return 1 if failed else 0


@contextmanager
def _as_expected() -> Iterator[None]:
    """A log that is opened without its indexes says so; here that is what was asked for."""
    logger = logging.getLogger("tidelog.log.recovery.loader")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)
