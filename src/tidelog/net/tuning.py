"""Socket options that every connection of a broker gets.

All of them are about waiting. Nagle's algorithm would hold a small answer back until the one before is acknowledged; a
peer whose machine lost power says no good-bye, and only keep-alive finds that out; pacing spreads over time what could
leave at once.
"""

from __future__ import annotations

import contextlib
import socket

#: Congestion control for peers on this machine, in the order of preference.
UNPACED = (b"cubic", b"reno")


def tune(sock: socket.socket) -> None:
    """Send small answers at once, find out when the other side is gone for good, and do not pace what never leaves the
    machine. Raises OSError if the other side has left already.

    BBR, the default on many servers, spreads packets over time by its estimate of the path. Over the loopback device
    there is no path: there it only costs timer interrupts, and more than halves what a consumer can read.
    """
    if sock.family not in (socket.AF_INET, socket.AF_INET6):
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_CONGESTION") and sock.getpeername()[0] == sock.getsockname()[0]:
        for name in UNPACED:
            with contextlib.suppress(OSError):  # not built into this kernel, or not allowed: the default stays
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
                return
