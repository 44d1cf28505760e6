"""Free ports on 127.0.0.1, picked at run time, that stay free until somebody listens there.

A port that the system picks (`bind` to 0) is one of those that it also gives to outgoing connections: between the
picking and the listening, or while a broker is down, a client's connection may take it. So these are picked from below
that range, and none twice in a process.
"""

from __future__ import annotations

import random
import socket
from pathlib import Path

LOWEST = 10_000
ENOUGH = 5_000
_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")


def _candidates() -> range:
    """The ports below those of outgoing connections; none where there are too few."""
    try:
        first = int(_RANGE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 0
    return range(LOWEST, first) if first >= LOWEST + ENOUGH else range(0)


class _Ports:
    """Hands out the candidates in a random order, each once; where there are none, what the system picks."""

    def __init__(self) -> None:
        candidates = _candidates()
        self._untried = random.Random().sample(candidates, len(candidates))

    def take(self) -> socket.socket:
        """A socket that holds a free port."""
        while self._untried:
            sock = socket.socket()
            try:
                sock.bind(("127.0.0.1", self._untried.pop()))
            except OSError:
                sock.close()
            else:
                return sock
        sock = socket.socket()
        sock.bind(("127.0.0.1", 0))
        return sock


_ports = _Ports()


def free_ports(count: int) -> list[int]:
    """`count` different ports that were free a moment ago."""
    sockets = [_ports.take() for _ in range(count)]
    try:
        return [sock.getsockname()[1] for sock in sockets]
    finally:
        for sock in sockets:
            sock.close()


def free_port() -> int:
    return free_ports(1)[0]


def is_listening(port: int) -> bool:
    with socket.socket() as sock:
        sock.settimeout(1)
        return sock.connect_ex(("127.0.0.1", port)) == 0
