"""The gate: what a new connection is, and what it may ask before it has said who it is.

Every request passes here before anything else, whether it is served by compiled code from the bytes of its frame or by
the dispatcher: both lie behind a connection's *front*, the sink that is handed its frames.

    PLAINTEXT     nothing is proved, everybody is User:ANONYMOUS: the front is the ordinary sink from the start
    SASL_…        the front is an `AuthenticatingFront` until the proof is complete, then the ordinary sink

So a request on an open connection pays nothing for the gate, and one on a connection that is not open cannot get past:
there is no flag that a second path could forget to ask. Frames that a client sends behind its last SaslAuthenticate
without waiting for the answer are handed to the ordinary sink, in order, as the front is looked up for each frame.

A protocol for which there is nobody to make a front is not admitted at all. Today that is every one but PLAINTEXT; a
broker with such a listener does not start.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from tidelog.broker.config.endpoints import Endpoint
from tidelog.broker.requests._session import Session, View
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net._connection import FrameSink, ServerConnection
from tidelog.protocol.api import ApiKey

#: What may be asked by who has not said who he is: what the broker speaks, and how to say it.
BEFORE_AUTHENTICATION = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})

#: The long way: serves one frame on a connection.
OnRequest = Callable[[ServerConnection, bytearray], None]


class AuthenticatingFront(FrameSink):
    """Stands before one connection until its client has proved who it is; the session's `Authentication`.

    The three requests that it lets through go to the dispatcher; any other closes the connection, as in Kafka, and so
    does a frame of more than sasl.server.max.receive.size bytes: a stranger gets no large buffer. The handler of
    SaslAuthenticate reports success here, while the connection still looks at no other frame. (After a SaslHandshake of
    version 0, before KIP-152, bare tokens follow that are no requests: who serves that version overrides `on_frame`.)

    **A session that ends** (KIP-368, connections.max.reauth.ms) comes back here: `again` is called by the handler of a
    SaslHandshake on an open connection, and by whoever keeps the time of a session whose client let it run out. The
    next request has then to be part of a proof, of the same principal: a connection never changes hands.
    """

    def __init__(self, connection: ServerConnection, on_request: OnRequest, max_frame: int) -> None:
        self._connection = connection
        self._on_request = on_request
        self._max_frame = max_frame
        self._open_max_frame = connection.max_frame
        self._principal: str | None = None
        self.again()

    def on_frame(self, connection: ServerConnection, frame: bytes) -> None:
        key = int.from_bytes(frame[:2], "big", signed=True)
        if key not in BEFORE_AUTHENTICATION:
            raise ProtocolError(f"a request with API key {key} before authentication")
        self._on_request(connection, bytearray(frame))

    def succeeded(self, principal: str, view: View) -> None:
        if self._principal not in (None, principal):
            text = f"Cannot change principals during re-authentication from {self._principal} to {principal}"
            raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, text)
        session: Session = self._connection.session
        session.principal, session.view = principal, view
        self._principal = principal
        self._connection.max_frame = self._open_max_frame
        self._connection.set_front(None)

    def again(self) -> None:
        self._connection.max_frame = self._max_frame
        self._connection.set_front(self)


#: Makes the front of a connection, and puts it there.
MakeFront = Callable[[ServerConnection], AuthenticatingFront]


class Gate:
    """`fronts` says, by security protocol, who makes the front of a connection that has to authenticate."""

    def __init__(self, fronts: Mapping[str, MakeFront] = MappingProxyType({})) -> None:
        self._fronts = fronts

    def admit(self, endpoint: Endpoint, connection: ServerConnection) -> None:
        """Give a connection its session and its front, before the first byte is read from it."""
        session = Session(endpoint.name, endpoint.protocol, connection.client_host)
        connection.session = session
        if endpoint.protocol == "PLAINTEXT":
            return
        make = self._fronts.get(endpoint.protocol)
        if make is None:
            raise ProtocolError(
                f"nobody authenticates the clients of {endpoint}, whose protocol is {endpoint.protocol}"
            )
        session.authentication = make(connection)
