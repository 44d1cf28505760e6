"""The admin client's keys, with today's defaults of Kafka: what every client has, and how often to try."""

from __future__ import annotations

from tidelog.client.config import common, security
from tidelog.client.config.parsing import ClientKeys
from tidelog.common.config import Type, between
from tidelog.common.types import MAX_INT32

KEYS = ClientKeys("Admin", common.KEYS, security.KEYS)
KEYS.default(common.CONNECTIONS_MAX_IDLE_MS, 300_000)

RETRIES = KEYS.define(
    "retries",
    Type.INT,
    MAX_INT32,
    between(0, MAX_INT32),
    doc="How often a call is tried again; default.api.timeout.ms is the better limit.",
)

KEYS.rules += [common.require_bootstrap, common.constant_backoffs]
