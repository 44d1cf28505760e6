"""The topics that coordinators keep their state in: how many partitions and replicas, and which configs, they get."""

from __future__ import annotations

from tidelog.broker import config as keys
from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.common.config import Key
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC

SHARE_GROUP_STATE_TOPIC = "__share_group_state"


def internal_topic(name: str, config: BrokerConfig, brokers: int) -> NewTopic | None:
    """How to create an internal topic, or None when the name is not one.

    A factor that nobody set gives way to the number of brokers: a broker alone is usable as it is.
    """
    if name == GROUP_METADATA_TOPIC:
        configs = {
            "compression.type": "producer",
            "cleanup.policy": "compact",
            "segment.bytes": str(config[keys.OFFSETS_TOPIC_SEGMENT_BYTES]),
        }
        factor = _factor(config, keys.OFFSETS_TOPIC_REPLICATION_FACTOR, brokers)
        return NewTopic(name, config[keys.OFFSETS_TOPIC_NUM_PARTITIONS], factor, configs=configs)
    if name == TRANSACTION_STATE_TOPIC:
        factor = _factor(config, keys.TRANSACTION_STATE_LOG_REPLICATION_FACTOR, brokers)
        configs = {
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "segment.bytes": str(config[keys.TRANSACTION_STATE_LOG_SEGMENT_BYTES]),
            "min.insync.replicas": str(_factor(config, keys.TRANSACTION_STATE_LOG_MIN_ISR, factor)),
            "unclean.leader.election.enable": "false",
        }
        return NewTopic(name, config[keys.TRANSACTION_STATE_LOG_NUM_PARTITIONS], factor, configs=configs)
    if name == SHARE_GROUP_STATE_TOPIC:
        factor = _factor(config, keys.SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR, brokers)
        configs = {
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "segment.bytes": str(config[keys.SHARE_COORDINATOR_STATE_TOPIC_SEGMENT_BYTES]),
            "min.insync.replicas": str(_factor(config, keys.SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR, factor)),
        }
        return NewTopic(name, config[keys.SHARE_COORDINATOR_STATE_TOPIC_NUM_PARTITIONS], factor, configs=configs)
    return None


def _factor(config: BrokerConfig, key: Key[int], limit: int) -> int:
    return config[key] if config.explicit(key) else min(config[key], max(limit, 1))
