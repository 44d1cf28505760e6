from tidelog.broker.coordinator.runtime import Runtime
from tidelog.broker.network._hot import Taker

class HeartbeatTaker(Taker):
    def __init__(self, runtime: Runtime) -> None: ...
