from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.handlers.groups._group_taker import GroupTaker
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.common.clock import Clock

class CommitTaker(GroupTaker):
    def __init__(self, runtime: Runtime, metadata: MetadataCache, clock: Clock, max_metadata: int) -> None: ...
