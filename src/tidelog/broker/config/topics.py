"""Topics: how they are made, and the rest of the defaults that topics inherit."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, GZIP_LEVEL, boolean, class_name, integer, string
from tidelog.common.config import Key, at_least, between, one_of

AUTO_CREATE_TOPICS_ENABLE = boolean(
    "auto.create.topics.enable", True, doc="Whether asking for a topic that does not exist creates it."
)
NUM_PARTITIONS = integer("num.partitions", 1, at_least(1), doc="How many partitions a topic gets that does not say it.")
DEFAULT_REPLICATION_FACTOR = integer(
    "default.replication.factor", 1, doc="How many replicas a topic gets that does not say it."
)
MIN_INSYNC_REPLICAS = integer(
    "min.insync.replicas",
    1,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="How many replicas must be in sync for a write with `acks=all`.",
)
DELETE_TOPIC_ENABLE = boolean("delete.topic.enable", True, doc="Whether topics can be deleted.")
COMPRESSION_TYPE = string(
    "compression.type",
    "producer",
    one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    update=CLUSTER_WIDE,
    doc="The codec in which batches are kept; `producer` keeps what the producer chose.",
)
COMPRESSION_GZIP_LEVEL = integer(
    "compression.gzip.level",
    -1,
    GZIP_LEVEL,
    update=CLUSTER_WIDE,
    doc="The gzip level, where `compression.type` is gzip; -1 is gzip's own default.",
)
COMPRESSION_LZ4_LEVEL = integer(
    "compression.lz4.level",
    9,
    between(1, 17),
    update=CLUSTER_WIDE,
    doc="The lz4 level, where `compression.type` is lz4.",
)
COMPRESSION_ZSTD_LEVEL = integer(
    "compression.zstd.level",
    3,
    between(-131_072, 22),
    update=CLUSTER_WIDE,
    doc="The zstd level, where `compression.type` is zstd.",
)
UNCLEAN_LEADER_ELECTION_ENABLE = boolean(
    "unclean.leader.election.enable",
    False,
    update=CLUSTER_WIDE,
    doc="Whether a replica out of sync may lead when no other is left: available, but records are lost.",
)
CREATE_TOPIC_POLICY_CLASS_NAME: Key[str | None] = class_name(
    "create.topic.policy.class.name",
    None,
    doc="A class that may refuse the creation of topics; Java classes cannot be loaded here.",
)
ALTER_CONFIG_POLICY_CLASS_NAME: Key[str | None] = class_name(
    "alter.config.policy.class.name",
    None,
    doc="A class that may refuse changes of configs; Java classes cannot be loaded here.",
)
ALTER_CONFIG_POLICY_KRAFT_COMPATIBILITY_ENABLE = boolean(
    "alter.config.policy.kraft.compatibility.enable", False, doc="How the policy class is shown null values (3.9)."
)
