"""Transactions and producer ids."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, integer, short
from tidelog.common.config import at_least

TRANSACTION_MAX_TIMEOUT_MS = integer(
    "transaction.max.timeout.ms",
    900_000,
    at_least(1),
    doc="The longest time-out that a transactional producer may ask for.",
)
TRANSACTIONAL_ID_EXPIRATION_MS = integer(
    "transactional.id.expiration.ms", 604_800_000, at_least(1), doc="How long an idle transactional id is remembered."
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS = integer(
    "transaction.state.log.num.partitions",
    50,
    at_least(1),
    doc="Partitions of `__transaction_state`; never change it once the topic exists.",
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = short(
    "transaction.state.log.replication.factor",
    3,
    at_least(1),
    doc="Replicas of `__transaction_state`; a broker alone uses 1 unless this is set.",
)
TRANSACTION_STATE_LOG_MIN_ISR = integer(
    "transaction.state.log.min.isr",
    2,
    at_least(1),
    doc="In-sync replicas that `__transaction_state` needs for a write.",
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES = integer(
    "transaction.state.log.segment.bytes", 104_857_600, at_least(1), doc="The segment size of `__transaction_state`."
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE = integer(
    "transaction.state.log.load.buffer.size",
    5_242_880,
    at_least(1),
    doc="Bytes per read while the transactions of a partition are loaded.",
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS = integer(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    10_000,
    at_least(1),
    doc="How often transactions that took too long are looked for and aborted.",
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS = integer(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    3_600_000,
    at_least(1),
    doc="How often expired transactional ids are removed.",
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE = boolean(
    "transaction.partition.verification.enable",
    True,
    update=CLUSTER_WIDE,
    doc="Whether a transactional write is checked to belong to an open transaction.",
)
TRANSACTION_TWO_PHASE_COMMIT_ENABLE = boolean(
    "transaction.two.phase.commit.enable",
    False,
    doc="Whether transactions may be part of a two-phase commit (without time-out).",
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS = integer(
    "add.partitions.to.txn.retry.backoff.ms",
    20,
    at_least(1),
    doc="How long to wait before a partition is added to a transaction again.",
)
ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS = integer(
    "add.partitions.to.txn.retry.backoff.max.ms", 100, at_least(0), doc="How long such attempts go on at most."
)
PRODUCER_ID_EXPIRATION_MS = integer(
    "producer.id.expiration.ms",
    86_400_000,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="How long the state of an idle producer id is kept.",
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS = integer(
    "producer.id.expiration.check.interval.ms", 600_000, at_least(1), doc="How often expired producer ids are removed."
)
