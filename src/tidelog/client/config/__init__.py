"""Every setting of the clients, with Kafka's names and defaults, declared once; `parse` reads what a user gives.

    common, security     what every client has (their constants are used with any client's config)
    producer, consumer, admin     each kind of client: its own keys, over the shared ones; `KEYS` is what it knows
    parsing              dicts, keywords, Python values; what is unknown, and what several keys decide together
    typed                the same keys as TypedDicts, for editors and type checkers (rendered)

    from tidelog.client.config import common, parse
    from tidelog.client.config import producer as keys
    config = parse(keys.KEYS, {"bootstrap.servers": "h:9092"}, {"linger_ms": 20})
    config[keys.LINGER_MS], config[common.CLIENT_ID]

Nothing is declared that no client reads. `KEYS` below is what a cluster client knows that is made by itself, for
reading and writing in whole batches (Spark, the command line): the keys of all, with larger batches.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidelog.client.config import admin, common, consumer, producer, security
from tidelog.client.config.common import DEFAULT_API_TIMEOUT_MS as DEFAULT_API_TIMEOUT_MS
from tidelog.client.config.common import REQUEST_TIMEOUT_MS as REQUEST_TIMEOUT_MS
from tidelog.client.config.consumer import CHECK_CRCS as CHECK_CRCS
from tidelog.client.config.consumer import FETCH_MAX_BYTES as FETCH_MAX_BYTES
from tidelog.client.config.consumer import FETCH_MAX_WAIT_MS as FETCH_MAX_WAIT_MS
from tidelog.client.config.consumer import FETCH_MIN_BYTES as FETCH_MIN_BYTES
from tidelog.client.config.consumer import ISOLATION_LEVEL as ISOLATION_LEVEL
from tidelog.client.config.consumer import MAX_PARTITION_FETCH_BYTES as MAX_PARTITION_FETCH_BYTES
from tidelog.client.config.parsing import ClientConfig as ClientConfig
from tidelog.client.config.parsing import ClientKeys as ClientKeys
from tidelog.client.config.parsing import parse as parse
from tidelog.client.config.producer import ACKS as ACKS
from tidelog.client.config.producer import BATCH_SIZE as BATCH_SIZE
from tidelog.client.config.producer import COMPRESSION_TYPE as COMPRESSION_TYPE
from tidelog.client.config.producer import DELIVERY_TIMEOUT_MS as DELIVERY_TIMEOUT_MS
from tidelog.client.config.producer import ENABLE_IDEMPOTENCE as ENABLE_IDEMPOTENCE
from tidelog.client.config.producer import MAX_IN_FLIGHT as MAX_IN_FLIGHT
from tidelog.client.config.producer import MAX_REQUEST_SIZE as MAX_REQUEST_SIZE
from tidelog.client.config.producer import TRANSACTION_TIMEOUT_MS as TRANSACTION_TIMEOUT_MS

__all__ = ["admin", "client_config", "common", "consumer", "parse", "producer", "security"]

KEYS = ClientKeys("Clients", producer.KEYS, consumer.KEYS, admin.KEYS)
#: A column of records fills large batches at no delay, and an Arrow batch of a few MiB costs the same per fetch.
KEYS.default(producer.BATCH_SIZE, 1_000_000)
KEYS.default(consumer.MAX_PARTITION_FETCH_BYTES, 8 << 20)
KEYS.default(common.RECEIVE_BUFFER_BYTES, -1)
KEYS.default(common.SEND_BUFFER_BYTES, -1)
KEYS.default(common.CONNECTIONS_MAX_IDLE_MS, 540_000)
#: Of these a program has one, and many of it are the same to a quota.
KEYS.default(common.CLIENT_ID, "tidelog")
KEYS.rules += [common.require_bootstrap, common.constant_backoffs, producer.settle_idempotence]


def client_config(raw: Mapping[str, object]) -> ClientConfig:
    """The config of a cluster client that is made by itself."""
    return parse(KEYS, raw)
