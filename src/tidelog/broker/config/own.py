"""Keys that only Tidelog has. They begin with `tidelog.`, so that Apache Kafka can read the same file."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, string
from tidelog.common.config import Key, one_of

TIDELOG_HTTP_LISTENER: Key[str | None] = string(
    "tidelog.http.listener",
    None,
    doc="Where `/metrics` (Prometheus) and `/health` are served, as `host:port`; not at all without it.",
)
TIDELOG_LOG_FORMAT = string(
    "tidelog.log.format",
    "text",
    one_of("text", "json"),
    doc="The form of the broker's own log lines on standard error.",
)
TIDELOG_LOG_LEVEL = string(
    "tidelog.log.level",
    "INFO",
    one_of("FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"),
    update=CLUSTER_WIDE,
    doc="The level of the broker's own log lines; single loggers are set as broker-logger configs.",
)
TIDELOG_ADOPT_ACCEPT_DEFAULTS = boolean(
    "tidelog.adopt.accept.defaults",
    False,
    doc="Whether adopted topics whose configs are unknown are kept by the broker's defaults. Without it they are "
    "neither deleted from nor compacted until their configs are set.",
)
