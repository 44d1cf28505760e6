"""What a consumer raises by name, so that a program can tell one cause from another.

All are `KafkaError`s with the protocol's code where it has one, or `UsageError`s. Java's names end in Exception, these
in Error. What else may come is a `KafkaError` of the broker.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.common.errors import ErrorCode, KafkaError, TidelogError, UsageError
from tidelog.common.types import TopicPartition


class OffsetOutOfRangeError(KafkaError):
    """The log does not hold the position that we asked for."""

    def __init__(self, tp: TopicPartition, offset: int, log_start_offset: int) -> None:
        self.topic_partition, self.offset, self.log_start_offset = tp, offset, log_start_offset
        start = f" (its log starts at {log_start_offset})" if log_start_offset >= 0 else ""  # brokers need not say
        text = f"{tp} does not hold offset {offset}{start}"
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, text)


class TopicRecreatedError(OffsetOutOfRangeError):
    """The topic that we were reading is gone; another one has its name. `seek` goes on with that."""

    def __init__(self, tp: TopicPartition, offset: int) -> None:
        super().__init__(tp, offset, 0)
        self.message = f"{tp} was deleted and made anew: offset {offset} of it is of another topic"
        self.args = (f"{self.code.name}: {self.message}",)


class LogTruncationError(OffsetOutOfRangeError):
    """A new leader does not have what we have read (KIP-320): its log parts from ours at `divergent_offset`.

    Only raised with `auto.offset.reset=none`; else the position is set by that.
    """

    def __init__(self, tp: TopicPartition, offset: int, divergent_offset: int) -> None:
        super().__init__(tp, offset, -1)
        self.divergent_offset = divergent_offset
        self.message = f"{tp} was cut off below {offset}: the new leader's log differs from {divergent_offset} on"
        self.args = (f"{self.code.name}: {self.message}",)


class NoOffsetForPartitionError(KafkaError):
    """There is no committed offset and `auto.offset.reset` is none: where to begin is the caller's decision."""

    def __init__(self, partitions: Iterable[TopicPartition]) -> None:
        self.partitions = frozenset(partitions)
        names = ", ".join(str(tp) for tp in sorted(self.partitions))
        text = f"no offset is committed for {names}, and auto.offset.reset=none: seek, or set another policy"
        super().__init__(ErrorCode.OFFSET_OUT_OF_RANGE, text)


class InvalidGroupIdError(KafkaError):
    """The consumer has no `group.id`, and what was called needs one."""

    def __init__(self, method: str) -> None:
        text = f"{method} needs a group: set group.id to a name that is not empty"
        super().__init__(ErrorCode.INVALID_GROUP_ID, text)


class RecordDeserializationError(KafkaError):
    """A deserializer failed; the record's place tells where to seek, its raw bytes are still there."""

    def __init__(self, tp: TopicPartition, offset: int, what: str, cause: Exception) -> None:
        self.topic_partition, self.offset = tp, offset
        text = f"the {what} of {tp} offset {offset} cannot be deserialized: {cause}"
        super().__init__(ErrorCode.INVALID_RECORD, text)


class WakeupError(TidelogError):
    """`wakeup` was called: the call at hand (or the next one) ends with this."""


class ConcurrentUseError(UsageError):
    """The consumer is used by another thread or task at this moment; both calls are named."""

    def __init__(self, method: str, busy: str, who: str) -> None:
        super().__init__(
            f"{method} was called while {who} is inside {busy}: a consumer belongs to one thread or task at a time "
            "(only wakeup may be called from elsewhere); make one consumer for each"
        )
