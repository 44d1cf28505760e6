"""Which APIs have a compiled form, and what each is given: all takers are made here.

| API | compiled form | plain form |
|---|---|---|
| Produce | `records/_produce.pyx` | `records/produce.py` |
| OffsetCommit | `groups/_offset_commit.pyx` | `groups/offset_commit.py` |
| OffsetFetch | `groups/_offset_fetch.pyx` | `groups/offset_fetch.py` |
| Heartbeat | `groups/_heartbeat.pyx` | `groups/membership.py` |

(Fetch is compiled at both ends only: `records/_fetch.pyx` reads its requests and writes its answers, and a handler in
between decides when there is enough to answer.)

The takers of groups are made when the coordinators begin, which is when somebody first asks for a group: until then
their modules are not imported, and all requests go the long way.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from tidelog.broker.handlers.records._produce import ProduceTaker
from tidelog.broker.handlers.records.lanes import lanes_of
from tidelog.protocol.api import ApiKey

if TYPE_CHECKING:
    from tidelog.broker.coordinator.coordinators import Coordinators
    from tidelog.broker.metadata.cache import MetadataCache
    from tidelog.broker.purgatory.purgatories import Purgatories
    from tidelog.broker.replication.manager import ReplicaManager
    from tidelog.broker.requests._taker import Taker
    from tidelog.common.clock import Clock


def record_takers(replicas: ReplicaManager, purgatories: Purgatories, clock: Clock) -> Mapping[ApiKey, Taker]:
    """Of the APIs that carry records."""
    produce = ProduceTaker(partial(lanes_of, replicas), replicas.waking.on_moved, purgatories, clock)
    replicas.on_change(produce.forget_lanes)
    return {ApiKey.PRODUCE: produce}


def group_takers(coordinators: Coordinators, metadata: MetadataCache, clock: Clock) -> Mapping[ApiKey, Taker]:
    """Of the APIs that consumers of groups use all the time."""
    from tidelog.broker.handlers.groups._heartbeat import HeartbeatTaker
    from tidelog.broker.handlers.groups._offset_commit import CommitTaker
    from tidelog.broker.handlers.groups._offset_fetch import OffsetFetchTaker

    runtime, limit = coordinators.group.runtime, coordinators.group_config.offset_metadata_max_bytes
    return {
        ApiKey.OFFSET_COMMIT: CommitTaker(runtime, metadata, clock, limit),
        ApiKey.OFFSET_FETCH: OffsetFetchTaker(runtime),
        ApiKey.HEARTBEAT: HeartbeatTaker(runtime),
    }
