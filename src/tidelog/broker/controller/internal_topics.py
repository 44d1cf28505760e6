"""The topics that coordinators keep their state in: how many partitions and replicas, and which configs, they get.

They are made when first needed, by whoever looks for a coordinator. The number of partitions is fixed from then on: a
group belongs to the partition that its id hashes to, and with another number it would be looked for elsewhere and its
offsets not be found. `__consumer_offsets` and `__transaction_state` are compacted: what counts is the last record of
each key. `__transaction_state` is not compressed and never elected uncleanly, because a transaction whose decision was
lost might end both ways.
"""

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
    """Kafka's defaults (3 replicas, 2 of them in sync) give way to what there is. A value that somebody set does not:
    it is refused where there are too few brokers, with INVALID_REPLICATION_FACTOR."""
    return config[key] if config.explicit(key) else min(config[key], max(limit, 1))
