"""Names that every layer shares: a partition's address and the protocol's sentinel numbers.

Kafka writes "none" as -1 where a number may be missing, nearly everywhere; null is for strings, bytes and arrays. The
names below say which none is meant.
"""

from __future__ import annotations

from tidelog.common.named_tuple import NamedTuple

NO_OFFSET = -1
NO_EPOCH = -1
NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_NODE = -1

#: ListOffsets' special timestamps.
LATEST_TIMESTAMP = -1
EARLIEST_TIMESTAMP = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL_TIMESTAMP = -4
LATEST_TIERED_TIMESTAMP = -5
EARLIEST_PENDING_UPLOAD_TIMESTAMP = -6

#: Topics whose records are ours: groups and transactions live in them.
GROUP_METADATA_TOPIC = "__consumer_offsets"
TRANSACTION_STATE_TOPIC = "__transaction_state"
INTERNAL_TOPICS = frozenset({GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC})

# Java's largest numbers: fields, sequence numbers and offsets wrap or end here.
MAX_INT16 = 2**15 - 1
MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1


class TopicPartition(NamedTuple):
    """A partition's address. Prints, and names its directory, as `topic-partition`."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
