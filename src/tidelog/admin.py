"""The Admin, and everything that its calls take and give.

    from tidelog.admin import Admin, ConfigResource, NewTopic

    with Admin(bootstrap_servers="localhost:9092") as admin:
        admin.create_topics([NewTopic("orders", partitions=3)]).result()

`tidelog.Admin` is the same; `tidelog.aio.Admin` has the same methods, to be awaited. docs/guide/admin.md shows them.
"""

from __future__ import annotations

from tidelog.client.admin.acl_types import AclOperation, AclPermission, PatternType, ResourceType
from tidelog.client.admin.acls import CLUSTER_NAME, AclBinding, AclFilter
from tidelog.client.admin.blocking import Admin
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
    "Admin",
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
