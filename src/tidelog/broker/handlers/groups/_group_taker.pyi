from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.requests._taker import Taker

class GroupTaker(Taker):
    def __init__(self, runtime: Runtime) -> None: ...
