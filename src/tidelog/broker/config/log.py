"""The broker's logs: directories, segments, retention, flushing, timestamps, the cleaner. Most are defaults of topic
keys."""

from __future__ import annotations

from tidelog.broker.config.definition import (
    CLUSTER_WIDE,
    MAX_DOUBLE,
    PER_BROKER,
    boolean,
    double,
    integer,
    long,
    string,
    strings,
)
from tidelog.common.config import Key, at_least, between, one_of, subset_of
from tidelog.common.types import MAX_INT64
from tidelog.log.message_format import KAFKA_VERSION

LOG_DIRS: Key[list[str] | None] = strings(
    "log.dirs", None, doc="The directories that hold the logs, separated by commas; `log.dir` where it is not set."
)
LOG_DIR = strings("log.dir", ["/tmp/kafka-logs"], doc="The directory that holds the logs, when there is one only.")
CORDONED_LOG_DIRS = strings(
    "cordoned.log.dirs", [], update=PER_BROKER, doc="Log directories that get no new partitions (`*` for all)."
)
LOG_SEGMENT_BYTES = integer(
    "log.segment.bytes",
    1_073_741_824,
    at_least(1_048_576),
    update=CLUSTER_WIDE,
    doc="The largest size of a segment file; a new one is begun before it would be exceeded.",
)
LOG_ROLL_MS: Key[int | None] = long(
    "log.roll.ms",
    None,
    update=CLUSTER_WIDE,
    doc="The longest time that a segment takes writes; without it `log.roll.hours`.",
)
LOG_ROLL_HOURS = integer(
    "log.roll.hours", 168, at_least(1), doc="The longest time that a segment takes writes, in hours."
)
LOG_ROLL_JITTER_MS: Key[int | None] = long(
    "log.roll.jitter.ms",
    None,
    update=CLUSTER_WIDE,
    doc="A random time, up to this, by which segments roll earlier, so that they do not all roll at once.",
)
LOG_ROLL_JITTER_HOURS = integer("log.roll.jitter.hours", 0, at_least(0), doc="The same jitter in hours.")
LOG_RETENTION_MS: Key[int | None] = long(
    "log.retention.ms",
    None,
    update=CLUSTER_WIDE,
    doc="How long records are kept; -1 forever. Without it `log.retention.minutes`, then `.hours`.",
)
LOG_RETENTION_MINUTES: Key[int | None] = integer(
    "log.retention.minutes", None, doc="How long records are kept, in minutes."
)
LOG_RETENTION_HOURS = integer("log.retention.hours", 168, doc="How long records are kept, in hours.")
LOG_RETENTION_BYTES = long(
    "log.retention.bytes", -1, update=CLUSTER_WIDE, doc="How many bytes a partition keeps; -1 for no limit."
)
LOG_RETENTION_CHECK_INTERVAL_MS = long(
    "log.retention.check.interval.ms",
    300_000,
    at_least(1),
    doc="How often logs are looked through for segments to delete.",
)
LOG_LOCAL_RETENTION_MS = long(
    "log.local.retention.ms",
    -2,
    at_least(-2),
    update=CLUSTER_WIDE,
    doc="How long tiered segments stay on the local disk; -2 as `log.retention.ms`.",
)
LOG_LOCAL_RETENTION_BYTES = long(
    "log.local.retention.bytes",
    -2,
    at_least(-2),
    update=CLUSTER_WIDE,
    doc="How many bytes of tiered partitions stay on the local disk; -2 as `log.retention.bytes`.",
)
LOG_CLEANUP_POLICY = strings(
    "log.cleanup.policy",
    ["delete"],
    subset_of("compact", "delete"),
    update=CLUSTER_WIDE,
    doc="What happens to old segments: `delete`, `compact`, or both.",
)
LOG_INDEX_SIZE_MAX_BYTES = integer(
    "log.index.size.max.bytes", 10_485_760, at_least(4), update=CLUSTER_WIDE, doc="The largest size of an index file."
)
LOG_INDEX_INTERVAL_BYTES = integer(
    "log.index.interval.bytes",
    4096,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="Bytes of records between two entries of the offset index: fewer find faster, more save memory.",
)
LOG_SEGMENT_DELETE_DELAY_MS = long(
    "log.segment.delete.delay.ms",
    60_000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How long a deleted segment stays on disk under its `.deleted` name.",
)
LOG_PREALLOCATE = boolean(
    "log.preallocate", False, update=CLUSTER_WIDE, doc="Whether a new segment's file is allocated at full size."
)
LOG_FLUSH_INTERVAL_MESSAGES = long(
    "log.flush.interval.messages",
    MAX_INT64,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="After how many records a partition is forced to disk; the default leaves that to the operating system.",
)
LOG_FLUSH_INTERVAL_MS: Key[int | None] = long(
    "log.flush.interval.ms",
    None,
    update=CLUSTER_WIDE,
    doc="After how many milliseconds records are forced to disk; without it `log.flush.scheduler.interval.ms`.",
)
LOG_FLUSH_SCHEDULER_INTERVAL_MS = long(
    "log.flush.scheduler.interval.ms",
    MAX_INT64,
    doc="How often it is checked whether a log needs to be forced to disk.",
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS = integer(
    "log.flush.offset.checkpoint.interval.ms",
    60_000,
    at_least(0),
    doc="How often the recovery points are written: recovery after a crash begins there.",
)
LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS = integer(
    "log.flush.start.offset.checkpoint.interval.ms",
    60_000,
    at_least(0),
    doc="How often the log start offsets are written.",
)
LOG_INITIAL_TASK_DELAY_MS = long(
    "log.initial.task.delay.ms",
    30_000,
    at_least(0),
    doc="How long after start-up the first round of background work waits.",
)
LOG_DIR_FAILURE_TIMEOUT_MS = long(
    "log.dir.failure.timeout.ms",
    30_000,
    at_least(1),
    doc="How long a broker may be unable to tell the controller of a failed log directory before it stops.",
)
LOG_MESSAGE_TIMESTAMP_TYPE = string(
    "log.message.timestamp.type",
    "CreateTime",
    one_of("CreateTime", "LogAppendTime"),
    update=CLUSTER_WIDE,
    doc="Whether a record's timestamp is the producer's (`CreateTime`) or the time of its append (`LogAppendTime`).",
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS = long(
    "log.message.timestamp.before.max.ms",
    MAX_INT64,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How far a timestamp may lie in the past.",
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS = long(
    "log.message.timestamp.after.max.ms",
    3_600_000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How far a timestamp may lie in the future.",
)
LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS = long(
    "log.message.timestamp.difference.max.ms",
    MAX_INT64,
    at_least(0),
    doc="How far a timestamp may be from the broker's clock, either way (before 3.6).",
)
LOG_MESSAGE_DOWNCONVERSION_ENABLE = boolean(
    "log.message.downconversion.enable", True, doc="Whether records are converted for clients too old for their format."
)
LOG_MESSAGE_FORMAT_VERSION = string(
    "log.message.format.version",
    "3.0-IV1",
    KAFKA_VERSION,
    doc="The version whose message format topics are stored in that set none themselves (before 4.0): magic 0 before "
    "0.10.0, magic 1 before 0.11.0. It holds only where `inter.broker.protocol.version` is set to a version before "
    "3.0; otherwise, and for internal topics, records are stored in magic 2.",
)
MESSAGE_MAX_BYTES = integer(
    "message.max.bytes", 1_048_588, at_least(0), update=CLUSTER_WIDE, doc="The largest record batch that is accepted."
)
LOG_CLEANER_ENABLE = boolean(
    "log.cleaner.enable", True, doc="Whether the cleaner compacts logs; internal topics need it."
)
LOG_CLEANER_THREADS = integer(
    "log.cleaner.threads", 1, at_least(0), update=CLUSTER_WIDE, doc="How many cleaner threads run."
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND = double(
    "log.cleaner.io.max.bytes.per.second",
    MAX_DOUBLE,
    update=CLUSTER_WIDE,
    doc="The most bytes per second that the cleaner reads and writes.",
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE = long(
    "log.cleaner.dedupe.buffer.size",
    134_217_728,
    update=CLUSTER_WIDE,
    doc="Memory for the cleaner's map of keys, over all its threads.",
)
LOG_CLEANER_IO_BUFFER_SIZE = integer(
    "log.cleaner.io.buffer.size",
    524_288,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="Memory for the cleaner's I/O buffers, over all its threads.",
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR = double(
    "log.cleaner.io.buffer.load.factor", 0.9, update=CLUSTER_WIDE, doc="How full the cleaner's map of keys may get."
)
LOG_CLEANER_BACKOFF_MS = long(
    "log.cleaner.backoff.ms",
    15_000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How long the cleaner rests when there is nothing to clean.",
)
LOG_CLEANER_MIN_CLEANABLE_RATIO = double(
    "log.cleaner.min.cleanable.ratio",
    0.5,
    between(0, 1),
    update=CLUSTER_WIDE,
    doc="The share of dirty bytes from which on a log is compacted.",
)
LOG_CLEANER_DELETE_RETENTION_MS = long(
    "log.cleaner.delete.retention.ms",
    86_400_000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How long a tombstone is kept after it was compacted for the first time.",
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS = long(
    "log.cleaner.min.compaction.lag.ms",
    0,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="How long a record stays uncompacted at least.",
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS = long(
    "log.cleaner.max.compaction.lag.ms",
    MAX_INT64,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="How long a record stays uncompacted at most.",
)
NUM_RECOVERY_THREADS_PER_DATA_DIR = integer(
    "num.recovery.threads.per.data.dir",
    2,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads per log directory that load and recover logs at start-up.",
)
NUM_REPLICA_ALTER_LOG_DIRS_THREADS: Key[int | None] = integer(
    "num.replica.alter.log.dirs.threads",
    None,
    doc="Threads that move partitions between log directories; without it one per directory.",
)
