"""Making a connection: look the name up, connect, encrypt. What fails says in which of the three (`net.stages`).

Done by hand rather than by `create_connection`, for three reasons: socket buffers must have their size before the
connection is made, as the TCP window is agreed on then; the addresses of a name are tried one after the other, each
with its share of the time (`client.dns.lookup=use_all_dns_ips`); and each stage has an error of its own.

A socket that is not handed on is closed here, whatever happens: also when whoever waits for it is cancelled, in the
middle of any stage.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any

from tidelog.common.named_tuple import NamedTuple
from tidelog.net.client_connection import ClientConnection
from tidelog.net.stages import dns_failed, tcp_failed, tls_failed

#: An address as `getaddrinfo` has it.
Address = tuple[socket.AddressFamily, tuple[str, int] | tuple[str, int, int, int]]

#: How long a connection that nobody wants any more may take to be made.
_MOMENT = 0.5


class DialOptions(NamedTuple):
    """How to connect.

    `timeout` is for all three stages together: a name that is slow to look up leaves less for the others. Buffers of -1
    are the system's choice: Linux then lets them grow with what the path can carry, which a size of one's own ends.
    With `tls` the name that was dialled is the one that the certificate has to be for. `dedicated` is explained in
    `ClientConnection`, and means nothing under TLS, where the loop itself reads the socket.
    """

    timeout: float = 10.0
    tls: ssl.SSLContext | None = None
    send_buffer: int = -1
    receive_buffer: int = -1
    dedicated: bool = False


async def dial(host: str, port: int, options: DialOptions) -> ClientConnection:
    """An open connection, or `ConnectError`, which says how far it came: a name that nobody knows, a port that nobody
    listens on and a certificate that nobody trusts are mended by different people.
    """
    peer, loop = f"{host}:{port}", asyncio.get_running_loop()
    deadline = loop.time() + options.timeout
    try:
        async with asyncio.timeout_at(deadline):
            addresses = await addresses_of(host, port)
    except OSError as error:  # a TimeoutError is one
        raise dns_failed(peer, host, error) from error
    sock = await _connect_any(peer, addresses, options, deadline)
    making = loop.create_task(
        loop.create_connection(
            lambda: ClientConnection(peer, dedicated=options.dedicated and options.tls is None),
            sock=sock,
            ssl=options.tls,
            server_hostname=host if options.tls else None,
        )
    )
    try:
        async with asyncio.timeout_at(deadline):
            return (await asyncio.shield(making))[1]
    except BaseException as error:
        await _unmake(making, sock)
        if not isinstance(error, OSError):
            raise
        raise (tcp_failed if options.tls is None else tls_failed)(peer, error) from error


async def _unmake(making: asyncio.Task[Any], sock: socket.socket) -> None:
    """Nobody wants the connection any more. uvloop forgets a transport whose making is cancelled, open as it is: so it
    is made, which in plain text is a matter of a turn of the loop, and closed.
    """
    for _ in range(2):
        await asyncio.wait({making}, timeout=_MOMENT)
        making.cancel()
    if making.done() and not making.cancelled() and making.exception() is None:
        making.result()[0].abort()
    else:
        sock.close()


async def addresses_of(host: str, port: int) -> list[Address]:
    """The addresses of a name, in the system's order. One that is written as numbers needs nobody to look it up."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, host)
        except (OSError, ValueError):
            continue
        return [(family, (host, port) if family == socket.AF_INET else (host, port, 0, 0))]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except ValueError as error:  # an empty label, one of 64 letters, NUL: nobody was even asked
        raise socket.gaierror(socket.EAI_NONAME, f"this cannot be a host's name: {error}") from error
    return [(family, address) for family, _, _, _, address in found]  # type: ignore[misc]  # typeshed: any tuple


async def canonical_names(host: str, port: int) -> list[tuple[str, int]]:
    """The names that the addresses of a name have of their own (`resolve_canonical_bootstrap_servers_only`): an alias
    for a whole cluster becomes its brokers, under the names that their certificates are for. An address without a name
    stands for itself; a name without an address is left as it is, to fail where it is connected to.
    """
    loop = asyncio.get_running_loop()
    try:
        addresses = await addresses_of(host, port)
    except OSError:
        return [(host, port)]
    names = []
    for _, address in addresses:
        try:
            name, _ = await loop.getnameinfo(address, socket.NI_NAMEREQD | socket.NI_NUMERICSERV)
        except OSError:
            name = str(address[0])
        names.append((name, port))
    return list(dict.fromkeys(names))


async def _connect_any(peer: str, addresses: list[Address], options: DialOptions, deadline: float) -> socket.socket:
    """The first that answers. Of those that do not, the last one's error stands for all.

    What is left of the time is shared by the addresses that are left: one that swallows packets (a firewall, a machine
    that is off) cannot use up the time of the next, which may be the one that works.
    """
    loop = asyncio.get_running_loop()
    failure: OSError = ConnectionError(f"{peer} has no address")
    for tried, (family, address) in enumerate(addresses):
        share = (deadline - loop.time()) / (len(addresses) - tried)
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            _size_buffers(sock, options)
            async with asyncio.timeout(max(share, 0.0)):
                await loop.sock_connect(sock, address)
            return sock
        except OSError as error:
            sock.close()
            failure = error
        except BaseException:
            sock.close()
            raise
    raise tcp_failed(peer, failure) from failure


def _size_buffers(sock: socket.socket, options: DialOptions) -> None:
    """Linux doubles what is asked for, to have room for its own book-keeping, and keeps to its own limits."""
    if options.send_buffer >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, options.send_buffer)
    if options.receive_buffer >= 0:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options.receive_buffer)
