"""Which requests are served from the bytes of their frames once the coordinators have begun.

What consumers ask most often need not become a message first: a taker reads the frame and either serves it or leaves
it to the plain handler of the same API (`handlers/groups`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidelog.broker.handlers.groups._heartbeat import HeartbeatTaker
from tidelog.broker.handlers.groups._offset_commit import CommitTaker
from tidelog.broker.handlers.groups._offset_fetch import OffsetFetchTaker
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.network._hot import RequestSink
    from tidelog.common.clock import Clock


def register_group_takers(sink: RequestSink, coordinators: Coordinators, metadata: MetadataCache, clock: Clock) -> None:
    """Have the sink offer OffsetCommit, OffsetFetch and Heartbeat to their compiled forms."""
    runtime, limit = coordinators.group.runtime, coordinators.group_config.offset_metadata_max_bytes
    sink.set_taker(ApiKey.OFFSET_COMMIT, CommitTaker(runtime, metadata, clock, limit))
    sink.set_taker(ApiKey.OFFSET_FETCH, OffsetFetchTaker(runtime))
    sink.set_taker(ApiKey.HEARTBEAT, HeartbeatTaker(runtime))
