"""Config names that were nearly right: which one was meant.

A broker refuses a name that it does not know, and says which; what would have been right it leaves to the reader. Where
a resource exists its names can be asked for (`describe_configs`). A topic that is yet to be created has none to ask
for, so those of topics, the same on every cluster since Kafka 3.0, are listed here.
"""

from __future__ import annotations

from collections.abc import Iterable

from tidelog.client.admin.hints import AdminError
from tidelog.client.nearest import nearest
from tidelog.common.errors import ErrorCode, KafkaError

_TOPIC_CONFIGS = """
    cleanup.policy compression.gzip.level compression.lz4.level compression.type compression.zstd.level
    delete.retention.ms file.delete.delay.ms flush.messages flush.ms follower.replication.throttled.replicas
    index.interval.bytes leader.replication.throttled.replicas local.retention.bytes local.retention.ms
    max.compaction.lag.ms max.message.bytes message.timestamp.after.max.ms message.timestamp.before.max.ms
    message.timestamp.type min.cleanable.dirty.ratio min.compaction.lag.ms min.insync.replicas preallocate
    remote.log.copy.disable remote.log.delete.on.disable remote.storage.enable retention.bytes retention.ms
    segment.bytes segment.index.bytes segment.jitter.ms segment.ms unclean.leader.election.enable
"""
#: What a topic may be configured by, in Kafka 4.3.
TOPIC_CONFIGS = frozenset(_TOPIC_CONFIGS.split())


def meant(given: Iterable[str], known: Iterable[str]) -> str | None:
    """The name that is nearest to the first of those given that is none; None if none is near, or all are right."""
    names = frozenset(known)
    for name in given:
        if name not in names and (close := nearest(name, names)):
            return close[0]
    return None


def with_meant_name(error: KafkaError, given: Iterable[str], known: Iterable[str]) -> KafkaError:
    """The broker's refusal of some configs, with the name that was probably meant as its next step."""
    if error.code is not ErrorCode.INVALID_CONFIG or (name := meant(given, known)) is None:
        return error
    reason = error.reason if isinstance(error, AdminError) else error.message
    return AdminError(error.code, reason.rstrip("."), f"did you mean {name}?")
