"""The admin client's keys, with today's defaults of Kafka: what every client has, and how often to try."""

from __future__ import annotations

from tidelog.client.config import common, security
from tidelog.client.config.client_ids import ClientNames
from tidelog.client.config.parsing import ClientConfig, ClientKeys
from tidelog.common.config import Type, between
from tidelog.common.types import MAX_INT32

KEYS = ClientKeys("Admin", common.KEYS, security.KEYS)
KEYS.default(common.CONNECTIONS_MAX_IDLE_MS, 300_000)
_NAMES = ClientNames("adminclient")

RETRIES = KEYS.define(
    "retries",
    Type.INT,
    MAX_INT32,
    between(0, MAX_INT32),
    doc="How often a call is tried again; default.api.timeout.ms is the better limit.",
)


def name_client(config: ClientConfig) -> dict[str, object]:
    return _NAMES.settle(config, None)


KEYS.rules += [common.require_bootstrap, common.constant_backoffs, name_client]
