"""The producer's keys, with today's defaults of Kafka, and what they decide together.

Idempotence is on unless something else that was set forbids it: then it is switched off where nobody asked for it, and
an error where somebody did. A transactional id asks for it.
"""

from __future__ import annotations

import logging
from typing import Any

from tidelog.client.config import common, security
from tidelog.client.config.client_ids import ClientNames
from tidelog.client.config.parsing import ClientConfig, ClientKeys
from tidelog.common.config import ConfigError, Key, Validator, at_least, between, one_of
from tidelog.common.config import Type as T
from tidelog.common.types import MAX_INT32

logger = logging.getLogger("tidelog.client")
KEYS = ClientKeys("Producer", common.KEYS, security.KEYS)
KEYS.default(common.RECEIVE_BUFFER_BYTES, 32_768)
_NAMES = ClientNames("producer")

#: With idempotence a broker remembers this many batches of a producer and partition: no more may be under way.
MAX_IN_FLIGHT_IDEMPOTENT = 5

KEY_SERIALIZER: Key[Any] = KEYS.define(
    "key.serializer", T.CLASS, "bytes", doc="How a record's key becomes bytes: a name, a class or an instance."
)
VALUE_SERIALIZER: Key[Any] = KEYS.define("value.serializer", T.CLASS, "bytes", doc="The same for its value.")
INTERCEPTOR_CLASSES: Key[list[Any]] = KEYS.define(
    "interceptor.classes",
    T.LIST,
    [],
    doc="Classes, instances or `module:Class` names that see every record before it is sent and when it is answered.",
)
ACKS = KEYS.define(
    "acks",
    T.STRING,
    "all",
    one_of("all", "-1", "0", "1"),
    doc="Who must have a record before it counts as written: all in-sync replicas, the leader (1), nobody (0). "
    "Anything but all switches idempotence off.",
    importance="high",
)
ENABLE_IDEMPOTENCE = KEYS.define(
    "enable.idempotence",
    T.BOOLEAN,
    True,
    doc="A retried batch is written once, and the order is kept. Needs acks=all, retries, and five requests in flight "
    "at most; always on in transactions.",
)
TRANSACTIONAL_ID: Key[str | None] = KEYS.define(
    "transactional.id", T.STRING, None, doc="Who we are across restarts; makes transactions possible."
)
TRANSACTION_TIMEOUT_MS = KEYS.define(
    "transaction.timeout.ms",
    T.INT,
    60_000,
    at_least(1),
    doc="The coordinator aborts a transaction that is open for longer.",
)
RETRIES = KEYS.define(
    "retries",
    T.INT,
    MAX_INT32,
    between(0, MAX_INT32),
    doc="How often a batch is sent again; delivery.timeout.ms is the better limit.",
    importance="high",
)
DELIVERY_TIMEOUT_MS = KEYS.define(
    "delivery.timeout.ms",
    T.INT,
    120_000,
    at_least(0),
    doc="A record that is not written so long after `send` has failed. At least linger.ms + request.timeout.ms.",
)
LINGER_MS = KEYS.define(
    "linger.ms", T.LONG, 5, at_least(0), doc="How long a batch that is not full waits for more records."
)
BATCH_SIZE = KEYS.define(
    "batch.size", T.INT, 16_384, at_least(0), doc="A batch of this size is full. 0: a batch for each record."
)
BUFFER_MEMORY = KEYS.define(
    "buffer.memory",
    T.LONG,
    33_554_432,
    at_least(0),
    doc="Memory for records that are not written yet; `send` waits for room, for max.block.ms.",
    importance="high",
)
MAX_BLOCK_MS = KEYS.define(
    "max.block.ms",
    T.LONG,
    60_000,
    at_least(0),
    doc="How long `send`, `partitions_for` and the calls of transactions wait at most, for metadata or for room.",
)
MAX_REQUEST_SIZE = KEYS.define(
    "max.request.size",
    T.INT,
    1_048_576,
    at_least(0),
    doc="Largest request, and largest record before compression: a larger one is refused before it is sent.",
)
MAX_IN_FLIGHT = KEYS.define(
    "max.in.flight.requests.per.connection",
    T.INT,
    5,
    at_least(1),
    doc="Requests on a connection that are not answered yet.",
)
COMPRESSION_TYPE = KEYS.define(
    "compression.type",
    T.STRING,
    "none",
    one_of("none", "gzip", "snappy", "lz4", "zstd"),
    doc="How batches are compressed.",
    importance="high",
)
COMPRESSION_GZIP_LEVEL = KEYS.define(
    "compression.gzip.level",
    T.INT,
    -1,
    Validator(lambda level: level == -1 or 1 <= level <= 9, "Value must be between 1 and 9 or equal to -1"),
    doc="1 is fast, 9 is small; -1: zlib's choice.",
)
COMPRESSION_LZ4_LEVEL = KEYS.define("compression.lz4.level", T.INT, 9, between(1, 17), doc="1 is fast, 17 is small.")
COMPRESSION_ZSTD_LEVEL = KEYS.define(
    "compression.zstd.level", T.INT, 3, between(-131072, 22), doc="Negative ones are fast, 22 is small."
)
PARTITIONER_CLASS: Key[Any] = KEYS.define(
    "partitioner.class",
    T.CLASS,
    None,
    doc="Who chooses the partition: `round_robin`, `random`, a class or an instance. Unset: by the key's hash; without "
    "a key one partition for batch.size bytes, then another.",
)
PARTITIONER_IGNORE_KEYS = KEYS.define(
    "partitioner.ignore.keys", T.BOOLEAN, False, doc="Choose the partition as if there were no keys."
)
PARTITIONER_ADAPTIVE = KEYS.define(
    "partitioner.adaptive.partitioning.enable",
    T.BOOLEAN,
    True,
    doc="Records without a key go less often to partitions whose broker is slow.",
)
PARTITIONER_AVAILABILITY_TIMEOUT_MS = KEYS.define(
    "partitioner.availability.timeout.ms",
    T.LONG,
    0,
    at_least(0),
    doc="... and not at all to those whose broker took nothing for this long; 0: that is not asked.",
)
METADATA_MAX_IDLE_MS = KEYS.define(
    "metadata.max.idle.ms",
    T.LONG,
    300_000,
    at_least(5_000),
    doc="Metadata of a topic that nothing was sent to for this long is forgotten.",
)


def settle_idempotence(config: ClientConfig) -> dict[str, object]:
    """Off where something forbids it, an error where it was asked for."""
    asked = config.is_set(ENABLE_IDEMPOTENCE) and config[ENABLE_IDEMPOTENCE]
    enabled, values = config[ENABLE_IDEMPOTENCE], dict[str, object]()
    against: dict[Key[Any], str] = {
        RETRIES: "to non-zero" if config[RETRIES] == 0 else "",
        ACKS: "to all" if config[ACKS] not in ("all", "-1") else "",
        MAX_IN_FLIGHT: "to at most 5" if config[MAX_IN_FLIGHT] > MAX_IN_FLIGHT_IDEMPOTENT else "",
    }
    for key, needed in against.items():
        if not needed or not enabled:
            continue
        if asked:
            raise ConfigError(key.name, config[key], f"Must set {key.name} {needed} to use the idempotent producer")
        logger.info("enable.idempotence is off, as %s is %s", key.name, config[key])
        enabled, values = False, {ENABLE_IDEMPOTENCE.name: False}
    if config[TRANSACTIONAL_ID] is not None and not enabled:
        raise ConfigError(
            TRANSACTIONAL_ID.name,
            config[TRANSACTIONAL_ID],
            "Cannot set a transactional.id without also enabling idempotence",
        )
    return values


def settle_delivery_timeout(config: ClientConfig) -> dict[str, object]:
    """A record must have the time to wait in its batch and to be sent once."""
    least = min(config[LINGER_MS] + config[common.REQUEST_TIMEOUT_MS], MAX_INT32)
    if config[DELIVERY_TIMEOUT_MS] >= least:
        return {}
    if config.is_set(DELIVERY_TIMEOUT_MS):
        raise ConfigError(
            DELIVERY_TIMEOUT_MS.name,
            config[DELIVERY_TIMEOUT_MS],
            f"should be equal to or larger than linger.ms + request.timeout.ms ({least})",
        )
    logger.warning("delivery.timeout.ms is raised to %d, linger.ms + request.timeout.ms", least)
    return {DELIVERY_TIMEOUT_MS.name: least}


def name_client(config: ClientConfig) -> dict[str, object]:
    """A transactional producer is called after its id, which is its name for good; any other gets a number."""
    return _NAMES.settle(config, config[TRANSACTIONAL_ID])


KEYS.rules += [common.require_bootstrap, common.constant_backoffs, settle_idempotence, settle_delivery_timeout]
KEYS.rules += [name_client]
