class Committed:
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    expire_timestamp: int
    order: int
    def __init__(
        self, offset: int, leader_epoch: int, metadata: str, commit_timestamp: int, expire_timestamp: int = -1
    ) -> None: ...
    def durable(self) -> tuple[int, int, str, int, int]: ...
