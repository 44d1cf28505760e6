"""`tidelog log dump`: what a log's files say, batch by batch or record by record.

It is the counterpart of Kafka's `kafka-dump-log`, and takes any directory that Kafka has written. Only reading happens:
no lock is taken and nothing is repaired, so that it may be used on a log in use. What is torn at the end of a log in
use is left out, as a reader leaves it out.

Batches are what lies on the disk; records are inside, packed perhaps. So the default shows batches, which costs a look
at their headers, and `--records` unpacks them. Output begins with the first batch found: a log of a terabyte is not
read before its first line is printed. On a terminal, tables come in pages of a thousand rows, each with widths of its
own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from pathlib import Path
from typing import Any, TypeVar

import click

from tidelog.cli.log_decode import decode_internal
from tidelog.cli.log_files import describe_file
from tidelog.cli.log_paths import is_partition, partitions_of
from tidelog.cli.output import Output, json_bytes, json_option, pairs, snake, text_of, time_text
from tidelog.cli.times import MOMENT
from tidelog.common.errors import UsageError
from tidelog.common.named_tuple import NamedTuple
from tidelog.log.names import LOG, file_name, parse_dir, split_name
from tidelog.log.reading.reader import PartitionReader
from tidelog.log.reading.segment_reader import SegmentReader
from tidelog.records.format.attributes import TimestampType
from tidelog.records.format.batch import Record, RecordBatch
from tidelog.records.format.control import control_type

#: Where a batch lies: part of every line that stands for itself, the title of a table.
PLACE_COLUMNS = ("Partition", "Segment")
BATCH_COLUMNS = (
    "Position", "Base offset", "Last offset", "Records", "Size", "Magic", "Codec", "Timestamp", "Leader epoch",
    "Producer", "Sequence", "Flags",
)  # fmt: skip
#: Rows of one table at most: it needs its column widths before its first line.
PAGE = 1000

T = TypeVar("T")


class Placed(NamedTuple):
    """A batch and where it lies.

    `partition` is empty for a file that lies in no partition's directory: a segment that somebody has copied to look at
    it.
    """

    topic: str
    partition: str
    segment: int
    position: int
    batch: RecordBatch

    @property
    def file(self) -> str:
        """The title of a table: partition and segment file, as they lie below the log directory."""
        return f"{self.partition}/{file_name(self.segment, LOG)}" if self.partition else file_name(self.segment, LOG)


@click.command("dump")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--records", "-r", is_flag=True, help="Show every record, not only the batches.")
@click.option("--offset", "-o", type=int, help="Start at this offset.")
@click.option("--end", "-e", type=int, help="Stop before this offset.")
@click.option("--from-time", type=MOMENT, help="Only batches with records at or after it (2026-01-31T12:00, or ms).")
@click.option("--to-time", type=MOMENT, help="Only records before this time (with --records).")
@click.option("--topic", "-t", multiple=True, help="Only this topic (of a log directory); may be repeated.")
@click.option("--limit", "-n", type=int, help="Stop after so many batches or records.")
@json_option
def dump(
    path: Path,
    records: bool,
    offset: int | None,
    end: int | None,
    from_time: int | None,
    to_time: int | None,
    topic: tuple[str, ...],
    limit: int | None,
    as_json: bool,
) -> None:
    """Show what a log directory, a partition or a single file holds.

    PATH may be a log directory, a partition's directory, or any file in them: .log, .index, .timeindex, .txnindex,
    .snapshot, a checkpoint, meta.properties, partition.metadata. Records of __consumer_offsets and
    __transaction_state are decoded.

    \b
    Examples:
      tidelog log dump /var/lib/kafka/orders-0
      tidelog log dump /var/lib/kafka/orders-0 --records --offset 1000 --limit 20
      tidelog log dump /var/lib/kafka/__consumer_offsets-12 --records --json | jq .decoded
      tidelog log dump /var/lib/kafka/orders-0/00000000000000000000.timeindex
      tidelog log dump /var/lib/kafka/recovery-point-offset-checkpoint
    """
    output = Output(as_json=as_json)
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if path.is_file():
        name = split_name(path.name)
        if name is None or name[1] != LOG:
            describe_file(path, output)
            return
        batches: Iterator[Placed] = _of_file(path, offset, end)
    else:
        ranges = {"start_offset": offset, "end_offset": end, "start_time": from_time, "end_time": to_time}
        batches = _of_partitions(list(partitions_of([path], topic)), ranges)
        if not is_partition(path) and limit is None and not topic and not as_json:
            output.remark("This is a whole log directory; --topic, --limit or a partition's path shows less.")
    if records:
        several = path.is_dir() and not is_partition(path)
        _dump_records(batches, output, offset, end, (from_time, to_time), limit, several)
    else:
        _dump_batches(batches, output, limit)


def _of_file(path: Path, start: int | None, end: int | None) -> Iterator[Placed]:
    """The batches of one segment that hold offsets of the range. Its partition is known by its directory's name if that
    has the form of one.
    """
    from tidelog.common.fs import LOCAL_FS

    parsed = split_name(path.name)
    if parsed is None or parsed[2]:
        raise UsageError(f"{path} is no segment in use")
    parent = parse_dir(path.resolve().parent.name)
    topic, partition = (parent.topic_partition.topic, str(parent.topic_partition)) if parent else ("", "")
    for position, batch in SegmentReader(LOCAL_FS, path.parent, parsed[0]).placed_batches():
        if start is not None and batch.last_offset < start:
            continue
        if end is not None and batch.last_offset >= end and batch.base_offset >= end:
            return
        yield Placed(topic, partition, parsed[0], position, batch)


def _of_partitions(partitions: Iterable[PartitionReader], ranges: dict[str, int | None]) -> Iterator[Placed]:
    """The batches of partitions one after the other, narrowed by indexes to the ranges that were asked for."""
    for partition in partitions:
        for segment, position, batch in partition.placed_batches(**ranges):
            yield Placed(partition.topic, str(partition.topic_partition), segment.base_offset, position, batch)


def _dump_batches(batches: Iterator[Placed], output: Output, limit: int | None) -> None:
    """Batches as tables by file on a terminal, as lines of `name=value` in a pipe, as objects under --json."""
    chosen = _or_remark(islice(batches, limit), output, "batches")
    if output.terminal and not output.as_json:
        for file, placed in groupby(chosen, key=lambda one: one.file):
            while page := [_batch_row(one) for one in islice(placed, PAGE)]:
                output.rows(BATCH_COLUMNS, page, title=file)
        return
    names = [snake(column) for column in PLACE_COLUMNS + BATCH_COLUMNS]
    for one in chosen:
        fields = dict(zip(names, [one.partition or None, one.segment, *_batch_row(one)], strict=True))
        if output.as_json:
            output.json(fields)
        else:
            output.line(pairs(fields.items()))


def _or_remark(items: Iterator[T], output: Output, what: str) -> Iterator[T]:
    """The same items; if there are none, a word about that, so that nobody waits for more."""
    found = False
    for item in items:
        found = True
        yield item
    if not found and not output.as_json:
        output.remark(f"There are no {what} here, or none in that range.")


def _batch_row(placed: Placed) -> list[object]:
    """A batch's header in a row. None stands for what the batch does not have: a producer, a sequence, flags; columns
    that have it in no row are not drawn. A packed entry of magic 0 or 1 has the offset of its last record in its
    header; its first offset is found inside, as the number of its records is.
    """
    batch = placed.batch
    header = batch.header
    flags = [
        name
        for name, present in (
            ("transactional", header.is_transactional),
            ("control", header.is_control),
            ("append-time", header.timestamp_type == TimestampType.LOG_APPEND_TIME),
        )
        if present
    ]
    if header.delete_horizon is not None and header.magic >= 2:
        flags.append(f"delete-horizon={header.delete_horizon}")
    producer = f"{header.producer_id}/{header.producer_epoch}" if header.producer_id >= 0 else None
    return [
        placed.position,
        batch.base_offset,
        header.last_offset,
        batch.record_count,
        header.size,
        header.magic,
        header.codec.label,
        time_text(header.max_timestamp),
        header.leader_epoch,
        producer,
        header.base_sequence if header.base_sequence >= 0 else None,
        ",".join(flags) or None,
    ]


def _dump_records(
    batches: Iterator[Placed],
    output: Output,
    start: int | None,
    end: int | None,
    times: tuple[int | None, int | None],
    limit: int | None,
    several: bool,
) -> None:
    """Records, one line each; those of `several` partitions under their partition's name."""
    wanted = (
        (_record_fields(placed, record), record)
        for placed in batches
        for record in placed.batch.records()
        if _in_range(record.offset, start, end) and _in_range(record.timestamp, *times)
    )
    shown = ""
    for fields, record in _or_remark(islice(wanted, limit), output, "records"):
        if output.as_json:
            output.json(fields)
            continue
        if several and fields["partition"] != shown:
            shown = fields["partition"]
            output.line(shown, style="bold")
        output.line(_record_line(fields, record))


def _in_range(value: int, start: int | None, end: int | None) -> bool:
    """`end` is exclusive, of offsets and of times."""
    return (start is None or value >= start) and (end is None or value < end)


def _record_fields(placed: Placed, record: Record) -> dict[str, Any]:
    """A record as JSON: a marker says what it ends, a record of an internal topic what it means, any other has its key,
    value and headers.
    """
    topic, batch = placed.topic, placed.batch
    fields: dict[str, Any] = {
        "partition": placed.partition or None,
        "offset": record.offset,
        "timestamp": record.timestamp,
    }
    if batch.is_control:
        return {**fields, "control": control_type(record.key).name, "producer_id": batch.producer_id}
    decoded = decode_internal(topic, record)
    if decoded is not None:
        return {**fields, "decoded": decoded}
    fields["key"] = json_bytes(record.key)
    fields["value"] = json_bytes(record.value)
    if record.headers:
        fields["headers"] = [[name, json_bytes(value)] for name, value in record.headers]
    return fields


def _record_line(fields: dict[str, Any], record: Record) -> str:
    """The same for people; a value of null is called what it is for the cleaner: a tombstone."""
    start = f"{record.offset:>10}  {time_text(record.timestamp) or '-':<24}"
    if "control" in fields:
        return f"{start}  {fields['control']} marker of producer {fields['producer_id']}"
    if "decoded" in fields:
        decoded = fields["decoded"]
        value = "tombstone" if decoded["value"] is None else _short(decoded["value"])
        return f"{start}  {decoded['type']}  {_short(decoded['key'])}  {value}"
    key = "-" if record.key is None else text_of(record.key)
    value = "tombstone" if record.value is None else text_of(record.value, 200)
    headers = " ".join(f"{name}={'-' if data is None else text_of(data)}" for name, data in record.headers)
    return f"{start}  {key}  {value}" + (f"  [{headers}]" if headers else "")


def _short(fields: dict[str, Any]) -> str:
    """Fields of a decoded record in one line."""
    return " ".join(
        f"{name}={value!r}" if isinstance(value, str) else f"{name}={value}" for name, value in fields.items()
    )
