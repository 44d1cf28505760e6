"""The small files of a log directory as tables: indexes, snapshots, checkpoints, identities.

Each file says by its name what it is: `.index`, `.timeindex`, `.txnindex` and `.snapshot` are named after a base
offset, which their entries are relative to; the others have fixed names. What they are for is described in
docs/formats. A file that is damaged is an error with its path, and not a table of nonsense: the decoders check
versions, counts and checksums where the format has them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tidelog.cli.output import Output, time_text
from tidelog.cli.properties_file import read_properties
from tidelog.common.errors import UsageError
from tidelog.common.uuids import uuid_to_text
from tidelog.log import checkpoint, partition_metadata
from tidelog.log.names import (
    CLEAN_SHUTDOWN_FILE,
    INDEX,
    LEADER_EPOCH_FILE,
    META_PROPERTIES_FILE,
    PARTITION_METADATA_FILE,
    SNAPSHOT,
    TIME_INDEX,
    TXN_INDEX,
    split_name,
)
from tidelog.log.producers import snapshot as producer_snapshot
from tidelog.log.reading.segment_reader import decode_offset_index, decode_time_index
from tidelog.log.segment import txn_index

Show = Callable[[Path, bytes, int, Output], None]


def describe_file(path: Path, output: Output) -> None:
    """Show one file, by what its name says it is."""
    parsed = split_name(path.name)
    show = _BY_NAME.get(path.name) or (_BY_KIND.get(parsed[1]) if parsed else None)
    if show is None and path.name.endswith("-checkpoint"):
        show = _offsets
    if show is None:
        raise UsageError(f"{path} is no file that Kafka keeps in a log directory")
    show(path, path.read_bytes(), parsed[0] if parsed else 0, output)


def _offset_index(path: Path, data: bytes, base: int, output: Output) -> None:
    """Entries as absolute offsets; the zeros behind them are room that was set aside for later ones."""
    output.rows(("Offset", "Position"), decode_offset_index(data, base))


def _time_index(path: Path, data: bytes, base: int, output: Output) -> None:
    rows = [(entry.timestamp, time_text(entry.timestamp), entry.offset) for entry in decode_time_index(data, base)]
    output.rows(("Timestamp", "Time", "Offset"), rows)


def _txn_index(path: Path, data: bytes, base: int, output: Output) -> None:
    """Aborted transactions of the segment: whose, from where to where, and what was stable when they ended."""
    columns = ("Producer id", "First offset", "Last offset", "Last stable offset")
    output.rows(columns, txn_index.decode(data, base, str(path)))


def _snapshot(path: Path, data: bytes, base: int, output: Output) -> None:
    """What was known of the producers at the offset that the file is named after."""
    columns = (
        "Producer id", "Epoch", "Last sequence", "Last offset", "Offset delta", "Timestamp", "Coordinator epoch",
        "Open transaction",
    )  # fmt: skip
    fields = map(producer_snapshot.fields_of, producer_snapshot.decode(data, str(path)))
    output.rows(columns, [(*known, begun if begun >= 0 else None) for *known, begun in fields])


def _offsets(path: Path, data: bytes, base: int, output: Output) -> None:
    """The checkpoints of a log directory: recovery points, high watermarks, log starts and cleaner positions."""
    rows = [checkpoint.parse_fields(line, 3, str(path)) for line in checkpoint.decode_rows(data, str(path))]
    output.rows(("Topic", "Partition", "Offset"), [(topic, int(number), int(offset)) for topic, number, offset in rows])


def _epochs(path: Path, data: bytes, base: int, output: Output) -> None:
    """Where each leader's term began in this log."""
    rows = [checkpoint.parse_fields(line, 2, str(path)) for line in checkpoint.decode_rows(data, str(path))]
    output.rows(("Leader epoch", "Start offset"), [(int(epoch), int(offset)) for epoch, offset in rows])


def _properties(path: Path, data: bytes, base: int, output: Output) -> None:
    output.record(read_properties(str(path)))


def _topic_id(path: Path, data: bytes, base: int, output: Output) -> None:
    output.record({"topic_id": uuid_to_text(partition_metadata.decode(data, str(path)))})


def _marker(path: Path, data: bytes, base: int, output: Output) -> None:
    output.record({"clean_shutdown": True, "content": data.decode("utf-8", "replace")})


_BY_KIND: dict[str, Show] = {INDEX: _offset_index, TIME_INDEX: _time_index, TXN_INDEX: _txn_index, SNAPSHOT: _snapshot}
_BY_NAME: dict[str, Show] = {
    LEADER_EPOCH_FILE: _epochs,
    META_PROPERTIES_FILE: _properties,
    PARTITION_METADATA_FILE: _topic_id,
    CLEAN_SHUTDOWN_FILE: _marker,
}
