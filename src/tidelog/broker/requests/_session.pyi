class View:
    name: str
    def __init__(self, name: str) -> None: ...

EVERYTHING: View
ANONYMOUS: str
UNKNOWN_SOFTWARE: str

class Session:
    listener: str
    security_protocol: str
    client_host: str
    principal: str
    view: View
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
