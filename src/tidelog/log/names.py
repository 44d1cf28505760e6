"""How Kafka names what lies in a log directory.

A partition's directory is `topic-partition`; on its way out, in or aside it is `topic-partition.<unique>-delete`,
`-future` or `-stray` (cut so that the name fits into 255 characters). Inside, a file is named by the 20-digit
offset that it starts at, then its kind: `00000000000000000042.index`. A second suffix is a state: `.deleted` waits
for its unlink, `.cleaned` is a cleaner's unfinished output, `.swap` is finished output about to take its place.
"""

from __future__ import annotations

import re

from tidelog.common.named_tuple import NamedTuple
from tidelog.common.types import TopicPartition

LOG = ".log"
INDEX = ".index"
TIME_INDEX = ".timeindex"
TXN_INDEX = ".txnindex"
SNAPSHOT = ".snapshot"
#: The files of one segment, in the order in which they are renamed and removed.
SEGMENT_KINDS = (LOG, INDEX, TIME_INDEX, TXN_INDEX)
INDEX_KINDS = (INDEX, TIME_INDEX, TXN_INDEX)

DELETED = ".deleted"
CLEANED = ".cleaned"
SWAP = ".swap"

LEADER_EPOCH_FILE = "leader-epoch-checkpoint"
PARTITION_METADATA_FILE = "partition.metadata"

CLEAN_SHUTDOWN_FILE = ".kafka_cleanshutdown"
RECOVERY_POINT_FILE = "recovery-point-offset-checkpoint"
LOG_START_FILE = "log-start-offset-checkpoint"
REPLICATION_OFFSET_FILE = "replication-offset-checkpoint"
CLEANER_OFFSET_FILE = "cleaner-offset-checkpoint"
META_PROPERTIES_FILE = "meta.properties"
LOCK_FILE = ".lock"
#: KRaft's metadata log: it lies among the partitions, is none of them, and is never touched.
METADATA_LOG_DIR = "__cluster_metadata-0"

_DIR = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)\Z")
_MARKED_DIR = re.compile(
    r"(?P<topic>.+)-(?P<partition>\d+)\.(?P<unique>[0-9a-zA-Z_-]+)-(?P<kind>delete|future|stray)\Z"
)
_MAX_NAME = 255


class DirName(NamedTuple):
    """A partition directory's name, read: `kind` is "", "delete", "future" or "stray"."""

    topic_partition: TopicPartition
    kind: str


def file_name(base_offset: int, kind: str, suffix: str = "") -> str:
    """`file_name(42, INDEX, SWAP)` is `00000000000000000042.index.swap`."""
    return f"{base_offset:020d}{kind}{suffix}"


def snapshot_name(offset: int, suffix: str = "") -> str:
    return file_name(offset, SNAPSHOT, suffix)


def split_name(name: str) -> tuple[int, str, str] | None:
    """(offset, kind, suffix) of a segment's or a snapshot's file, or None for any other name."""
    digits, dot, rest = name.partition(".")
    if not dot or len(digits) != 20 or not digits.isdecimal() or not digits.isascii():
        return None
    kind, dot, suffix = rest.partition(".")
    return int(digits), "." + kind, dot + suffix


def parse_dir(name: str) -> DirName | None:
    """What a directory's name says, or None when it is no partition's."""
    match = _MARKED_DIR.match(name)
    kind = match["kind"] if match else ""
    if match is None and not name.endswith(("-delete", "-future", "-stray")):
        match = _DIR.match(name)
    if match is None or int(match["partition"]) >= 1 << 31:
        return None
    return DirName(TopicPartition(match["topic"], int(match["partition"])), kind)


def _marked(topic_partition: TopicPartition, unique: str, kind: str) -> str:
    """A topic's name may have 249 characters, a file's 255: the topic's is cut, since `unique` tells them apart."""
    suffix = f"-{topic_partition.partition}.{unique}-{kind}"
    return topic_partition.topic[: _MAX_NAME - len(suffix)] + suffix


def delete_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """The name of a deleted partition's directory. `unique` keeps a topic that is made and deleted again apart."""
    return _marked(topic_partition, unique, "delete")


def future_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """The name of a replica that is being moved to another log directory. Never cut: it becomes a plain name again."""
    return f"{topic_partition}.{unique}-future"


def stray_dir_name(topic_partition: TopicPartition, unique: str) -> str:
    """The name of a replica that the cluster does not know any more."""
    return _marked(topic_partition, unique, "stray")
