from typing import Any

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
