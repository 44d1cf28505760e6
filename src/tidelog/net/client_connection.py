"""The outbound half of one TCP connection: frames out, frames in, answers matched to requests.

A broker answers the requests of one connection in their order, so the pending requests form a queue and the
correlation id is only a check. Small answers are cut out of one receive buffer; the body of a large one (a Fetch) is
received straight into a buffer of its own (`net.large_buffers`), so its bytes are copied once, by the kernel.

A `dedicated` connection belongs to a loop that serves nobody else (the blocking clients'): once a large answer has
begun, it is received there and then, without the GIL (`_answer_bytes`) or a turn of the loop per read, to its end or
for a bounded time. That doubles the rate on a fast network, and would make other connections of the loop wait. Its
requests are written there and then, too, from where their parts lie and without the GIL (`_gathered`); what the kernel
does not take at once is the transport's to write.

Requests may be queued (`queue`) and sent together (`push`): several small ones that leave in the same turn of the loop
are one system call, and wake the broker once.

Invariants: a pending future is resolved exactly once, with the frame (without its length) or with a `KafkaError`
(NETWORK_EXCEPTION) when the connection is lost; after `connection_lost` nothing is ever pending.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from typing import cast

from tidelog.common.clock import SYSTEM_CLOCK
from tidelog.common.errors import ErrorCode, KafkaError, ProtocolError
from tidelog.net._answer_bytes import receive_rest
from tidelog.net._gathered import write_parts
from tidelog.net.gulp import Gulp
from tidelog.net.large_buffers import LargeBuffers
from tidelog.net.stages import AnsweredInTls
from tidelog.net.tuning import tune

_RECEIVE_BYTES = 64 * 1024
#: A broker never sends more in one answer; a larger length is garbage, or another protocol on that port.
MAX_FRAME_BYTES = 1 << 30

#: How an alert of TLS 1.x begins; as a length it would be 336 MiB, which no first answer has.
_TLS_ALERT = 0x1503

Frame = memoryview
Buffer = bytes | bytearray | memoryview

#: How long a dedicated connection waits for more of a large answer (ms), and how long it receives in all (s), before it
#: lets the loop have a turn: on a slow link an answer takes longer than heartbeats may wait.
_PATIENCE = 20
_TURN = 0.05
#: How much of a large answer must be there before the kernel wakes us for it.
_GULP = 1 << 19
#: Answers from this size on say something about the speed.
_TELLING = 1 << 20
#: How many milliseconds a dedicated connection waits for the kernel to take more of a request, and for how many writes
#: it does not when that was in vain: a network that is slower than that is the loop's to wait for.
_WRITE_PATIENCE = 1
_IMPATIENT_WRITES = 64


class ClientConnection(asyncio.BufferedProtocol):
    """Sends whole requests and resolves a future per answer. Made by `NodeClient`, which knows the protocol."""

    def __init__(self, peer: str, *, dedicated: bool = False) -> None:
        self.peer = peer
        self._dedicated = dedicated
        self._socket: socket.socket | None = None
        self.closed = asyncio.get_running_loop().create_future()
        self._pending: deque[tuple[int, asyncio.Future[Frame]]] = deque()
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._buffer = bytearray(_RECEIVE_BYTES)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._large: memoryview | None = None
        self._large_filled = 0
        self._buffers = LargeBuffers()
        self._gulp = Gulp()
        self._answers = 0
        self._outbox: list[Buffer] = []
        self._impatient = 0

    @property
    def buffer_sizes(self) -> tuple[int, int]:
        """(SO_SNDBUF, SO_RCVBUF), as the system has them."""
        if self._transport is None:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"not connected to {self.peer}")
        sock = self._transport.get_extra_info("socket")
        return (
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF),
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF),
        )

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    @property
    def in_flight(self) -> int:
        return len(self._pending)

    def send(self, correlation_id: int, request: list[Buffer]) -> asyncio.Future[Frame]:
        """Send a request that will be answered."""
        future = self.queue(correlation_id, request)
        self.push()
        return future

    def queue(self, correlation_id: int, request: list[Buffer]) -> asyncio.Future[Frame]:
        """The same, but it leaves with the next `push` (or the next request that is sent)."""
        if not self.is_open:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"the connection to {self.peer} is closed")
        future: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._pending.append((correlation_id, future))
        self._outbox += request
        return future

    def send_one_way(self, request: list[Buffer]) -> None:
        """Send a request that has no answer (Produce with acks=0)."""
        if self._transport is None:
            raise KafkaError(ErrorCode.NETWORK_EXCEPTION, f"not connected to {self.peer}")
        self._outbox += request
        self.push()

    def push(self) -> None:
        """Send what is queued. Nothing may overtake what the transport still has to write."""
        parts, self._outbox = self._outbox, []
        transport = self._transport
        if transport is None or not parts:
            return
        if self._socket is not None and not transport.get_write_buffer_size():
            parts = self._write_now(self._socket, parts)
        if len(parts) == 1:
            transport.write(parts[0])
        elif parts:
            transport.writelines(parts)

    def _write_now(self, sock: socket.socket, parts: list[Buffer]) -> list[Buffer]:
        """What is left when the kernel takes no more. An error is left to the transport, which meets it again."""
        parts = write_parts(sock.fileno(), parts, 0 if self._impatient else _WRITE_PATIENCE)
        if self._impatient:
            self._impatient -= 1
        elif parts:
            self._impatient = _IMPATIENT_WRITES
        return parts

    def owes(self, correlation_id: int) -> bool:
        """Whether this request has not been answered yet, though perhaps nobody waits for that any more."""
        return any(expected == correlation_id for expected, _ in self._pending)

    async def drain(self) -> None:
        """Wait until the kernel has taken enough of what was sent."""
        await self._writable.wait()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.BufferedProtocol -------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        try:
            tune(transport.get_extra_info("socket"))
            if self._dedicated:
                self._socket = socket.socket(fileno=os.dup(transport.get_extra_info("socket").fileno()))
        except OSError:  # the broker has left again, or there are no descriptors: the connection is lost
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Whoever waits for an answer learns that none will come; whether the request was served, nobody knows."""
        self._transport = None
        self._outbox.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._writable.set()
        reason = f": {error}" if error else ""
        lost = KafkaError(ErrorCode.NETWORK_EXCEPTION, f"{self.peer} closed the connection{reason}{self._suspicion()}")
        lost.__cause__ = error
        pending, self._pending = self._pending, deque()
        for _, future in pending:
            if not future.done():
                future.set_exception(lost)
        if not self.closed.done():
            self.closed.set_result(None)

    def _suspicion(self) -> str:
        """A listener that wants SASL answers ApiVersions, and hangs up on any other request."""
        return "; does this listener want SASL (security.protocol)?" if self._answers == 1 and self._pending else ""

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def get_buffer(self, sizehint: int) -> memoryview:
        """The rest of a large answer is read to its exact end; the next answer begins in the small buffer again."""
        if self._large is not None:
            return self._large[self._large_filled :]
        return self._view[self._filled :]

    def buffer_updated(self, count: int) -> None:
        try:
            if self._large is not None:
                self._large_filled += count
            else:
                self._filled += count
                self._split()
            if self._large is not None:
                self._receive_large(self._large)
        except ProtocolError as error:
            self._fail(error)

    def _receive_large(self, large: memoryview) -> None:
        if self._socket is not None:
            self._receive_rest(self._socket, large)
        if self._large_filled == len(large):
            self._large = None
            self._resolve(large)

    def _receive_rest(self, sock: socket.socket, large: memoryview) -> None:
        """Receive there and then, perhaps in gulps (see `net.gulp`). What is slow or lost is left to the loop, which
        goes on from here, or notices the end of the connection.
        """
        waits, since, start = self._gulp.pays, SYSTEM_CLOCK.monotonic(), self._large_filled
        gulp = _GULP if waits else 1
        self._large_filled = receive_rest(sock.fileno(), large, start, gulp=gulp, patience=_PATIENCE, turn=_TURN)
        if self._large_filled == len(large) >= _TELLING:
            self._gulp.note(waits, len(large) - start, SYSTEM_CLOCK.monotonic() - since)

    # --- frames -------------------------------------------------------------------------------------------------------

    def _split(self) -> None:
        """Take the whole frames out of the receive buffer; what remains moves to its front or to a large buffer."""
        position = 0
        while self._filled - position >= 4:
            size = int.from_bytes(self._view[position : position + 4], "big", signed=True)
            if not 4 <= size <= MAX_FRAME_BYTES:
                raise ProtocolError(f"{self.peer} sent a frame of {size} bytes: is this a Kafka listener?")
            if size >> 16 == _TLS_ALERT and not self._answers:
                raise AnsweredInTls(self.peer)
            end = position + 4 + size
            if end > self._filled:
                if size > _RECEIVE_BYTES - 4:
                    self._start_large(size, position + 4)
                    position = self._filled
                break
            self._resolve(memoryview(bytes(self._view[position + 4 : end])))
            position = end
        rest = self._filled - position
        if position and rest:
            self._buffer[:rest] = self._buffer[position : self._filled]
        self._filled = rest

    def _start_large(self, size: int, position: int) -> None:
        """The answer does not fit the receive buffer: what has come of it is all that is ever copied."""
        large = self._buffers.take(size)
        have = self._filled - position
        large[:have] = self._view[position : self._filled]
        self._large, self._large_filled = large, have

    def _resolve(self, frame: Frame) -> None:
        """Give an answer to the oldest request. One that does not match means that the two sides have lost count.

        Then no later answer can be trusted, and the connection is closed. A request that was given up meanwhile (its
        future is done) still takes its answer out of the queue.
        """
        if not self._pending:
            raise ProtocolError(f"{self.peer} sent an answer that nobody asked for")
        expected, future = self._pending.popleft()
        self._answers += 1
        actual = int.from_bytes(frame[:4], "big", signed=True)
        if actual != expected:
            if not future.done():
                future.set_exception(KafkaError(ErrorCode.NETWORK_EXCEPTION, f"{self.peer} broke the protocol"))
            raise ProtocolError(f"{self.peer} answered request {actual} while {expected} was next")
        if not future.done():
            future.set_result(frame)

    def _fail(self, error: ProtocolError) -> None:
        """The other side does not speak the protocol: the reason reaches every caller before the connection goes."""
        pending, self._pending = self._pending, deque()
        for _, future in pending:
            if not future.done():
                future.set_exception(error)
        self.close()
