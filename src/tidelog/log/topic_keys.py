"""The keys of a topic's configuration: one declaration each, with Kafka's names, defaults and limits.

The three keys that Kafka 4.0 retired (`message.format.version`, `message.timestamp.difference.max.ms`,
`message.downconversion.enable`) are still known, because configurations written by older clusters carry them; the first
has the effect that it had in 3.9 (`message_format.py`). A topic
key that nobody set takes its value from the first of its synonyms among the broker's keys that is set (`segment.ms`
from `log.roll.ms`, then `log.roll.hours`), and else its own default. `LogConfig` (config.py) is their typed form.
"""

from __future__ import annotations

import re
from typing import Any

from tidelog.common.config import ConfigDef, Key, Type, Update, Validator, at_least, between, one_of, subset_of
from tidelog.common.types import MAX_INT64
from tidelog.log.message_format import KAFKA_VERSION

_HOUR_MS = 3_600_000
_WEEK_MS = 7 * 24 * _HOUR_MS
_THROTTLED = re.compile(r"\d+:\d+\Z")

TOPIC_KEYS = ConfigDef("Topic configuration")


def _define(
    name: str, type: Type, default: Any, validator: Validator | None = None, *synonyms: str, doc: str
) -> Key[Any]:
    return TOPIC_KEYS.define(name, type, default, validator, doc=doc, update=Update.CLUSTER_WIDE, synonyms=synonyms)


def _throttled_list() -> Validator:
    return Validator(
        lambda value: value == ["*"] or all(_THROTTLED.match(entry) for entry in value),
        "Value must be the literal '*' or a list of replicas in the form partition:broker,partition:broker",
    )


def _level(low: int, high: int, *also: int) -> Validator:
    extra = "".join(f" or equal to {value}" for value in also)
    allowed = f"Value must be between {low} and {high}{extra}"
    return Validator(lambda v: low <= v <= high or v in also, allowed, low, high)


SEGMENT_BYTES = _define(
    "segment.bytes",
    Type.INT,
    1 << 30,
    at_least(1 << 20),
    "log.segment.bytes",
    doc="The largest size of a segment file. Retention and cleaning work on whole segments: larger ones mean "
    "fewer files but coarser control.",
)
SEGMENT_MS = _define(
    "segment.ms",
    Type.LONG,
    _WEEK_MS,
    at_least(1),
    "log.roll.ms",
    "log.roll.hours",
    doc="After this time a new segment is begun even when the present one is not full, so that retention can "
    "remove or compact old data.",
)
SEGMENT_JITTER_MS = _define(
    "segment.jitter.ms",
    Type.LONG,
    0,
    at_least(0),
    "log.roll.jitter.ms",
    "log.roll.jitter.hours",
    doc="The largest random time that is taken off segment.ms, so that many partitions do not begin new "
    "segments at once.",
)
SEGMENT_INDEX_BYTES = _define(
    "segment.index.bytes",
    Type.INT,
    10 << 20,
    at_least(4),
    "log.index.size.max.bytes",
    doc="The size of an index file. It is reserved (sparsely) when a segment begins and cut to what is used "
    "when it ends.",
)
FLUSH_MESSAGES = _define(
    "flush.messages",
    Type.LONG,
    MAX_INT64,
    at_least(1),
    "log.flush.interval.messages",
    doc="After this many messages the log is synced to disk; 1 syncs after each. Replication is the cheaper "
    "way to durability.",
)
FLUSH_MS = _define(
    "flush.ms",
    Type.LONG,
    MAX_INT64,
    at_least(0),
    "log.flush.interval.ms",
    "log.flush.scheduler.interval.ms",
    doc="After this time unsynced messages are synced to disk.",
)
RETENTION_BYTES = _define(
    "retention.bytes",
    Type.LONG,
    -1,
    None,
    "log.retention.bytes",
    doc="How large a partition may grow before its oldest segments are deleted (delete policy); -1 is no limit.",
)
RETENTION_MS = _define(
    "retention.ms",
    Type.LONG,
    _WEEK_MS,
    at_least(-1),
    "log.retention.ms",
    "log.retention.minutes",
    "log.retention.hours",
    doc="How long messages are kept before their segment is deleted (delete policy); -1 is for ever.",
)
MAX_MESSAGE_BYTES = _define(
    "max.message.bytes",
    Type.INT,
    1_048_588,
    at_least(0),
    "message.max.bytes",
    doc="The largest record batch (after compression, if any) that the topic accepts.",
)
INDEX_INTERVAL_BYTES = _define(
    "index.interval.bytes",
    Type.INT,
    4096,
    at_least(0),
    "log.index.interval.bytes",
    doc="About how many bytes of data lie between two index entries. Fewer bytes find a record with less "
    "scanning and make larger indexes.",
)
DELETE_RETENTION_MS = _define(
    "delete.retention.ms",
    Type.LONG,
    24 * _HOUR_MS,
    at_least(0),
    "log.cleaner.delete.retention.ms",
    doc="How long a delete marker (a record without a value) stays in a compacted topic, so that slow "
    "readers see the deletion.",
)
MIN_COMPACTION_LAG_MS = _define(
    "min.compaction.lag.ms",
    Type.LONG,
    0,
    at_least(0),
    "log.cleaner.min.compaction.lag.ms",
    doc="The least time that a message stays uncompacted.",
)
MAX_COMPACTION_LAG_MS = _define(
    "max.compaction.lag.ms",
    Type.LONG,
    MAX_INT64,
    at_least(1),
    "log.cleaner.max.compaction.lag.ms",
    doc="The longest time that a message may stay ineligible for compaction.",
)
FILE_DELETE_DELAY_MS = _define(
    "file.delete.delay.ms",
    Type.LONG,
    60_000,
    at_least(0),
    "log.segment.delete.delay.ms",
    doc="How long a deleted file waits before it is removed from the disk, so that readers can finish.",
)
MIN_CLEANABLE_DIRTY_RATIO = _define(
    "min.cleanable.dirty.ratio",
    Type.DOUBLE,
    0.5,
    between(0, 1),
    "log.cleaner.min.cleanable.ratio",
    doc="The least share of a compacted log that must be uncompacted before the cleaner works on it.",
)
CLEANUP_POLICY = _define(
    "cleanup.policy",
    Type.LIST,
    ["delete"],
    subset_of("compact", "delete"),
    "log.cleanup.policy",
    doc="What happens to old data: delete removes old segments, compact keeps the newest record of each key; "
    "both may be given, or none.",
)
UNCLEAN_LEADER_ELECTION_ENABLE = _define(
    "unclean.leader.election.enable",
    Type.BOOLEAN,
    False,
    None,
    "unclean.leader.election.enable",
    doc="Whether a replica outside the ISR may become leader as a last resort, at the price of lost messages.",
)
MIN_INSYNC_REPLICAS = _define(
    "min.insync.replicas",
    Type.INT,
    1,
    at_least(1),
    "min.insync.replicas",
    doc="How many replicas must have a write with acks=all before it succeeds.",
)
COMPRESSION_TYPE = _define(
    "compression.type",
    Type.STRING,
    "producer",
    one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    "compression.type",
    doc="How batches are compressed on disk: a codec, 'uncompressed', or 'producer' to keep what the producer chose.",
)
COMPRESSION_GZIP_LEVEL = _define(
    "compression.gzip.level",
    Type.INT,
    -1,
    _level(1, 9, -1),
    "compression.gzip.level",
    doc="The level when compression.type is gzip.",
)
COMPRESSION_LZ4_LEVEL = _define(
    "compression.lz4.level",
    Type.INT,
    9,
    _level(1, 17),
    "compression.lz4.level",
    doc="The level when compression.type is lz4.",
)
COMPRESSION_ZSTD_LEVEL = _define(
    "compression.zstd.level",
    Type.INT,
    3,
    _level(-131_072, 22),
    "compression.zstd.level",
    doc="The level when compression.type is zstd.",
)
PREALLOCATE = _define(
    "preallocate",
    Type.BOOLEAN,
    False,
    None,
    "log.preallocate",
    doc="Whether a new segment's file is made at its full size at once.",
)
MESSAGE_TIMESTAMP_TYPE = _define(
    "message.timestamp.type",
    Type.STRING,
    "CreateTime",
    one_of("CreateTime", "LogAppendTime"),
    "log.message.timestamp.type",
    doc="Whether a message's timestamp is the producer's (CreateTime) or the broker's (LogAppendTime).",
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS = _define(
    "message.timestamp.before.max.ms",
    Type.LONG,
    MAX_INT64,
    at_least(0),
    "log.message.timestamp.before.max.ms",
    doc="How far a message's timestamp may lie in the past (CreateTime).",
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS = _define(
    "message.timestamp.after.max.ms",
    Type.LONG,
    _HOUR_MS,
    at_least(0),
    "log.message.timestamp.after.max.ms",
    doc="How far a message's timestamp may lie in the future (CreateTime).",
)
LEADER_REPLICATION_THROTTLED_REPLICAS = _define(
    "leader.replication.throttled.replicas",
    Type.LIST,
    [],
    _throttled_list(),
    doc="The replicas whose traffic is throttled on the leader's side: partition:broker pairs, or * for all.",
)
FOLLOWER_REPLICATION_THROTTLED_REPLICAS = _define(
    "follower.replication.throttled.replicas",
    Type.LIST,
    [],
    _throttled_list(),
    doc="The replicas whose traffic is throttled on the follower's side: partition:broker pairs, or * for all.",
)
REMOTE_STORAGE_ENABLE = _define(
    "remote.storage.enable",
    Type.BOOLEAN,
    False,
    doc="Whether the topic uses tiered storage. Tidelog has none: only false is accepted by a broker.",
)
LOCAL_RETENTION_MS = _define(
    "local.retention.ms",
    Type.LONG,
    -2,
    at_least(-2),
    "log.local.retention.ms",
    doc="How long segments stay on this disk under tiered storage; -2 means retention.ms.",
)
LOCAL_RETENTION_BYTES = _define(
    "local.retention.bytes",
    Type.LONG,
    -2,
    at_least(-2),
    "log.local.retention.bytes",
    doc="How much stays on this disk under tiered storage; -2 means retention.bytes.",
)
REMOTE_LOG_COPY_DISABLE = _define(
    "remote.log.copy.disable",
    Type.BOOLEAN,
    False,
    doc="Whether tiered data becomes read-only.",
)
REMOTE_LOG_DELETE_ON_DISABLE = _define(
    "remote.log.delete.on.disable",
    Type.BOOLEAN,
    False,
    doc="Whether tiered data is deleted when tiering is switched off.",
)
MESSAGE_FORMAT_VERSION = _define(
    "message.format.version",
    Type.STRING,
    "3.0-IV1",
    KAFKA_VERSION,
    "log.message.format.version",
    doc="Retired in 4.0: the version whose message format the leader stores. Before 0.10.0 that is magic 0, before "
    "0.11.0 magic 1. It holds only where `inter.broker.protocol.version` is set to a version before 3.0 that is not "
    "older than this one; otherwise records are stored in magic 2.",
)
MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = _define(
    "message.timestamp.difference.max.ms",
    Type.LONG,
    MAX_INT64,
    at_least(0),
    "log.message.timestamp.difference.max.ms",
    doc="Retired in 4.0 in favour of message.timestamp.before.max.ms and .after.max.ms: the limit in both directions.",
)
MESSAGE_DOWNCONVERSION_ENABLE = _define(
    "message.downconversion.enable",
    Type.BOOLEAN,
    True,
    None,
    "log.message.downconversion.enable",
    doc="Retired in 4.0: whether batches are converted for consumers that only read older formats.",
)
INTERNAL_SEGMENT_BYTES = _define(
    "internal.segment.bytes",
    Type.INT,
    None,
    at_least(1),
    doc="Like segment.bytes without its lower limit. For tests.",
)
