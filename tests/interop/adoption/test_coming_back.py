"""Directories that Apache Kafka served in between: what it changed there holds here, or the topic is guarded."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka.admin import NewTopic

from support.confluent import alter, configs, consume, create, delete, produce
from support.kafka import KAFKA_3, KAFKA_4, KafkaBroker
from tidelog.common.errors import StorageError
from tidelog.testing import Broker

pytestmark = pytest.mark.java

COMPACT = {"cleanup.policy": "compact"}


@pytest.mark.parametrize("version", [KAFKA_4, KAFKA_3])
def test_what_kafka_changed_meanwhile_is_taken_over(tmp_path, version, caplog):
    kafka = KafkaBroker(version, tmp_path / "kafka")
    try:
        kafka.start()
        create(
            kafka.address,
            NewTopic("kept", 1, 1, config={**COMPACT, "retention.ms": "9"}),
            NewTopic("same", 1, 1, config=COMPACT),
            NewTopic("doomed", 1, 1),
            NewTopic("again", 2, 1),
        )
        produce(kafka.address, "kept", [b"1"])
        produce(kafka.address, "again", [b"old"])
        kafka.stop()
        with Broker(kafka.data) as ours:
            assert configs(ours.address, "kept") == {**COMPACT, "retention.ms": "9"}
            alter(ours.address, "same", segment_ms="77000")
            alter(ours.address, "kept", retention_ms="11", segment_ms="88000")
            produce(ours.address, "kept", [b"2"])
            ours.create_topic("own", 2, config={"segment.ms": "55000"})
            produce(ours.address, "own", [b"x", b"y", b"z"])
        kafka.start()
        assert consume(kafka.address, "kept", 2) == [b"1", b"2"], "the mark of our stop is good for Kafka"
        alter(kafka.address, "kept", cleanup_policy="delete", retention_ms=None)
        delete(kafka.address, "doomed")
        delete(kafka.address, "again")
        create(kafka.address, NewTopic("again", 1, 1, config=COMPACT), NewTopic("new", 1, 1, config=COMPACT))
        produce(kafka.address, "again", [b"new"])
        produce(kafka.address, "kept", [b"3"])
        kafka.stop()

        with caplog.at_level(logging.WARNING, "tidelog"), Broker(kafka.data) as ours:
            server = ours.server
            assert configs(ours.address, "kept") == {"cleanup.policy": "delete", "segment.ms": "88000"}
            assert not server.configs.log_config("kept").compact
            assert configs(ours.address, "same") == {**COMPACT, "segment.ms": "77000"}, "what was set here stays"
            assert configs(ours.address, "again") == configs(ours.address, "new") == COMPACT
            assert "doomed" not in server.metadata.topics
            assert consume(ours.address, "again", 1) == [b"new"]
            assert consume(ours.address, "kept", 3) == [b"1", b"2", b"3"]
            assert sorted(consume(ours.address, "own", 3)) == [b"x", b"y", b"z"], "Kafka had set it aside"
            assert configs(ours.address, "own") == {"segment.ms": "55000"}
            assert not any(server.configs.is_guarded(name) for name in server.metadata.topics)
            epochs = [entry.epoch for entry in server.log_manager.logs[("kept", 0)].leader_epochs.entries]
            assert epochs == sorted(set(epochs))
            produce(ours.address, "kept", [b"4"])
        assert "kept was configured: cleanup.policy=delete, retention.ms unset" in caplog.text
        assert "doomed was deleted" in caplog.text
        caplog.clear()
        with caplog.at_level(logging.WARNING, "tidelog"), Broker(kafka.data) as ours:
            assert consume(ours.address, "kept", 4) == [b"1", b"2", b"3", b"4"]
        assert "in between" not in caplog.text, "said once"
    finally:
        kafka.close()


def test_a_zookeeper_mode_kafka_may_have_changed_anything(tmp_path):
    kafka = KafkaBroker(KAFKA_3, tmp_path / "kafka", mode="zookeeper")
    try:
        kafka.start()
        create(kafka.address, NewTopic("kept", 1, 1, config=COMPACT), NewTopic("again", 2, 1))
        produce(kafka.address, "kept", [b"1"])
        kafka.stop()
        with Broker(kafka.data) as ours:
            alter(ours.address, "kept", cleanup_policy="compact")
            alter(ours.address, "again", cleanup_policy="compact")
        with Broker(kafka.data) as ours:
            assert not ours.server.configs.is_guarded("kept"), "nobody else was here"
        kafka.start()
        assert consume(kafka.address, "kept", 1) == [b"1"]
        alter(kafka.address, "kept", cleanup_policy="delete")
        delete(kafka.address, "again")
        create(kafka.address, NewTopic("again", 1, 1))
        produce(kafka.address, "again", [b"new"])
        kafka.stop()
        with Broker(kafka.data) as ours:
            assert ours.server.configs.is_guarded("kept")
            assert not ours.server.configs.log_config("kept").compact
            assert ours.server.metadata.partition_count("again") == 1
            assert consume(ours.address, "again", 1) == [b"new"]
            assert ours.server.configs.is_guarded("again")
    finally:
        kafka.close()


def test_limits_that_kafka_draws_elsewhere_do_not_stop_the_start(tmp_path, caplog):
    """Kafka 3.9 takes segments of any size; 4.x, and Tidelog, none below 1 MB."""
    kafka = KafkaBroker(KAFKA_3, tmp_path / "kafka")
    try:
        kafka.start()
        create(kafka.address, NewTopic("small", 1, 1, config={"segment.bytes": "1000000", "retention.ms": "5"}))
        kafka.stop()
        with caplog.at_level(logging.WARNING, "tidelog"), Broker(kafka.data) as ours:
            assert configs(ours.address, "small") == {"segment.bytes": "1048576", "retention.ms": "5"}
        assert "Topic small: segment.bytes=1000000" in caplog.text
        with Broker(kafka.data) as ours:
            assert configs(ours.address, "small") == {"segment.bytes": "1048576", "retention.ms": "5"}
    finally:
        kafka.close()


def test_a_refused_adoption_leaves_no_trace(tmp_path):
    kafka = KafkaBroker(KAFKA_4, tmp_path / "kafka")
    try:
        kafka.start()
        create(kafka.address, NewTopic("lagging", 1, 1, config={"min.compaction.lag.ms": "100000"}))
        kafka.stop()
        # The broker's own limit is below the topic's: together they are no configuration.
        wrong = {"log.cleaner.max.compaction.lag.ms": "50000"}
        with pytest.raises(StorageError, match=r"Topic lagging cannot be adopted: .*min.compaction.lag.ms"):
            Broker(kafka.data, config=wrong).start()
        assert (kafka.data / ".kafka_cleanshutdown").exists()
        kafka.start()
        alter(kafka.address, "lagging", min_compaction_lag_ms="10")
        kafka.stop()
        with Broker(kafka.data, config=wrong) as ours:
            assert configs(ours.address, "lagging") == {"min.compaction.lag.ms": "10"}
    finally:
        kafka.close()
