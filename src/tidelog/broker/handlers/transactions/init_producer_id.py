"""InitProducerId, versions 0 to 5: a producer id and epoch, for idempotence or for a transactional id.

Without a transactional id it is a fresh id with epoch 0, and nothing is kept. With one, the producer that had it before
is fenced: the epoch goes up, an open transaction of the predecessor is aborted first, and meanwhile the answer is
CONCURRENT_TRANSACTIONS, at which the producer tries again. Since version 3 (KIP-360) a producer may ask with what it
has, to get a higher epoch after an error; one that was itself replaced is told so instead of fencing its successor.
"""

from __future__ import annotations

from tidelog.broker.coordinator.transaction.machine import ProducerIdentity
from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.transactions.fencing import FENCED_INIT_VERSION, fenced_code
from tidelog.broker.handlers.transactions.services import TransactionServices
from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.common.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from tidelog.protocol.messages import InitProducerIdRequest, InitProducerIdResponse


async def handle(
    services: TransactionServices, ctx: RequestContext, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """The identity, or the error with id and epoch of nobody (-1)."""
    version = ctx.header.api_version
    try:
        expected = _expected(request)
        identity = await services.coordinators().transaction.init(
            request.transactional_id, request.transaction_timeout_ms, expected
        )
    except KafkaError as error:
        return InitProducerIdResponse(
            error_code=fenced_code(error.code, version >= FENCED_INIT_VERSION),
            producer_id=NO_PRODUCER_ID,
            producer_epoch=NO_PRODUCER_EPOCH,
        )
    return InitProducerIdResponse(producer_id=identity.producer_id, producer_epoch=identity.epoch)


def _expected(request: InitProducerIdRequest) -> ProducerIdentity | None:
    """What the producer has now (KIP-360): both or neither; the two-phase flags of version 6 are not served."""
    has_id = request.producer_id != NO_PRODUCER_ID
    if has_id != (request.producer_epoch != NO_PRODUCER_EPOCH):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if request.enable2_pc:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if request.keep_prepared_txn:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    return ProducerIdentity(request.producer_id, request.producer_epoch) if has_id else None
