"""Tiered storage: known, so that a `server.properties` that names it is understood; Tidelog keeps segments local."""

from __future__ import annotations

from tidelog.broker.config.definition import CLUSTER_WIDE, boolean, double, integer, long, string
from tidelog.common.config import Key, at_least, between, not_empty
from tidelog.common.types import MAX_INT64

REMOTE_LOG_STORAGE_SYSTEM_ENABLE = boolean(
    "remote.log.storage.system.enable", False, doc="Whether tiered storage is on; Tidelog keeps all segments local."
)
REMOTE_LOG_STORAGE_MANAGER_CLASS_NAME: Key[str | None] = string(
    "remote.log.storage.manager.class.name", None, not_empty(), doc="The class that stores segments remotely."
)
REMOTE_LOG_STORAGE_MANAGER_CLASS_PATH: Key[str | None] = string(
    "remote.log.storage.manager.class.path", None, doc="Where that class is loaded from."
)
REMOTE_LOG_STORAGE_MANAGER_IMPL_PREFIX = string(
    "remote.log.storage.manager.impl.prefix", "rsm.config.", not_empty(), doc="The prefix of its own keys."
)
REMOTE_LOG_METADATA_MANAGER_CLASS_NAME = string(
    "remote.log.metadata.manager.class.name",
    "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
    not_empty(),
    doc="The class that knows which segments are remote.",
)
REMOTE_LOG_METADATA_MANAGER_CLASS_PATH: Key[str | None] = string(
    "remote.log.metadata.manager.class.path", None, doc="Where that class is loaded from."
)
REMOTE_LOG_METADATA_MANAGER_IMPL_PREFIX = string(
    "remote.log.metadata.manager.impl.prefix", "rlmm.config.", not_empty(), doc="The prefix of its own keys."
)
REMOTE_LOG_METADATA_MANAGER_LISTENER_NAME: Key[str | None] = string(
    "remote.log.metadata.manager.listener.name", None, not_empty(), doc="The listener that it uses."
)
REMOTE_LOG_METADATA_CUSTOM_METADATA_MAX_BYTES = integer(
    "remote.log.metadata.custom.metadata.max.bytes",
    128,
    at_least(0),
    doc="The largest metadata that the storage class may add to a segment.",
)
REMOTE_LOG_INDEX_FILE_CACHE_TOTAL_SIZE_BYTES = long(
    "remote.log.index.file.cache.total.size.bytes",
    1_073_741_824,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Disk space for indexes of remote segments.",
)
REMOTE_LOG_INDEX_FILE_CACHE_TTL_MS = long(
    "remote.log.index.file.cache.ttl.ms", 900_000, at_least(-1), doc="How long an unused one is kept."
)
REMOTE_LOG_MANAGER_THREAD_POOL_SIZE = integer(
    "remote.log.manager.thread.pool.size", 2, at_least(1), doc="Threads for tiering (before the pools were divided)."
)
REMOTE_LOG_MANAGER_COPIER_THREAD_POOL_SIZE = integer(
    "remote.log.manager.copier.thread.pool.size",
    10,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads that copy segments away.",
)
REMOTE_LOG_MANAGER_EXPIRATION_THREAD_POOL_SIZE = integer(
    "remote.log.manager.expiration.thread.pool.size",
    10,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads that delete remote segments.",
)
REMOTE_LOG_MANAGER_FOLLOWER_THREAD_POOL_SIZE = integer(
    "remote.log.manager.follower.thread.pool.size",
    2,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="Threads that follow remote state on followers.",
)
REMOTE_LOG_MANAGER_TASK_INTERVAL_MS = long(
    "remote.log.manager.task.interval.ms", 30_000, at_least(1), doc="How often tiering runs."
)
REMOTE_LOG_MANAGER_TASK_RETRY_BACKOFF_MS = long(
    "remote.log.manager.task.retry.backoff.ms", 500, at_least(1), doc="How long tiering waits before it tries again."
)
REMOTE_LOG_MANAGER_TASK_RETRY_BACKOFF_MAX_MS = long(
    "remote.log.manager.task.retry.backoff.max.ms", 30_000, at_least(1), doc="The limit to which that time grows."
)
REMOTE_LOG_MANAGER_TASK_RETRY_JITTER = double(
    "remote.log.manager.task.retry.jitter", 0.2, between(0, 0.5), doc="How much that time varies at random."
)
REMOTE_LOG_MANAGER_COPY_MAX_BYTES_PER_SECOND = long(
    "remote.log.manager.copy.max.bytes.per.second",
    MAX_INT64,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="The most bytes per second that are copied away.",
)
REMOTE_LOG_MANAGER_COPY_QUOTA_WINDOW_NUM = integer(
    "remote.log.manager.copy.quota.window.num", 11, at_least(1), doc="Windows kept for that rate."
)
REMOTE_LOG_MANAGER_COPY_QUOTA_WINDOW_SIZE_SECONDS = integer(
    "remote.log.manager.copy.quota.window.size.seconds", 1, at_least(1), doc="The length of such a window."
)
REMOTE_LOG_MANAGER_FETCH_MAX_BYTES_PER_SECOND = long(
    "remote.log.manager.fetch.max.bytes.per.second",
    MAX_INT64,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="The most bytes per second that are fetched back.",
)
REMOTE_LOG_MANAGER_FETCH_QUOTA_WINDOW_NUM = integer(
    "remote.log.manager.fetch.quota.window.num", 11, at_least(1), doc="Windows kept for that rate."
)
REMOTE_LOG_MANAGER_FETCH_QUOTA_WINDOW_SIZE_SECONDS = integer(
    "remote.log.manager.fetch.quota.window.size.seconds", 1, at_least(1), doc="The length of such a window."
)
REMOTE_LOG_READER_THREADS = integer(
    "remote.log.reader.threads", 10, at_least(1), update=CLUSTER_WIDE, doc="Threads that read remote segments."
)
REMOTE_LOG_READER_MAX_PENDING_TASKS = integer(
    "remote.log.reader.max.pending.tasks", 100, at_least(1), doc="How many such reads may wait."
)
REMOTE_FETCH_MAX_WAIT_MS = integer(
    "remote.fetch.max.wait.ms", 500, at_least(1), update=CLUSTER_WIDE, doc="How long a fetch waits for a remote read."
)
REMOTE_LIST_OFFSETS_REQUEST_TIMEOUT_MS = long(
    "remote.list.offsets.request.timeout.ms",
    30_000,
    at_least(1),
    update=CLUSTER_WIDE,
    doc="How long ListOffsets waits for a remote look-up.",
)
