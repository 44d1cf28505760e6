from typing import Any, Protocol

from tidelog.net._connection import FrameSink, ServerConnection

class Taker:
    taken: int

class Lane:
    partition: Any
    open: bool
    def __init__(
        self,
        partition: Any,
        *,
        open: bool,
        acks_all: bool,
        needs_keys: bool,
        max_batch: int,
        before_max: int,
        after_max: int,
    ) -> None: ...

class LongWay(Protocol):
    """Who takes what is not hot."""

    def on_request(self, connection: ServerConnection, frame: bytearray) -> None: ...
    def on_lost(self, connection: ServerConnection) -> None: ...
    def on_moved(self, partition: Any) -> None: ...
    def anyone_waits(self) -> bool: ...
    def lanes(self, key: bytes, by_id: bool) -> list[Lane | None] | None: ...

class RequestSink(FrameSink):
    hot: bool
    hot_requests: int
    groups_made: int
    def __init__(self, dispatcher: LongWay, loop: Any, clock: Any, *, hot: bool = True) -> None: ...
    def set_taker(self, key: int, taker: Taker) -> None: ...
    def taken(self) -> dict[int, int]: ...
    def forget_lanes(self) -> None: ...
