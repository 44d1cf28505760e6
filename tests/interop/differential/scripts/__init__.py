"""The client scripts, by name; each says what it asks of a broker and in which order."""

from __future__ import annotations

from collections.abc import Callable

from interop.differential.scripts import cluster, configs, data, generated, groups, offsets, topics, transactions
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
    "sasl": cluster.sasl,
    "telemetry": cluster.telemetry,
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
    "init-producer-id": transactions.init_producer_id,
    "add-partitions-to-txn": transactions.add_partitions,
    "add-offsets-to-txn": transactions.add_offsets,
    "txn-offset-commit": transactions.txn_offset_commit,
    "end-txn": transactions.end,
    "transactional-produce": transactions.transactional_produce,
    "transactions": transactions.admin,
    "write-txn-markers": transactions.write_markers,
    "random-messages": generated.random_messages,
    "malformed": generated.malformed,
    "unknown-apis": generated.unknown_apis,
}
