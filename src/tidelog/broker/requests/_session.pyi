from typing import Protocol

class View:
    name: str
    def __init__(self, name: str) -> None: ...

EVERYTHING: View
ANONYMOUS: str
UNKNOWN_SOFTWARE: str

class Authentication(Protocol):
    """The gate's side of a session that has to prove who it is, for the handlers that judge the proof."""

    def succeeded(self, principal: str, view: View) -> None:
        """The client has proved to be this principal: its other requests are served from now on."""

    def again(self) -> None:
        """It has to prove it anew (KIP-368): nothing else of it is served until then."""

class Session:
    listener: str
    security_protocol: str
    client_host: str
    principal: str
    view: View
    authentication: Authentication | None
    client_software_name: str
    client_software_version: str
    def __init__(
        self,
        listener: str,
        security_protocol: str,
        client_host: str,
        principal: str = ...,
        view: View = ...,
    ) -> None: ...
    @property
    def quota_user(self) -> str: ...
