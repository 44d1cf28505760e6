"""Metrics, telemetry and the windows in which quotas are measured."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, class_name, integer, long, string, strings
from tidelog.common.config import Key, at_least

METRIC_REPORTERS = strings(
    "metric.reporters",
    ["org.apache.kafka.common.metrics.JmxReporter"],
    update=CLUSTER_WIDE,
    doc="Classes that report metrics; Java classes cannot be loaded here (see `tidelog.http.listener`).",
)
AUTO_INCLUDE_JMX_REPORTER = boolean("auto.include.jmx.reporter", True, doc="Whether JMX reports metrics (3.9).")
METRICS_NUM_SAMPLES = integer("metrics.num.samples", 2, at_least(1), doc="How many samples a metric keeps.")
METRICS_SAMPLE_WINDOW_MS = long("metrics.sample.window.ms", 30_000, at_least(1), doc="The length of a sample.")
METRICS_RECORDING_LEVEL = string("metrics.recording.level", "INFO", doc="Which metrics are recorded.")
KAFKA_METRICS_REPORTERS = strings("kafka.metrics.reporters", [], doc="Reporters of Apache Kafka's older metrics.")
KAFKA_METRICS_POLLING_INTERVAL_SECS = integer(
    "kafka.metrics.polling.interval.secs", 10, at_least(1), doc="How often those are polled."
)
TELEMETRY_MAX_BYTES = integer(
    "telemetry.max.bytes", 1_048_576, at_least(1), doc="The most bytes of telemetry that a client may push."
)
CLIENT_QUOTA_CALLBACK_CLASS: Key[str | None] = class_name(
    "client.quota.callback.class", None, doc="A class that decides about quotas; Java classes cannot be loaded here."
)
QUOTA_WINDOW_NUM = integer("quota.window.num", 11, at_least(1), doc="Windows kept for client quotas.")
QUOTA_WINDOW_SIZE_SECONDS = integer("quota.window.size.seconds", 1, at_least(1), doc="The length of such a window.")
CONTROLLER_QUOTA_WINDOW_NUM = integer(
    "controller.quota.window.num", 11, at_least(1), doc="Windows kept for the quota of controller mutations."
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS = integer(
    "controller.quota.window.size.seconds", 1, at_least(1), doc="The length of such a window."
)
