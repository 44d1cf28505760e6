"""SaslHandshake and SaslAuthenticate that arrive as ordinary requests: too late, or on a listener without SASL.

Authentication is a connection's first exchange and never gets here. The two are advertised all the same, as Apache
Kafka does on every listener: some clients conclude from them what a broker can do.
"""

from __future__ import annotations

from tidelog.broker.handlers.context import RequestContext
from tidelog.broker.handlers.security.services import SecurityServices
from tidelog.common.errors import ErrorCode
from tidelog.protocol.messages import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

LATE = "SaslAuthenticate request received after successful authentication"


def handshake(services: SecurityServices, ctx: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """ILLEGAL_SASL_STATE, and no mechanisms: there is nothing to choose here and now."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)


def authenticate(
    services: SecurityServices, ctx: RequestContext, request: SaslAuthenticateRequest
) -> SaslAuthenticateResponse:
    """ILLEGAL_SASL_STATE, with words, as this one has room for them."""
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=LATE)
