from tidelog.records.format.attributes import Codec

def convert(
    data: bytes | bytearray | memoryview,
    magic: int,
    to_magic: int,
    *,
    count: int = 0,
    base_offset: int = 0,
    base_timestamp: int = 0,
    timestamp: int | None = None,
    append_time: int | None = None,
    keep_from: int = ...,
    number_from: int | None = None,
    codec: Codec = ...,
    level: int | None = None,
    refuse_headers: bool = False,
) -> tuple[bytes, int, int, int]: ...
