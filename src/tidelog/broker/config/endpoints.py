"""Listeners: `NAME://host:port`, the security protocol behind each name, and what is advertised for it; and limits that
are given by address."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from errno import EADDRINUSE

from tidelog.common.config import ConfigError
from tidelog.common.errors import TidelogError
from tidelog.common.named_tuple import NamedTuple

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_LISTENER = re.compile(r"(?P<name>[\w.-]+)://(?:\[(?P<six>[0-9a-fA-F:.%]+)\]|(?P<host>[^\[\]:/]*)):(?P<port>-?\d+)")
ANY_ADDRESS = ("", "0.0.0.0", "::")


class Endpoint(NamedTuple):
    name: str
    protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


def cannot_listen(address: object, error: OSError, key: str) -> TidelogError:
    """The system's refusal of an address that `key` asks for, with what to do about it."""
    if error.errno == EADDRINUSE:
        hint = f"Stop who listens there, or set {key} to another address; port 0 picks a free one."
    else:
        hint = f"Set {key} to an address of this machine, and to a port that you may use."
    return TidelogError(f"Cannot listen on {address}: {error.strerror}. {hint}")


def parse_protocol_map(text: str) -> dict[str, str]:
    """`NAME:PROTOCOL,NAME:PROTOCOL` as a table, names in upper case."""
    key = "listener.security.protocol.map"
    table: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, protocol = part.rpartition(":")
        if not name or protocol.upper() not in PROTOCOLS:
            raise ConfigError(key, part, f"Expected NAME:PROTOCOL with a protocol among {', '.join(PROTOCOLS)}")
        table[name.strip().upper()] = protocol.upper()
    return table


def parse_overrides(text: str) -> dict[str, int]:
    """`host:count,host:count` as a table."""
    key = "max.connections.per.ip.overrides"
    table: dict[str, int] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        host, _, count = part.rpartition(":")
        if not host or not count.strip().isdecimal():
            raise ConfigError(key, part, "Expected host:count pairs, separated by commas")
        table[host.strip()] = int(count)
    return table


def parse_listeners(key: str, texts: Iterable[str], protocols: Mapping[str, str]) -> list[Endpoint]:
    endpoints: list[Endpoint] = []
    for text in texts:
        match = _LISTENER.fullmatch(text.strip())
        if match is None or int(match["port"]) > 65535:
            raise ConfigError(
                key, text, "Expected NAME://host:port, such as PLAINTEXT://127.0.0.1:9092; ports end at 65535"
            )
        name = match["name"].upper()
        protocol = protocols.get(name)
        if protocol is None:
            raise ConfigError(
                key, text, f"No security protocol is defined for {name} in listener.security.protocol.map"
            )
        if name in (endpoint.name for endpoint in endpoints):
            raise ConfigError(key, text, f"Each listener must have a different name: {name} is given twice")
        endpoints.append(Endpoint(name, protocol, match["six"] or match["host"] or "", int(match["port"])))
    return endpoints


def advertise(listeners: Iterable[Endpoint], explicit: Iterable[Endpoint]) -> list[Endpoint]:
    """What clients are told: the explicit address of a listener, else its own with this machine's name for "any"."""
    told = {endpoint.name: endpoint for endpoint in explicit}
    for endpoint in told.values():
        if endpoint.host in ANY_ADDRESS[1:]:
            raise ConfigError("advertised.listeners", endpoint, "It cannot be a non-routable address such as 0.0.0.0")
    result = []
    for endpoint in listeners:
        other = told.get(endpoint.name, endpoint)
        host = os.uname().nodename if other.host in ANY_ADDRESS else other.host
        result.append(Endpoint(endpoint.name, endpoint.protocol, host, other.port))
    return result
