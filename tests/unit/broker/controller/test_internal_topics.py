"""How the coordinators' topics are made: what somebody set holds, defaults give way to what there is."""

from __future__ import annotations

import pytest

from tidelog.broker.config.broker_config import BrokerConfig
from tidelog.broker.controller.internal_topics import SHARE_GROUP_STATE_TOPIC, internal_topic
from tidelog.broker.controller.topic_plans import NewTopic
from tidelog.common.types import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC


def planned(name: str, brokers: int, **settings: str) -> NewTopic:
    values = {key.replace("_", "."): value for key, value in settings.items()}
    topic = internal_topic(name, BrokerConfig({"log.dirs": "unused", **values}), brokers)
    assert topic is not None
    return topic


@pytest.mark.parametrize(("brokers", "replicas", "in_sync"), [(1, 1, "1"), (2, 2, "2"), (5, 3, "2")])
def test_kafkas_defaults_give_way_to_the_number_of_brokers(brokers: int, replicas: int, in_sync: str) -> None:
    topic = planned(TRANSACTION_STATE_TOPIC, brokers)
    assert (topic.replication_factor, topic.configs["min.insync.replicas"]) == (replicas, in_sync)
    assert topic.configs["unclean.leader.election.enable"] == "false"


def test_what_somebody_set_does_not() -> None:
    topic = planned(GROUP_METADATA_TOPIC, 1, offsets_topic_replication_factor="3", offsets_topic_num_partitions="7")
    assert (topic.replication_factor, topic.partitions) == (3, 7)
    assert topic.configs["cleanup.policy"] == "compact"


def test_other_names_are_nobodys() -> None:
    assert planned(SHARE_GROUP_STATE_TOPIC, 1).configs["cleanup.policy"] == "delete"
    assert internal_topic("t", BrokerConfig({"log.dirs": "unused"}), 1) is None
