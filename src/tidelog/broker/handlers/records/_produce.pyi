from collections.abc import Callable
from typing import Any

from tidelog.broker.handlers.records._lane import Lane
from tidelog.broker.purgatory.purgatories import Purgatories
from tidelog.broker.requests._taker import Taker
from tidelog.common.clock import Clock

class ProduceTaker(Taker):
    runs_made: int
    def __init__(
        self,
        make_lanes: Callable[[bytes, bool], list[Lane | None] | None],
        on_moved: Callable[[Any], None],
        purgatories: Purgatories,
        clock: Clock,
    ) -> None: ...
    def forget_lanes(self) -> None: ...
