"""Share groups and streams groups."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, integer, short, string, strings
from tidelog.common.config import at_least, between
from tidelog.common.types import MAX_INT32

GROUP_SHARE_ENABLE = boolean("group.share.enable", False, doc="Whether share groups are served (3.9, early access).")
GROUP_SHARE_MAX_GROUPS = short("group.share.max.groups", 10, between(1, 100), doc="The most share groups (3.9).")
GROUP_SHARE_SESSION_TIMEOUT_MS = integer(
    "group.share.session.timeout.ms",
    45_000,
    at_least(1),
    doc="After how long without a heartbeat a member of a share group is dropped.",
)
GROUP_SHARE_MIN_SESSION_TIMEOUT_MS = integer(
    "group.share.min.session.timeout.ms",
    45_000,
    at_least(1),
    doc="The lowest session time-out that a share group may be configured to.",
)
GROUP_SHARE_MAX_SESSION_TIMEOUT_MS = integer(
    "group.share.max.session.timeout.ms",
    60_000,
    at_least(1),
    doc="The highest session time-out that a share group may be configured to.",
)
GROUP_SHARE_HEARTBEAT_INTERVAL_MS = integer(
    "group.share.heartbeat.interval.ms", 5000, at_least(1), doc="How often members of a share group send heartbeats."
)
GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS = integer(
    "group.share.min.heartbeat.interval.ms",
    5000,
    at_least(1),
    doc="The lowest heartbeat interval that a share group may be configured to.",
)
GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS = integer(
    "group.share.max.heartbeat.interval.ms",
    15_000,
    at_least(1),
    doc="The highest heartbeat interval that a share group may be configured to.",
)
GROUP_SHARE_MAX_SIZE = integer("group.share.max.size", 200, between(1, 1000), doc="The most members of a share group.")
GROUP_SHARE_MAX_SHARE_SESSIONS = integer(
    "group.share.max.share.sessions", 2000, at_least(1), doc="The most share sessions of one broker."
)
GROUP_SHARE_ASSIGNORS = strings("group.share.assignors", ["simple"], doc="The assignors of share groups.")
GROUP_SHARE_ASSIGNMENT_INTERVAL_MS = integer(
    "group.share.assignment.interval.ms",
    1000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The least time between two assignments of a share group.",
)
GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS = integer(
    "group.share.min.assignment.interval.ms",
    0,
    at_least(0),
    doc="The lowest assignment interval that a share group may be configured to.",
)
GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS = integer(
    "group.share.max.assignment.interval.ms",
    15_000,
    at_least(0),
    doc="The highest assignment interval that a share group may be configured to.",
)
GROUP_SHARE_INITIALIZE_RETRY_INTERVAL_MS = integer(
    "group.share.initialize.retry.interval.ms",
    30_000,
    at_least(1),
    doc="How long to wait before a share partition's state is initialised again.",
)
GROUP_SHARE_DELIVERY_COUNT_LIMIT = integer(
    "group.share.delivery.count.limit", 5, between(2, 10), doc="How often a record is delivered before it is given up."
)
GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT = integer(
    "group.share.min.delivery.count.limit",
    2,
    between(2, 5),
    doc="The lowest delivery limit that a share group may be configured to.",
)
GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT = integer(
    "group.share.max.delivery.count.limit",
    10,
    between(5, 25),
    doc="The highest delivery limit that a share group may be configured to.",
)
GROUP_SHARE_RECORD_LOCK_DURATION_MS = integer(
    "group.share.record.lock.duration.ms",
    30_000,
    between(1000, 3_600_000),
    doc="How long an acquired record stays with its consumer.",
)
GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS = integer(
    "group.share.min.record.lock.duration.ms",
    15_000,
    between(1000, 30_000),
    doc="The shortest lock that a share group may be configured to.",
)
GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS = integer(
    "group.share.max.record.lock.duration.ms",
    60_000,
    between(30_000, 3_600_000),
    doc="The longest lock that a share group may be configured to.",
)
GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS = integer(
    "group.share.partition.max.record.locks",
    2000,
    between(100, 10_000),
    doc="How many records of a share partition may be in flight.",
)
GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS = integer(
    "group.share.min.partition.max.record.locks",
    100,
    between(100, 2000),
    doc="The lowest such limit that a share group may be configured to.",
)
GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS = integer(
    "group.share.max.partition.max.record.locks",
    4000,
    between(2000, 10_000),
    doc="The highest such limit that a share group may be configured to.",
)
GROUP_SHARE_PERSISTER_CLASS_NAME = string(
    "group.share.persister.class.name",
    "org.apache.kafka.server.share.persister.DefaultStatePersister",
    doc="Who keeps the state of share groups; Tidelog keeps it in `__share_group_state`.",
)
SHARE_COORDINATOR_THREADS = integer(
    "share.coordinator.threads",
    1,
    at_least(1),
    doc="Threads of the share coordinator; Tidelog's lives on the event loop.",
)
SHARE_COORDINATOR_APPEND_LINGER_MS = integer(
    "share.coordinator.append.linger.ms",
    -1,
    at_least(-1),
    doc="How long share coordinator records are gathered into one batch; -1 adapts.",
)
SHARE_COORDINATOR_CACHED_BUFFER_MAX_BYTES = integer(
    "share.coordinator.cached.buffer.max.bytes",
    1_048_588,
    at_least(524_288),
    update=CLUSTER_WIDE,
    doc="The largest buffer that the share coordinator keeps for the next batch.",
)
SHARE_COORDINATOR_LOAD_BUFFER_SIZE = integer(
    "share.coordinator.load.buffer.size", 5_242_880, at_least(1), doc="Bytes per read while share state is loaded."
)
SHARE_COORDINATOR_SNAPSHOT_UPDATE_RECORDS_PER_SNAPSHOT = integer(
    "share.coordinator.snapshot.update.records.per.snapshot",
    500,
    between(0, 500),
    doc="How many updates follow one snapshot of a share partition's state.",
)
SHARE_COORDINATOR_COLD_PARTITION_SNAPSHOT_INTERVAL_MS = integer(
    "share.coordinator.cold.partition.snapshot.interval.ms",
    300_000,
    at_least(1),
    doc="How often the state of an idle share partition is written anew.",
)
SHARE_COORDINATOR_WRITE_TIMEOUT_MS = integer(
    "share.coordinator.write.timeout.ms",
    5000,
    at_least(1),
    doc="How long a write of share state may wait for its replicas.",
)
SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS = integer(
    "share.coordinator.state.topic.num.partitions",
    50,
    at_least(1),
    doc="Partitions of `__share_group_state`; never change it once the topic exists.",
)
SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR = short(
    "share.coordinator.state.topic.replication.factor",
    3,
    at_least(1),
    doc="Replicas of `__share_group_state`; a broker alone uses 1 unless this is set.",
)
SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR = short(
    "share.coordinator.state.topic.min.isr",
    2,
    at_least(1),
    doc="In-sync replicas that `__share_group_state` needs for a write.",
)
SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES = integer(
    "share.coordinator.state.topic.segment.bytes",
    104_857_600,
    at_least(1),
    doc="The segment size of `__share_group_state`.",
)
SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC = integer(
    "share.coordinator.state.topic.compression.codec",
    0,
    doc="The codec of `__share_group_state`, by number; 0 is none.",
)
SHARE_COORDINATOR_STATE_TOPIC_PRUNE_INTERVAL_MS = integer(
    "share.coordinator.state.topic.prune.interval.ms",
    300_000,
    at_least(1),
    doc="How often what is no longer needed of `__share_group_state` is deleted.",
)
GROUP_STREAMS_SESSION_TIMEOUT_MS = integer(
    "group.streams.session.timeout.ms",
    45_000,
    at_least(1),
    doc="After how long without a heartbeat a member of a streams group is dropped.",
)
GROUP_STREAMS_MIN_SESSION_TIMEOUT_MS = integer(
    "group.streams.min.session.timeout.ms",
    45_000,
    at_least(1),
    doc="The lowest session time-out that a streams group may be configured to.",
)
GROUP_STREAMS_MAX_SESSION_TIMEOUT_MS = integer(
    "group.streams.max.session.timeout.ms",
    60_000,
    at_least(1),
    doc="The highest session time-out that a streams group may be configured to.",
)
GROUP_STREAMS_HEARTBEAT_INTERVAL_MS = integer(
    "group.streams.heartbeat.interval.ms",
    5000,
    at_least(1),
    doc="How often members of a streams group send heartbeats.",
)
GROUP_STREAMS_MIN_HEARTBEAT_INTERVAL_MS = integer(
    "group.streams.min.heartbeat.interval.ms",
    5000,
    at_least(1),
    doc="The lowest heartbeat interval that a streams group may be configured to.",
)
GROUP_STREAMS_MAX_HEARTBEAT_INTERVAL_MS = integer(
    "group.streams.max.heartbeat.interval.ms",
    15_000,
    at_least(1),
    doc="The highest heartbeat interval that a streams group may be configured to.",
)
GROUP_STREAMS_MAX_SIZE = integer(
    "group.streams.max.size", MAX_INT32, at_least(1), doc="The most members of a streams group."
)
GROUP_STREAMS_NUM_STANDBY_REPLICAS = integer(
    "group.streams.num.standby.replicas", 0, at_least(0), doc="Standby replicas of each task of a streams group."
)
GROUP_STREAMS_MAX_STANDBY_REPLICAS = integer(
    "group.streams.max.standby.replicas",
    2,
    at_least(0),
    doc="The most standby replicas that a streams group may be configured to.",
)
GROUP_STREAMS_INITIAL_REBALANCE_DELAY_MS = integer(
    "group.streams.initial.rebalance.delay.ms",
    3000,
    at_least(0),
    doc="How long the first rebalance of a streams group waits for further members.",
)
GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS = integer(
    "group.streams.assignment.interval.ms",
    1000,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The least time between two assignments of a streams group.",
)
GROUP_STREAMS_MIN_ASSIGNMENT_INTERVAL_MS = integer(
    "group.streams.min.assignment.interval.ms",
    0,
    at_least(0),
    doc="The lowest assignment interval that a streams group may be configured to.",
)
GROUP_STREAMS_MAX_ASSIGNMENT_INTERVAL_MS = integer(
    "group.streams.max.assignment.interval.ms",
    15_000,
    at_least(0),
    doc="The highest assignment interval that a streams group may be configured to.",
)
