"""`LogConfig`: a topic's configuration in the typed form that a partition log works with.

The keys themselves are declared in `topic_keys.py`. A topic's own settings lie over the broker's (`log.*`), which lie
over the defaults. A broker key may come in several units: `log.retention.ms` wins over `log.retention.minutes`, and
that over `log.retention.hours`, in the order in which the topic's key names its synonyms.

It is parsed once per topic and shared by all its partitions. A changed topic gets another object, so that whoever reads
two values in a row never sees one from before and one from after the change.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NoReturn

from tidelog.common.config import Config, ConfigError, Key
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.rng import Rng
from tidelog.log.message_format import stored_magic
from tidelog.log.topic_keys import MESSAGE_FORMAT_VERSION, MIN_COMPACTION_LAG_MS, TOPIC_KEYS

__all__ = ["PROTOCOL_KEY", "TOPIC_KEYS", "LogConfig", "check_topic_config", "synonym_factor"]

#: The broker key that decides whether `message.format.version` means anything.
PROTOCOL_KEY = "inter.broker.protocol.version"
#: What a synonym's value is multiplied with to become milliseconds.
_UNITS = {".hours": 3_600_000, ".minutes": 60_000}


class LogConfig:
    """A topic's configuration, parsed: one attribute per key, dots as underscores.

    Make it by `from_topic`. `overrides` names the keys that the topic itself set. It never changes: a topic that is
    configured anew gets another one.
    """

    segment_bytes: int
    segment_ms: int
    segment_jitter_ms: int
    segment_index_bytes: int
    flush_messages: int
    flush_ms: int
    retention_bytes: int
    retention_ms: int
    max_message_bytes: int
    index_interval_bytes: int
    delete_retention_ms: int
    min_compaction_lag_ms: int
    max_compaction_lag_ms: int
    file_delete_delay_ms: int
    min_cleanable_dirty_ratio: float
    cleanup_policy: frozenset[str]
    unclean_leader_election_enable: bool
    min_insync_replicas: int
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    preallocate: bool
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    leader_replication_throttled_replicas: tuple[str, ...]
    follower_replication_throttled_replicas: tuple[str, ...]
    remote_storage_enable: bool
    local_retention_ms: int
    local_retention_bytes: int
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    message_format_version: str
    message_timestamp_difference_max_ms: int
    message_downconversion_enable: bool
    internal_segment_bytes: int | None
    overrides: frozenset[str]
    #: The message format in which a leader stores records.
    record_magic: int

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{name}: a topic's configuration does not change, make another")

    @classmethod
    def from_topic(
        cls, overrides: Mapping[str, object] | None = None, broker_defaults: Mapping[str, object] | None = None
    ) -> LogConfig:
        """The topic's own settings over the broker's (`log.*` keys) over the defaults; raises on a bad value."""
        own = TOPIC_KEYS.parse(overrides or {})
        values: dict[str, Any] = {}
        for key in TOPIC_KEYS:
            if key.name in own.explicit:
                value = own[key]
            else:
                value = _from_broker(key, broker_defaults or {})
            values[key.name.replace(".", "_")] = value
        values["cleanup_policy"] = frozenset(values["cleanup_policy"])
        for name in ("leader_replication_throttled_replicas", "follower_replication_throttled_replicas"):
            values[name] = tuple(values[name])
        if values["min_compaction_lag_ms"] > values["max_compaction_lag_ms"]:
            raise ConfigError(
                MIN_COMPACTION_LAG_MS.name,
                values["min_compaction_lag_ms"],
                f"Value must not exceed max.compaction.lag.ms ({values['max_compaction_lag_ms']})",
            )
        values["record_magic"] = _record_magic(own, broker_defaults or {})
        return cls({**values, "overrides": own.explicit})

    @property
    def compact(self) -> bool:
        """Whether the cleaner works on the log; with `delete` as well, retention takes old segments besides."""
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @cached_property
    def segment_size(self) -> int:
        """The size at which a segment is full."""
        return self.segment_bytes if self.internal_segment_bytes is None else self.internal_segment_bytes

    @cached_property
    def max_segment_ms(self) -> int:
        """The age at which a segment is rolled: a compacted topic's data must become compactable in time."""
        return min(self.max_compaction_lag_ms, self.segment_ms) if self.compact else self.segment_ms

    @cached_property
    def log_append_time(self) -> bool:
        """Whether the broker's time replaces the producer's: then the checksum is computed anew, as it covers it."""
        return self.message_timestamp_type == "LogAppendTime"

    def random_jitter_ms(self, rng: Rng) -> int:
        """How much earlier than `segment.ms` one segment rolls: a thousand partitions that were made together would
        otherwise all roll, sync and be cleaned in the same second."""
        if self.segment_jitter_ms == 0:
            return 0
        return rng.getrandbits(31) % min(self.segment_jitter_ms, self.segment_ms)


def check_topic_config(overrides: Mapping[str, str], broker_defaults: Mapping[str, object] | None = None) -> LogConfig:
    """What CreateTopics and AlterConfigs check: every name is known and every value allowed.

    Tiered storage is refused with Kafka's words for a broker that has it switched off: its keys are known, and their
    values parsed, so that a client's tools work; only switching it on does not.
    """
    for name in overrides:
        if name not in TOPIC_KEYS:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
    config = LogConfig.from_topic(overrides, broker_defaults)
    if config.remote_storage_enable:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            "Tiered storage is disabled in the broker: topics cannot be configured with remote log storage.",
        )
    return config


def synonym_factor(name: str) -> int:
    """By what a broker key's value is multiplied to give the topic key's (hours and minutes to milliseconds)."""
    return next((factor for ending, factor in _UNITS.items() if name.endswith(ending)), 1)


def _from_broker(key: Key[Any], broker: Mapping[str, object]) -> Any:
    """The first of the broker's synonyms that is set, in the topic key's unit; a negative number means no limit."""
    for name in key.synonyms:
        value = broker.get(name)
        if value is None:
            continue
        factor = synonym_factor(name)
        if factor == 1:
            return Key(name, key.type, key.default).parse(value)
        hours = int(str(value))
        return hours * factor if hours >= 0 else -1
    return key.default


def _record_magic(own: Config, broker: Mapping[str, object]) -> int:
    """Below `inter.broker.protocol.version` 3.0 `message.format.version` counts; from there on it is always magic 2."""
    protocol, default = broker.get(PROTOCOL_KEY), broker.get(MESSAGE_FORMAT_VERSION.synonyms[0])
    return stored_magic(
        None if protocol is None else str(protocol),
        None if default is None else str(default),
        own[MESSAGE_FORMAT_VERSION] if MESSAGE_FORMAT_VERSION.name in own.explicit else None,
    )


_FIELD_NAMES = LogConfig.__annotations__.keys() - {"overrides", "record_magic"}
assert {name.replace(".", "_") for name in TOPIC_KEYS.keys} == _FIELD_NAMES, "LogConfig must mirror TOPIC_KEYS"
