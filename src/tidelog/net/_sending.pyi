from collections.abc import Sequence

from tidelog.net._connection import Segment

class Sending:
    writes: int

class TransportSending(Sending): ...

def release(segments: Sequence[Segment]) -> None: ...
