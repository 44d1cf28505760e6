"""A client's SASL exchange over a connection: right after ApiVersions, before any other request.

    SaslHandshake (mechanism)          the broker offers it, or names those that it does
    SaslAuthenticate (message)         once per message of the exchange (KIP-152), answered by the server's

Versions before SaslAuthenticate sent the bare messages without any request around them; brokers since 1.0 know it, and
no older one is spoken to. An error in either answer ends the attempt: the broker closes the connection after it.

The last answer says for how long the broker believes it (KIP-368, `connections.max.reauth.ms`, or a token's life). Who
wants to stay longer proves it again on the same connection in time; `NodeClient` sees to that.
"""

from __future__ import annotations

from tidelog.common.errors import ErrorCode, KafkaError
from tidelog.net.node_client import NodeClient
from tidelog.net.sasl.exchange import ClientExchange
from tidelog.protocol.messages import SaslAuthenticateRequest, SaslHandshakeRequest


async def authenticate(node: NodeClient, exchange: ClientExchange) -> int:
    """Prove who we are; for how many milliseconds that holds, 0 for ever. KafkaError says why it failed, in the
    broker's words where it has some.
    """
    mechanism = exchange.mechanism
    handshake = await node.send(SaslHandshakeRequest(mechanism=mechanism))
    if handshake.error_code:
        offered = ", ".join(handshake.mechanisms)
        raise KafkaError(handshake.error_code, f"{node.peer} does not offer {mechanism} but: {offered}")
    message: bytes | None = exchange.begin()
    lifetime_ms = 0
    while message is not None:
        answer = await node.send(SaslAuthenticateRequest(auth_bytes=message))
        if answer.error_code:
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, answer.error_message)
        message = exchange.answer(answer.auth_bytes)
        lifetime_ms = answer.session_lifetime_ms
    return lifetime_ms
