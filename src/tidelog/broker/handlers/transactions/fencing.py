"""How a producer is told that another one has taken its place (KIP-588).

A transactional id belongs to the producer that initialized it last; requests of earlier ones carry an older epoch.
Until KIP-588 all of them were answered INVALID_PRODUCER_EPOCH, which producers took for the end of their life. Newer
versions say PRODUCER_FENCED, and keep the old code for what a producer can recover from.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode

#: AddPartitionsToTxn, AddOffsetsToTxn, EndTxn: the first version that knows PRODUCER_FENCED.
FENCED_VERSION = 2
#: The same of InitProducerId.
FENCED_INIT_VERSION = 4


def fenced_code(code: ErrorCode, knows_fenced: bool) -> ErrorCode:
    """Old clients know a fenced producer only as one with an invalid epoch."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED and not knows_fenced else code
