def encode_offset(
    group: str,
    topic: str,
    partition: int,
    offset: int,
    leader_epoch: int,
    metadata: str,
    commit_timestamp: int,
) -> tuple[bytes, bytes]: ...
