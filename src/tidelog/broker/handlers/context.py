"""Who asked what, and on which connection: what every handler is given beside the request and its room's services."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tidelog.broker.requests._session import Session
from tidelog.common.named_tuple import NamedTuple

if TYPE_CHECKING:
    from tidelog.protocol.headers import RequestHeader


class RequestContext(NamedTuple):
    """Nothing of the broker is in here: a handler reaches what its services name, and no more.

    The session outlives the request: what a connection has proved and said of itself. The header is this request's
    alone.
    """

    header: RequestHeader
    connection: Any
    """The connection that the request came in on; a handler may close it."""
    session: Session
    """Who is at the other end of it."""

    @property
    def listener(self) -> str:
        return self.session.listener

    @property
    def principal(self) -> str:
        return self.session.principal

    @property
    def client_host(self) -> str:
        return self.session.client_host

    @property
    def client_id(self) -> str:
        """What the client calls itself, or nothing. It proves nothing: anybody may send any."""
        return self.header.client_id or ""
