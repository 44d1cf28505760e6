from tidelog.client.producer._batch import ProducerBatch

Buffer = bytes | bytearray | memoryview
OLDEST: int
NEWEST: int

def encode(
    batches: list[ProducerBatch],
    version: int,
    correlation_id: int,
    client_id: str | None,
    transactional_id: str | None,
    acks: int,
    timeout_ms: int,
) -> list[Buffer]: ...
def written(
    frame: memoryview, version: int, batches: list[ProducerBatch]
) -> list[tuple[ProducerBatch, int, int]] | None: ...
