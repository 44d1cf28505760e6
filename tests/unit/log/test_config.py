from __future__ import annotations

import pytest

from tidelog.common.config import ConfigError
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import seeded_rng
from tidelog.log.config import TOPIC_KEYS, LogConfig, check_topic_config

#: Kafka 4.x's defaults, key by key.
DEFAULTS = {
    "segment.bytes": 1073741824, "segment.ms": 604800000, "segment.jitter.ms": 0, "segment.index.bytes": 10485760,
    "flush.messages": 9223372036854775807, "flush.ms": 9223372036854775807, "retention.bytes": -1,
    "retention.ms": 604800000, "max.message.bytes": 1048588, "index.interval.bytes": 4096,
    "delete.retention.ms": 86400000, "min.compaction.lag.ms": 0, "max.compaction.lag.ms": 9223372036854775807,
    "file.delete.delay.ms": 60000, "min.cleanable.dirty.ratio": 0.5, "cleanup.policy": ["delete"],
    "unclean.leader.election.enable": False, "min.insync.replicas": 1, "compression.type": "producer",
    "compression.gzip.level": -1, "compression.lz4.level": 9, "compression.zstd.level": 3, "preallocate": False,
    "message.timestamp.type": "CreateTime", "message.timestamp.before.max.ms": 9223372036854775807,
    "message.timestamp.after.max.ms": 3600000, "leader.replication.throttled.replicas": [],
    "follower.replication.throttled.replicas": [], "remote.storage.enable": False, "local.retention.ms": -2,
    "local.retention.bytes": -2, "remote.log.copy.disable": False, "remote.log.delete.on.disable": False,
}  # fmt: skip


def test_defaults_are_kafkas() -> None:
    assert {name: TOPIC_KEYS.keys[name].default for name in DEFAULTS} == DEFAULTS


def test_every_key_has_a_sentence_and_synonyms_of_the_broker() -> None:
    for key in TOPIC_KEYS:
        assert key.doc.endswith("."), key.name
        assert all(name.startswith(("log.", "message.")) or name == key.name for name in key.synonyms)


def test_topic_over_broker_over_default() -> None:
    broker = {"log.roll.hours": 2, "log.segment.bytes": 2 << 20, "log.retention.minutes": 5, "log.retention.hours": 9}
    config = LogConfig.from_topic({"segment.bytes": "3145728"}, broker)
    assert config.segment_bytes == 3 << 20
    assert config.segment_ms == 7_200_000
    assert config.retention_ms == 300_000
    assert config.index_interval_bytes == 4096
    assert config.overrides == {"segment.bytes"}
    assert LogConfig.from_topic({}, {**broker, "log.roll.ms": "77"}).segment_ms == 77
    assert LogConfig.from_topic({}, {"log.retention.hours": -1}).retention_ms == -1
    assert LogConfig.from_topic({}, {"log.cleanup.policy": "compact,delete"}).compact


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("segment.bytes", "1048575"), ("segment.bytes", "x"), ("segment.ms", "0"), ("retention.ms", "-2"),
        ("cleanup.policy", "shred"), ("min.cleanable.dirty.ratio", "1.1"), ("compression.type", "lzma"),
        ("compression.gzip.level", "0"), ("compression.lz4.level", "18"), ("compression.zstd.level", "23"),
        ("message.timestamp.type", "Whenever"), ("min.insync.replicas", "0"), ("local.retention.ms", "-3"),
        ("leader.replication.throttled.replicas", "0"), ("flush.messages", "0"),
    ],
)  # fmt: skip
def test_bad_values(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=name.replace(".", r"\.")):
        LogConfig.from_topic({name: value})


def test_lags_must_not_cross() -> None:
    with pytest.raises(ConfigError, match=r"max\.compaction\.lag\.ms"):
        LogConfig.from_topic({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "9"})


def test_unknown_names_are_refused_by_the_check() -> None:
    with pytest.raises(KafkaError, match="Unknown topic config name: nonsense") as caught:
        check_topic_config({"nonsense": "1"})
    assert caught.value.code is ErrorCode.INVALID_CONFIG
    assert check_topic_config({"cleanup.policy": "compact"}).compact


def test_derived_values() -> None:
    config = LogConfig.from_topic({"cleanup.policy": "compact", "max.compaction.lag.ms": "5000"})
    assert config.max_segment_ms == 5000
    assert not config.delete
    assert LogConfig.from_topic({"max.compaction.lag.ms": "5000"}).max_segment_ms == 604800000
    assert LogConfig.from_topic({"internal.segment.bytes": "100"}).segment_size == 100
    assert LogConfig.from_topic().random_jitter_ms(seeded_rng(1)) == 0
    jitter = LogConfig.from_topic({"segment.jitter.ms": "1000", "segment.ms": "50"})
    assert {jitter.random_jitter_ms(seeded_rng(n)) for n in range(400)} == set(range(50))
    assert LogConfig.from_topic({"message.timestamp.type": "LogAppendTime"}).log_append_time
