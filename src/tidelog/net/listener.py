"""A listening socket. It accepts by itself, not through the loop's server: so it can leave newcomers waiting.

The order of events for a newcomer: the table is asked whether anybody may come now (if not, the socket is not watched
until then, and newcomers wait in the kernel's backlog); it is accepted; turned away if its address has too many
connections; entered into the table; handed to the loop; admitted by the listener's owner, who gives it a session; and
only then read. Whoever fails on the way leaves nothing behind: neither a descriptor nor a place in the table.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from concurrent.futures import Executor

from tidelog.net._connection import FrameSink, ServerConnection
from tidelog.net._receive import ReceiveBuffers
from tidelog.net._sendfile_threads import SendfileThreads
from tidelog.net.connection_table import FOREVER, ConnectionTable
from tidelog.net.descriptors import is_scarce

logger = logging.getLogger("tidelog.net")

#: Connections accepted in one turn of the loop, at most.
TURN = 64
#: How long to wait when the system gives us no connection, or one of the last descriptors.
PAUSE_SECONDS = 1.0


class Listener:
    """One listening address and the connections that came in by it."""

    def __init__(
        self,
        name: str,
        table: ConnectionTable,
        sink: FrameSink,
        buffers: ReceiveBuffers,
        sendfile_threads: SendfileThreads,
        executor: Callable[[], Executor],
        admit: Callable[[ServerConnection], None] = lambda connection: None,
    ) -> None:
        """`admit` gives a new connection its session, before anything is read from it."""
        self.name = name
        self.table = table
        self.sendfile_threads = sendfile_threads
        self._sink = sink
        self._buffers = buffers
        self._executor = executor
        self._admit = admit
        self._loop: asyncio.AbstractEventLoop | None = None
        self._socket: socket.socket | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._arriving: set[asyncio.Task[None]] = set()

    async def start(self, host: str, port: int) -> tuple[str, int]:
        """Listen; returns the address that is really bound (port 0 picks a free one)."""
        self._loop = asyncio.get_running_loop()
        self._socket = self._bind(host, port)
        self._socket.listen(max(self.table.limits.backlog, 128))
        self._go_on()
        bound = self._socket.getsockname()
        return bound[0], bound[1]

    def _bind(self, host: str, port: int) -> socket.socket:
        """Buffer sizes are set before listening: connections inherit them, and the handshake agrees on windows."""
        limits = self.table.limits
        family, kind, protocol, _, address = socket.getaddrinfo(
            _name(host or "0.0.0.0"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if limits.receive_buffer > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, limits.receive_buffer)
            if limits.send_buffer > 0:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, limits.send_buffer)
            sock.bind(address)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        return sock

    # -- accepting ---------------------------------------------------------------------------------------------------

    def _go_on(self) -> None:
        self._timer = None
        if self._loop is not None and self._socket is not None:
            self._loop.add_reader(self._socket.fileno(), self._accept)

    def _hold(self, seconds: float) -> None:
        """Accept nobody for so long, or until there is room."""
        assert self._loop is not None
        assert self._socket is not None
        self._loop.remove_reader(self._socket.fileno())
        if seconds == FOREVER:
            self.table.when_room(self._go_on)
        else:
            self._timer = self._loop.call_later(seconds, self._go_on)

    def _accept(self) -> None:
        """Somebody knocks."""
        for _ in range(TURN):
            if self._socket is None:
                return
            if wait := self.table.wait(self.name):
                self._hold(wait)
                return
            try:
                sock, address = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError as error:
                logger.error("%s accepts nobody for %g s: %s", self.name, PAUSE_SECONDS, error)
                self._hold(PAUSE_SECONDS)
                return
            if is_scarce(sock.fileno()):
                logger.error(
                    "closed %s, and %s accepts nobody for %g s: few descriptors are left (ulimit -n)",
                    address[0],
                    self.name,
                    PAUSE_SECONDS,
                )
                sock.close()
                self._hold(PAUSE_SECONDS)
                return
            self._welcome(sock, address[0])

    def _welcome(self, sock: socket.socket, host: str) -> None:
        """It counts from here on, before the loop has set it up: a crowd cannot slip in between the two."""
        assert self._loop is not None
        if reason := self.table.refusal(host):
            logger.warning("closed %s on %s: %s", host, self.name, reason)
            sock.close()
            return
        sock.setblocking(False)
        connection = ServerConnection(self, self._sink, self._buffers, self._loop, self.table.limits.max_frame)
        self.table.enter(connection, host)
        task = self._loop.create_task(self._set_up(self._loop, connection, sock))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)

    async def _set_up(self, loop: asyncio.AbstractEventLoop, connection: ServerConnection, sock: socket.socket) -> None:
        """Have the loop serve the socket; whatever comes of that, nothing stays behind of who could not be served."""
        try:
            await loop.connect_accepted_socket(lambda: connection, sock)
        except OSError as error:
            logger.warning("closed a connection on %s that could not be set up: %s", self.name, error)
        finally:
            if connection.transport is None:
                sock.close()
                self.table.leave(connection)

    def on_made(self, connection: ServerConnection) -> None:
        """The loop serves it: have it admitted. Nothing has been read from it yet."""
        if connection.closing:  # it had to go before it was here
            connection.transport.abort()
            return
        try:
            self._admit(connection)
        except Exception:  # nobody is served without having been admitted
            logger.exception("closed %s on %s: it could not be admitted", connection.peer, self.name)
            connection.close()

    def on_lost(self, connection: ServerConnection) -> None:
        self.table.leave(connection)

    def in_thread(self, work: Callable[[], object], done: Callable[[], None]) -> None:
        """Run `work` on a thread, then `done` on the loop."""
        loop = asyncio.get_running_loop()

        def finished(future: asyncio.Future[object]) -> None:
            if error := future.exception():
                logger.error("work on a thread failed: %r", error)
            done()

        loop.run_in_executor(self._executor(), work).add_done_callback(finished)

    async def stop(self) -> None:
        """Stop accepting."""
        if self._timer is not None:
            self._timer.cancel()
        if self._loop is not None and self._socket is not None:
            self._loop.remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None
        if self._arriving:
            await asyncio.wait(self._arriving)


def _name(host: str) -> str | bytes:
    """The host as `getaddrinfo` takes it; it would load the codec of international names for any text."""
    return host.encode() if host.isascii() else host
