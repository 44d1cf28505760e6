from collections.abc import Iterable

class BatchFilter:
    def __init__(
        self,
        *,
        first_offset: int | None = None,
        last_offset: int | None = None,
        skip_control: bool = True,
        aborted: Iterable[tuple[int, int]] = (),
    ) -> None: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...
