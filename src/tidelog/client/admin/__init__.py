"""The Admin: everything about a cluster that is not records. The names below are what its calls take and give.

    from tidelog import Admin
    from tidelog.client.admin import ConfigResource, NewTopic

Reading order:

    outcomes         what came of each item of a batch
    hints            from an error code to a text that says what to do next
    routes           whom to ask: controller, coordinator, leader, a certain broker, anybody
    call             the one loop: ask all brokers that it takes, take answers, ask again what may succeed later
    shapes           forms that requests share (partitions by topic, ids, sets of operations)
    topics, partitions, offsets, configs, groups, group_descriptions, group_offsets, share_offsets, streams_groups,
    transactions, cluster, features, log_dirs, quotas, users, acls, tokens, telemetry     the subjects
    aio              all subjects in one class, for asyncio
    blocking         the same, waited for; derived from it

A subject says for each request whom to ask, how to write it, and how to read its answer. It knows nothing of retries,
time-outs or connections.
"""

from __future__ import annotations

from tidelog.client.admin.acl_types import AclOperation, AclPermission, PatternType, ResourceType
from tidelog.client.admin.acls import CLUSTER_NAME, AclBinding, AclFilter
from tidelog.client.admin.cluster import ClusterDescription, Endpoint, Quorum, QuorumReplica
from tidelog.client.admin.config_values import (
    Append,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ConfigSynonym,
    ConfigType,
    Subtract,
    ValueType,
)
from tidelog.client.admin.features import Features, FeatureUpdate, Levels, UpgradeType
from tidelog.client.admin.group_values import GroupDescription, GroupListing, GroupState, GroupType, MemberDescription
from tidelog.client.admin.hints import AdminError
from tidelog.client.admin.log_dirs import LogDir, Replica, ReplicaInfo, ReplicaLogDirs
from tidelog.client.admin.offsets import HIGH_WATERMARK, IsolationLevel, OffsetSpec
from tidelog.client.admin.outcomes import Outcomes, PartialError
from tidelog.client.admin.partitions import ElectionType, NewPartitions, Reassignment
from tidelog.client.admin.quotas import ANY, DEFAULT, QuotaEntity
from tidelog.client.admin.share_offsets import ShareOffset
from tidelog.client.admin.streams_groups import (
    StreamsGroupDescription,
    StreamsMember,
    StreamsTasks,
    StreamsTopic,
    Subtopology,
    Task,
)
from tidelog.client.admin.tokens import DelegationToken
from tidelog.client.admin.topic_values import (
    CreatedTopic,
    NewTopic,
    PartitionDescription,
    TopicDescription,
    TopicListing,
)
from tidelog.client.admin.transactions import (
    ProducerEpoch,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from tidelog.client.admin.users import ScramCredential, ScramDeletion, ScramMechanism, ScramUpsertion

__all__ = [
    "ANY",
    "CLUSTER_NAME",
    "DEFAULT",
    "HIGH_WATERMARK",
    "AclBinding",
    "AclFilter",
    "AclOperation",
    "AclPermission",
    "AdminError",
    "Append",
    "ClusterDescription",
    "ConfigEntry",
    "ConfigResource",
    "ConfigSource",
    "ConfigSynonym",
    "ConfigType",
    "CreatedTopic",
    "DelegationToken",
    "ElectionType",
    "Endpoint",
    "FeatureUpdate",
    "Features",
    "GroupDescription",
    "GroupListing",
    "GroupState",
    "GroupType",
    "IsolationLevel",
    "Levels",
    "LogDir",
    "MemberDescription",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "Outcomes",
    "PartialError",
    "PartitionDescription",
    "PatternType",
    "ProducerEpoch",
    "ProducerState",
    "Quorum",
    "QuorumReplica",
    "QuotaEntity",
    "Reassignment",
    "Replica",
    "ReplicaInfo",
    "ReplicaLogDirs",
    "ResourceType",
    "ScramCredential",
    "ScramDeletion",
    "ScramMechanism",
    "ScramUpsertion",
    "ShareOffset",
    "StreamsGroupDescription",
    "StreamsMember",
    "StreamsTasks",
    "StreamsTopic",
    "Subtopology",
    "Subtract",
    "Task",
    "TopicDescription",
    "TopicListing",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UpgradeType",
    "ValueType",
]
