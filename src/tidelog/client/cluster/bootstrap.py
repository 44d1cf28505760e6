"""Where to begin: the brokers that the user names, before anybody has told us of the others."""

from __future__ import annotations

from tidelog.client.config import common as keys
from tidelog.common.config import Config
from tidelog.common.errors import UsageError
from tidelog.net.dialing import canonical_names

Address = tuple[str, int]


class Bootstrap:
    """The addresses of `bootstrap.servers`: checked when the client is made, looked up when they are wanted."""

    def __init__(self, config: Config) -> None:
        self.given = [_address(text) for text in config[keys.BOOTSTRAP_SERVERS] if text]
        if not self.given:
            raise UsageError("bootstrap.servers names nobody: a list of host:port is expected")
        self._by_canonical_names = config[keys.CLIENT_DNS_LOOKUP] == "resolve_canonical_bootstrap_servers_only"

    def __contains__(self, address: Address) -> bool:
        return address in self.given

    async def addresses(self) -> list[Address]:
        """As they were given; or by the names that their addresses have of their own (`client.dns.lookup`)."""
        if not self._by_canonical_names:
            return self.given
        return [name for host, port in self.given for name in await canonical_names(host, port)]


def _address(text: str) -> Address:
    """`host:port` as a pair; an IPv6 address is in brackets. A listener's name before it (`PLAINTEXT://host:port`, as
    brokers' own settings have it) says nothing here, and is passed over as in Java: see `security.protocol`.
    """
    host, _, port = text.rpartition("://")[2].rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) < 65536:
        raise UsageError(f"{text!r} in bootstrap.servers is not of the form host:port")
    return host, int(port)
