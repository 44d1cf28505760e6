from typing import Any

from tidelog.common.named_tuple import NamedTuple
from tidelog.net._receive import ReceiveBuffers

class Transition(NamedTuple):
    event: str
    needs: frozenset[str]
    refuses: frozenset[str]
    sets: frozenset[str]
    clears: frozenset[str]

def transitions() -> list[Transition]: ...

class BackPressure:
    def __init__(self, buffers: ReceiveBuffers) -> None: ...
    @property
    def conditions(self) -> frozenset[str]: ...
    def step(self, event: str) -> bool: ...
    def give_transport(self, transport: Any) -> None: ...
