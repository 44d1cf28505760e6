"""Replicas: fetching, the in-sync set, the balance of leadership."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, integer, long, string
from tidelog.common.config import Key, at_least
from tidelog.common.types import MAX_INT64

NUM_REPLICA_FETCHERS = integer(
    "num.replica.fetchers", 1, at_least(1), update=CLUSTER_WIDE, doc="Fetchers per leader broker."
)
REPLICA_FETCH_MAX_BYTES = integer(
    "replica.fetch.max.bytes", 1_048_576, at_least(0), doc="Bytes per partition that a follower asks for."
)
REPLICA_FETCH_RESPONSE_MAX_BYTES = integer(
    "replica.fetch.response.max.bytes", 10_485_760, at_least(0), doc="Bytes that a follower asks for in one request."
)
REPLICA_FETCH_MIN_BYTES = integer("replica.fetch.min.bytes", 1, doc="Bytes that a follower waits for.")
REPLICA_FETCH_WAIT_MAX_MS = integer("replica.fetch.wait.max.ms", 500, doc="How long a follower waits for them.")
REPLICA_FETCH_BACKOFF_MS = integer(
    "replica.fetch.backoff.ms", 1000, at_least(0), doc="How long a follower rests after a failed fetch."
)
REPLICA_LAG_TIME_MAX_MS = long(
    "replica.lag.time.max.ms", 30_000, doc="A follower that has not caught up for this long leaves the in-sync set."
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS = long(
    "replica.high.watermark.checkpoint.interval.ms", 5000, doc="How often the high watermarks are written."
)
REPLICA_SOCKET_TIMEOUT_MS = integer("replica.socket.timeout.ms", 30_000, doc="How long a follower waits for an answer.")
REPLICA_SOCKET_RECEIVE_BUFFER_BYTES = integer(
    "replica.socket.receive.buffer.bytes", 65_536, doc="The receive buffer of a follower's socket."
)
REPLICA_SELECTOR_CLASS: Key[str | None] = string(
    "replica.selector.class",
    None,
    doc="How the replica that a consumer may read from is chosen; Kafka's rack-aware selector is known by name.",
)
AUTO_LEADER_REBALANCE_ENABLE = boolean(
    "auto.leader.rebalance.enable",
    True,
    doc="Whether leadership is given back to preferred replicas in the background.",
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS = long(
    "leader.imbalance.check.interval.seconds", 300, at_least(1), doc="How often that is checked."
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE = integer(
    "leader.imbalance.per.broker.percentage", 10, doc="The share of partitions led by others from which on it is done."
)
UNCLEAN_LEADER_ELECTION_INTERVAL_MS = long(
    "unclean.leader.election.interval.ms",
    300_000,
    at_least(1),
    doc="How often a leader out of sync is looked for, where that is allowed.",
)
FOLLOWER_FETCH_LAST_TIERED_OFFSET_ENABLE = boolean(
    "follower.fetch.last.tiered.offset.enable",
    False,
    update=CLUSTER_WIDE,
    doc="Whether a new follower starts at the last tiered offset.",
)
ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_NUM = integer(
    "alter.log.dirs.replication.quota.window.num",
    11,
    at_least(1),
    doc="Windows kept for the rate of moves between log directories.",
)
ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = integer(
    "alter.log.dirs.replication.quota.window.size.seconds", 1, at_least(1), doc="The length of such a window."
)
REPLICATION_QUOTA_WINDOW_NUM = integer(
    "replication.quota.window.num", 11, at_least(1), doc="Windows kept for the rate of replication."
)
REPLICATION_QUOTA_WINDOW_SIZE_SECONDS = integer(
    "replication.quota.window.size.seconds", 1, at_least(1), doc="The length of such a window."
)
LEADER_REPLICATION_THROTTLED_RATE = long(
    "leader.replication.throttled.rate",
    MAX_INT64,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most bytes per second that a leader sends to followers of throttled replicas; set while replicas move.",
)
FOLLOWER_REPLICATION_THROTTLED_RATE = long(
    "follower.replication.throttled.rate",
    MAX_INT64,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most bytes per second that a follower takes for throttled replicas; set while replicas move.",
)
REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND = long(
    "replica.alter.log.dirs.io.max.bytes.per.second",
    MAX_INT64,
    at_least(0),
    update=CLUSTER_WIDE,
    doc="The most bytes per second that moves between log directories copy.",
)
