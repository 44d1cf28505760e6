"""Who the node is, and its place in a cluster: node id, KRaft's roles and metadata log."""

from __future__ import annotations

from tidelog.broker.config.definition import boolean, integer, long, string, strings
from tidelog.common.config import Key, at_least, subset_of
from tidelog.common.types import MAX_INT64
from tidelog.log.message_format import KAFKA_VERSION

BROKER_ID = integer(
    "broker.id", -1, doc="The broker's number (ZooKeeper mode); -1 takes the one in `meta.properties` or makes one."
)
NODE_ID = integer("node.id", -1, doc="The node's number (KRaft mode); the newer name of `broker.id`.")
BROKER_RACK: Key[str | None] = string(
    "broker.rack", None, doc="The rack, or availability zone, that the broker stands in."
)
BROKER_ID_GENERATION_ENABLE = boolean(
    "broker.id.generation.enable",
    True,
    doc="Whether a broker without a number gets one above `reserved.broker.max.id`.",
)
RESERVED_BROKER_MAX_ID = integer(
    "reserved.broker.max.id", 1000, at_least(0), doc="The largest number that may be given by hand."
)
INTER_BROKER_PROTOCOL_VERSION = string(
    "inter.broker.protocol.version",
    "3.9-IV0",
    KAFKA_VERSION,
    doc="The version that brokers speak among themselves (before 4.0). One before 3.0 lets topics be stored in older "
    "message formats (`log.message.format.version`, `message.format.version`); it changes nothing else.",
)
CONTROLLED_SHUTDOWN_ENABLE = boolean(
    "controlled.shutdown.enable", True, doc="Whether leadership moves away before the broker stops."
)
CONTROLLED_SHUTDOWN_MAX_RETRIES = integer("controlled.shutdown.max.retries", 3, doc="How often that is tried.")
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS = long(
    "controlled.shutdown.retry.backoff.ms", 5000, doc="How long to wait in between."
)
CONTROLLER_SOCKET_TIMEOUT_MS = integer(
    "controller.socket.timeout.ms", 30_000, doc="How long the controller waits for a broker's answer."
)
SERVER_MAX_STARTUP_TIME_MS = long(
    "server.max.startup.time.ms", MAX_INT64, at_least(0), doc="How long start-up may take."
)
PROCESS_ROLES = strings(
    "process.roles",
    [],
    subset_of("broker", "controller"),
    doc="The roles of a KRaft node: `broker`, `controller` or both.",
)
CONTROLLER_LISTENER_NAMES = strings(
    "controller.listener.names", [], doc="The listeners of a KRaft controller; a Tidelog broker does not open them."
)
CONTROLLER_QUORUM_VOTERS = strings(
    "controller.quorum.voters", [], doc="The KRaft controllers, as `id@host:port`; a Tidelog broker alone needs none."
)
CONTROLLER_QUORUM_BOOTSTRAP_SERVERS = strings(
    "controller.quorum.bootstrap.servers", [], doc="Where the KRaft controllers can be found."
)
CONTROLLER_QUORUM_AUTO_JOIN_ENABLE = boolean(
    "controller.quorum.auto.join.enable", False, doc="Whether a new controller joins the quorum by itself."
)
CONTROLLER_QUORUM_APPEND_LINGER_MS = integer(
    "controller.quorum.append.linger.ms", 25, at_least(0), doc="How long a KRaft leader gathers records."
)
CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS = integer(
    "controller.quorum.election.timeout.ms", 1000, at_least(0), doc="When a KRaft voter gives up an election."
)
CONTROLLER_QUORUM_ELECTION_BACKOFF_MAX_MS = integer(
    "controller.quorum.election.backoff.max.ms",
    1000,
    at_least(0),
    doc="How long a KRaft voter waits for the next election at most.",
)
CONTROLLER_QUORUM_FETCH_TIMEOUT_MS = integer(
    "controller.quorum.fetch.timeout.ms", 2000, at_least(0), doc="When a KRaft follower begins an election."
)
CONTROLLER_QUORUM_FETCH_MAX_BYTES = integer(
    "controller.quorum.fetch.max.bytes", 1_048_576, at_least(1), doc="Bytes that a KRaft follower asks for."
)
CONTROLLER_QUORUM_FETCH_SNAPSHOT_MAX_BYTES = integer(
    "controller.quorum.fetch.snapshot.max.bytes",
    1_048_576,
    at_least(1),
    doc="Bytes of a snapshot that a KRaft follower asks for.",
)
CONTROLLER_QUORUM_REQUEST_TIMEOUT_MS = integer(
    "controller.quorum.request.timeout.ms", 2000, at_least(0), doc="How long a KRaft node waits for an answer."
)
CONTROLLER_QUORUM_RETRY_BACKOFF_MS = integer(
    "controller.quorum.retry.backoff.ms", 20, at_least(0), doc="How long a KRaft node waits before it asks again."
)
CONTROLLER_PERFORMANCE_SAMPLE_PERIOD_MS = long(
    "controller.performance.sample.period.ms",
    60_000,
    at_least(100),
    doc="How often the KRaft controller logs its slowest events.",
)
CONTROLLER_PERFORMANCE_ALWAYS_LOG_THRESHOLD_MS = long(
    "controller.performance.always.log.threshold.ms",
    2000,
    at_least(0),
    doc="From which length on an event is always logged.",
)
BROKER_HEARTBEAT_INTERVAL_MS = integer(
    "broker.heartbeat.interval.ms", 2000, doc="How often a KRaft broker sends heartbeats."
)
BROKER_SESSION_TIMEOUT_MS = integer(
    "broker.session.timeout.ms", 9000, doc="After how long without a heartbeat a KRaft broker is fenced."
)
INITIAL_BROKER_REGISTRATION_TIMEOUT_MS = integer(
    "initial.broker.registration.timeout.ms", 60_000, doc="How long a KRaft broker tries to register at first."
)
METADATA_LOG_DIR: Key[str | None] = string(
    "metadata.log.dir", None, doc="Where KRaft's metadata log lies; the first of `log.dirs` where it is not set."
)
METADATA_LOG_SEGMENT_BYTES = integer(
    "metadata.log.segment.bytes", 1_073_741_824, at_least(8_388_608), doc="The segment size of KRaft's metadata log."
)
METADATA_LOG_SEGMENT_MIN_BYTES = integer(
    "metadata.log.segment.min.bytes",
    8_388_608,
    at_least(12),
    doc="The lowest segment size of KRaft's metadata log (3.9).",
)
METADATA_LOG_SEGMENT_MS = long(
    "metadata.log.segment.ms", 604_800_000, doc="How long a segment of KRaft's metadata log takes writes."
)
METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS = long(
    "metadata.log.max.record.bytes.between.snapshots",
    20_971_520,
    at_least(1),
    doc="Bytes of metadata after which KRaft writes a snapshot.",
)
METADATA_LOG_MAX_SNAPSHOT_INTERVAL_MS = long(
    "metadata.log.max.snapshot.interval.ms", 3_600_000, at_least(0), doc="Time after which KRaft writes a snapshot."
)
METADATA_MAX_IDLE_INTERVAL_MS = integer(
    "metadata.max.idle.interval.ms", 500, at_least(0), doc="How often an idle KRaft leader writes an empty record."
)
METADATA_MAX_RETENTION_BYTES = long(
    "metadata.max.retention.bytes", 104_857_600, doc="Bytes of old metadata and snapshots that KRaft keeps."
)
METADATA_MAX_RETENTION_MS = long(
    "metadata.max.retention.ms", 604_800_000, doc="How long KRaft keeps old metadata and snapshots."
)
INTERNAL_METADATA_DELETE_DELAY_MILLIS = long(
    "internal.metadata.delete.delay.millis", 60_000, doc="How long deleted metadata segments stay on disk."
)
INTERNAL_METADATA_LOG_SEGMENT_BYTES: Key[int | None] = integer(
    "internal.metadata.log.segment.bytes", None, doc="The segment size of KRaft's metadata log in tests."
)
INTERNAL_METADATA_MAX_BATCH_SIZE_IN_BYTES = integer(
    "internal.metadata.max.batch.size.in.bytes", 8_388_608, doc="The largest batch of metadata records."
)
ELIGIBLE_LEADER_REPLICAS_ENABLE = boolean(
    "eligible.leader.replicas.enable", False, doc="Whether KRaft keeps eligible leader replicas (3.9)."
)
UNSTABLE_API_VERSIONS_ENABLE = boolean(
    "unstable.api.versions.enable", False, doc="Whether versions that are not final yet are served."
)
UNSTABLE_FEATURE_VERSIONS_ENABLE = boolean(
    "unstable.feature.versions.enable", False, doc="Whether feature levels that are not final yet may be used."
)
