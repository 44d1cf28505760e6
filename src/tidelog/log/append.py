"""What goes into an append and what comes out of it, and of a read."""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import NO_EPOCH, NO_TIMESTAMP
from tidelog.log.segment.file_slice import FileSlice
from tidelog.records.format.origin import AppendOrigin as AppendOrigin  # part of this module's vocabulary


class AppendInfo(NamedTuple):
    """The outcome of an append.

    `duplicate`: the batch was there already; the offsets are those of the first time. `flush_required`: by
    `flush.messages` the records must be synced before they count as written, also when they were sent before.
    """

    first_offset: int
    last_offset: int
    max_timestamp: int
    #: The broker's time if the topic says LogAppendTime, else -1.
    log_append_time: int
    log_start_offset: int
    duplicate: bool = False
    flush_required: bool = False


class ReadResult(NamedTuple):
    """What a read found: None when there is nothing (yet) at that offset. The caller releases the slice.

    `first_offset` is that of the first batch, at or below the offset asked for. `first_batch_incomplete`: the
    first batch is larger than the limit, and was cut.
    """

    slice: FileSlice | None
    first_offset: int
    first_batch_incomplete: bool = False


class TimestampOffset(NamedTuple):
    """A record by its time."""

    timestamp: int = NO_TIMESTAMP
    offset: int = -1
    leader_epoch: int = NO_EPOCH
