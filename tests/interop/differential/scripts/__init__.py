"""The client scripts, by name; each says what it asks of a broker and in which order."""

from __future__ import annotations

from collections.abc import Callable

from interop.differential.scripts import cluster, configs, data, groups, offsets, topics
from interop.differential.session import Session

SCRIPTS: dict[str, Callable[[Session], None]] = {
    "metadata": topics.metadata,
    "create-topics": topics.create_topics,
    "delete-topics": topics.delete_topics,
    "create-partitions": topics.create_partitions,
    "describe-topic-partitions": topics.describe_topic_partitions,
    "produce": data.produce,
    "fetch": data.fetch,
    "list-offsets": data.list_offsets,
    "offset-for-leader-epoch": data.offset_for_leader_epoch,
    "delete-records": data.delete_records,
    "describe-configs": configs.describe,
    "alter-configs": configs.alter,
    "incremental-alter-configs": configs.incremental,
    "list-config-resources": configs.list_resources,
    "api-versions": cluster.api_versions,
    "describe-cluster": cluster.describe_cluster,
    "log-dirs": cluster.log_dirs,
    "elect-leaders": cluster.elect_leaders,
    "reassignments": cluster.reassignments,
    "quotas": cluster.quotas,
    "features": cluster.features,
    "find-coordinator": groups.find_coordinator,
    "join-group": groups.join,
    "sync-group": groups.sync,
    "heartbeat": groups.heartbeat,
    "leave-group": groups.leave,
    "describe-groups": groups.describe,
    "delete-groups": groups.delete,
    "offset-commit": offsets.commit,
    "offset-fetch": offsets.fetch,
    "offset-delete": offsets.delete,
    "consumer-group-heartbeat": groups.consumer_heartbeat,
    "consumer-group-describe": groups.consumer_describe,
}
