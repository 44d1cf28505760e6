from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.metadata.cache import MetadataCache
from tidelog.broker.network._hot import Taker
from tidelog.common.clock import Clock

class CommitTaker(Taker):
    def __init__(self, runtime: Runtime, metadata: MetadataCache, clock: Clock, max_metadata: int) -> None: ...
