"""Classic and consumer groups, and committed offsets."""

from __future__ import annotations

from tidelog.broker.config.definition import (
    CLUSTER_WIDE,
    boolean,
    integer,
    long,
    one_of_any_case,
    short,
    string,
    strings,
)
from tidelog.common.config import at_least, subset_of
from tidelog.common.types import MAX_INT32

GROUP_COORDINATOR_REBALANCE_PROTOCOLS = strings(
    "group.coordinator.rebalance.protocols",
    ["classic", "consumer", "streams"],
    subset_of("consumer", "classic", "share", "streams"),
    doc="Which group protocols are served.",
)
GROUP_COORDINATOR_NEW_ENABLE = boolean(
    "group.coordinator.new.enable",
    False,
    doc="Whether the new coordinator serves groups (3.9); Tidelog has one coordinator for all protocols.",
)
GROUP_COORDINATOR_THREADS = integer(
    "group.coordinator.threads",
    4,
    at_least(1),
    doc="Coordinator threads of Apache Kafka; Tidelog's coordinator lives on the event loop.",
)
GROUP_COORDINATOR_BACKGROUND_THREADS = integer(
    "group.coordinator.background.threads",
    2,
    at_least(1),
    doc="Threads for work that would stall the coordinator, such as regular expressions.",
)
GROUP_COORDINATOR_APPEND_LINGER_MS = integer(
    "group.coordinator.append.linger.ms",
    -1,
    at_least(-1),
    doc="How long coordinator records are gathered into one batch; -1 adapts, 0 not at all.",
)
GROUP_COORDINATOR_CACHED_BUFFER_MAX_BYTES = integer(
    "group.coordinator.cached.buffer.max.bytes",
    1_048_588,
    at_least(524_288),
    update=CLUSTER_WIDE,
    doc="The largest buffer that the coordinator keeps for the next batch.",
)
GROUP_INITIAL_REBALANCE_DELAY_MS = integer(
    "group.initial.rebalance.delay.ms",
    3000,
    doc="How long the first rebalance of an empty group waits for further members.",
)
GROUP_MIN_SESSION_TIMEOUT_MS = integer(
    "group.min.session.timeout.ms", 6000, doc="The shortest session time-out that a classic member may ask for."
)
GROUP_MAX_SESSION_TIMEOUT_MS = integer(
    "group.max.session.timeout.ms", 1_800_000, doc="The longest session time-out that a classic member may ask for."
)
GROUP_MAX_SIZE = integer("group.max.size", MAX_INT32, at_least(1), doc="The most members of a classic group.")
GROUP_CONSUMER_SESSION_TIMEOUT_MS = integer(
    "group.consumer.session.timeout.ms",
    45_000,
    at_least(1),
    doc="After how long without a heartbeat a member of a consumer group is dropped.",
)
GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS = integer(
    "group.consumer.min.session.timeout.ms",
    45_000,
    at_least(1),
    doc="The lowest session time-out that a consumer group may be configured to.",
)
GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS = integer(
    "group.consumer.max.session.timeout.ms",
    60_000,
    at_least(1),
    doc="The highest session time-out that a consumer group may be configured to.",
)
GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS = integer(
    "group.consumer.heartbeat.interval.ms",
    5000,
    at_least(1),
    doc="How often members of a consumer group send heartbeats.",
)
GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS = integer(
    "group.consumer.min.heartbeat.interval.ms",
    5000,
    at_least(1),
    doc="The lowest heartbeat interval that a consumer group may be configured to.",
)
GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS = integer(
    "group.consumer.max.heartbeat.interval.ms",
    15_000,
    at_least(1),
    doc="The highest heartbeat interval that a consumer group may be configured to.",
)
GROUP_CONSUMER_MAX_SIZE = integer(
    "group.consumer.max.size", MAX_INT32, at_least(1), doc="The most members of a consumer group."
)
GROUP_CONSUMER_ASSIGNORS = strings(
    "group.consumer.assignors", ["uniform", "range"], doc="The assignors of consumer groups; the first is the default."
)
GROUP_CONSUMER_MIGRATION_POLICY = string(
    "group.consumer.migration.policy",
    "bidirectional",
    one_of_any_case("disabled", "downgrade", "upgrade", "bidirectional"),
    doc="Whether groups may change between the classic and the consumer protocol.",
)
GROUP_CONSUMER_REGEX_REFRESH_INTERVAL_MS = integer(
    "group.consumer.regex.refresh.interval.ms",
    600_000,
    at_least(10_000),
    doc="How often topics are matched anew against the members' regular expressions.",
)
GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS = integer(
    "group.consumer.assignment.interval.ms",
    1000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The least time between two assignments of a consumer group.",
)
GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS = integer(
    "group.consumer.min.assignment.interval.ms",
    0,
    at_least(0),
    doc="The lowest assignment interval that a consumer group may be configured to.",
)
GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS = integer(
    "group.consumer.max.assignment.interval.ms",
    15_000,
    at_least(0),
    doc="The highest assignment interval that a consumer group may be configured to.",
)
OFFSET_METADATA_MAX_BYTES = integer(
    "offset.metadata.max.bytes", 4096, doc="The largest metadata that may come with a committed offset."
)
OFFSETS_LOAD_BUFFER_SIZE = integer(
    "offsets.load.buffer.size", 5_242_880, at_least(1), doc="Bytes per read while the groups of a partition are loaded."
)
OFFSETS_TOPIC_REPLICATION_FACTOR = short(
    "offsets.topic.replication.factor",
    3,
    at_least(1),
    doc="Replicas of `__consumer_offsets`; a broker alone uses 1 unless this is set.",
)
OFFSETS_TOPIC_NUM_PARTITIONS = integer(
    "offsets.topic.num.partitions",
    50,
    at_least(1),
    doc="Partitions of `__consumer_offsets`; never change it once the topic exists.",
)
OFFSETS_TOPIC_SEGMENT_BYTES = integer(
    "offsets.topic.segment.bytes", 104_857_600, at_least(1), doc="The segment size of `__consumer_offsets`."
)
OFFSETS_TOPIC_COMPRESSION_CODEC = integer(
    "offsets.topic.compression.codec", 0, doc="The codec of `__consumer_offsets`, by number; 0 is none."
)
OFFSETS_RETENTION_MINUTES = integer(
    "offsets.retention.minutes", 10_080, at_least(1), doc="How long the offsets of an empty group are kept."
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS = long(
    "offsets.retention.check.interval.ms",
    600_000,
    at_least(1),
    doc="How often offsets are looked through for such that have expired.",
)
OFFSETS_COMMIT_TIMEOUT_MS = integer(
    "offsets.commit.timeout.ms", 5000, at_least(1), doc="How long a commit may wait for its replicas."
)
OFFSETS_COMMIT_REQUIRED_ACKS = short(
    "offsets.commit.required.acks", -1, doc="The acks of a commit (before 4.0); -1 and nothing else."
)
