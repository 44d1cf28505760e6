"""The server side of one connection: bytes in, frames to a sink, answers back in order.

What it is made of, each in a file of its own:

    _incoming        receiving: the memory that the loop reads into
    _framing         where one frame ends and the next begins
    _back_pressure   whether the next frame is looked at, and whether the socket is read: a table of states
    _sending         how answers leave: plain text (`_socket_sending`), later TLS

The order of events, for one read event: the loop asks where to read to (`get_buffer`) and says how much came
(`buffer_updated`); all whole frames of it are handed to the front, in order, before anything is sent; their answers
leave in one write. What is left of a frame is kept. A sink that cannot answer at once calls `begin()`; until
`finish(...)` no later frame is looked at.

Bytes that are no frame close this connection alone, with one log line that says who and why.
"""

import logging

from cpython.bytearray cimport PyByteArray_AS_STRING

from tidelog.common.errors import ProtocolError
from tidelog.net._back_pressure cimport (
    BEGIN, BUSY, CLOSE, CORK, FINISH, LOOK, RESUME, SEND, STALLED, UNCORK, BackPressure, closing, move,
)
from tidelog.net._framing cimport INCOMPLETE, NO_FRAME, PREFIX, expected_after, frame_at, length_at
from tidelog.net._incoming cimport ARENA, LOAN, NOTHING, Incoming
from tidelog.net._receive cimport ReceiveBuffers
from tidelog.net._sending cimport Sending, TransportSending
from tidelog.net._sending import release
from tidelog.net._socket_sending cimport SocketSending
from tidelog.net.tuning import tune

logger = logging.getLogger("tidelog.net")


cdef class FrameSink:
    """Who deals with frames. `pending` counts those whose bytes must stay where they are until `flush`.

    There is one for all connections of a loop, so that what comes in on many can be dealt with at once; a connection
    may have another one in front of it (`ServerConnection.set_front`).
    """

    cdef int frame(self, ServerConnection connection, bytearray owner, unsigned char* base,
                   Py_ssize_t position, Py_ssize_t size) except -1:
        """Take one frame (without its length): `size` bytes at `base + position`, in the buffer `owner`."""
        self.on_frame(connection, bytes(owner[position:position + size]))
        return 0

    cdef int flush(self) except -1:
        """Deal with all pending frames; their memory is re-used afterwards."""
        return 0

    def on_frame(self, connection, frame):
        """The same for sinks written in Python."""
        raise NotImplementedError

    def on_lost(self, connection):
        """The connection is gone; a request in work may be given up."""


cdef class ServerConnection:
    """asyncio's BufferedProtocol, duck-typed: uvloop looks for `get_buffer`. (asyncio does not; the broker refuses it.)

    `session` is whatever the listener's owner hangs on it when the connection is admitted.
    """

    def __init__(self, listener, FrameSink sink not None, ReceiveBuffers buffers not None, loop, Py_ssize_t max_frame):
        self.listener = listener
        self.sink = self.front = sink
        self.buffers = buffers
        self.loop = loop
        self.max_frame = max_frame
        self.flow = BackPressure(buffers)
        self.incoming = Incoming(buffers)

    # -- what others may know -----------------------------------------------------------------------------------------

    @property
    def closing(self):
        return closing(self.flow)

    @property
    def busy(self):
        """Whether a request is in work."""
        return self.flow.state & BUSY != 0

    @property
    def stalled(self):
        """Whether answers wait: mostly for the other side to take those before them."""
        return self.flow.state & STALLED != 0

    @property
    def conditions(self):
        """The state, as the names of `_flow.h`."""
        return self.flow.conditions

    @property
    def writes(self):
        """How often the other side made room for answers that had to wait."""
        return self.sending.writes if self.sending is not None else 0

    cdef bint is_closing(self) noexcept:
        """`closing`, for compiled code."""
        return closing(self.flow)

    # -- life ---------------------------------------------------------------------------------------------------------

    def connection_made(self, transport):
        cdef object sock = transport.get_extra_info("socket")
        name = transport.get_extra_info("peername")
        self.transport = transport
        self.flow.give_transport(transport)
        self.client_host = name[0] if isinstance(name, tuple) else "local"
        self.peer = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "local"
        if transport.get_extra_info("ssl_object") is None and sock is not None:
            self.sending = SocketSending(
                self, self.flow, self.loop, self.listener.in_thread, sock.fileno(), self.listener.sendfile_threads
            )
            try:
                tune(sock)
            except OSError:  # who knocked has gone again: nothing to say, and nobody to say it to
                move(self.flow, CLOSE)
        else:
            self.sending = TransportSending(self, self.flow, transport)
        self.listener.on_made(self)

    def connection_lost(self, error):
        """Nothing stays behind: what was queued is released, memory and descriptors go back, and all are told."""
        move(self.flow, CLOSE)
        self.sending.stop()
        self.incoming.drop()
        if self.front is not self.sink:
            self.front.on_lost(self)
        self.sink.on_lost(self)
        self.listener.on_lost(self)
        self.flow.give_transport(None)
        self.transport = None

    def eof_received(self):
        return None

    def set_front(self, FrameSink front):
        """Hand the frames from the next one on to `front`; None for the sink that all connections share.

        A front stands before the sink as long as not everything may be served, and costs nothing once it is gone. It
        keeps no frame's bytes (its `pending` is not looked at: the shared memory is the sink's to guard). What the sink
        has noted of this connection is answered before the front says anything.
        """
        if self.sink.pending:
            self.sink.flush()
        self.front = self.sink if front is None else front

    def close(self, reason=None):
        """Close at once; with a reason, say in one line who and why."""
        if not move(self.flow, CLOSE):
            return
        if reason is not None:
            logger.warning("closed %s on %s: %s", self.peer, self.listener.name, reason)
        if self.transport is not None:
            self.transport.abort()

    # -- bytes in -----------------------------------------------------------------------------------------------------

    def get_buffer(self, Py_ssize_t hint):
        """Where the loop is to read to. Frames that wait in the arena are not written over."""
        if self.incoming.wants_arena():
            if not self.sink.pending:
                self.buffers.position = 0
            elif self.buffers.nearly_full():
                self.sink.flush()
                self.buffers.position = 0
        return self.incoming.lend(self.max_frame)

    def buffer_updated(self, Py_ssize_t count):
        cdef ReceiveBuffers buffers = self.buffers
        cdef Incoming incoming = self.incoming
        cdef Py_ssize_t end, done
        cdef int lent = incoming.lent
        cdef bytearray loan
        incoming.lent = NOTHING
        self.reads += 1
        if closing(self.flow):
            return
        if lent == ARENA:
            end = buffers.position + count
            done = self._split(buffers.arena, buffers.arena_ptr, buffers.position, end)
            if self.sink.pending:  # also if this connection is closed: what was noted of it will be dealt with
                buffers.position = (done + 63) & ~63
            if closing(self.flow):
                return
            if done < end:
                incoming.keep(buffers.arena_ptr + done, end - done)
        elif lent == LOAN:
            loan = buffers.loan
            self.sink.flush()
            done = self._split(loan, <unsigned char*>PyByteArray_AS_STRING(loan), 0, count)
            self.sink.flush()
            if done < count and not closing(self.flow):
                incoming.keep_loan(loan, done, count)
        else:
            incoming.end += count
            self._split_own()
        if self.flow.after_read(count, incoming.own is not None):
            self.loop.call_soon(self.resume)

    cdef int _split_own(self) except -1:
        """Split what is kept; what is then left is kept on."""
        cdef Incoming incoming = self.incoming
        cdef bytearray own = incoming.own
        cdef Py_ssize_t done
        self.sink.flush()
        done = self._split(own, incoming.own_ptr, 0, incoming.end)
        self.sink.flush()
        if closing(self.flow) or incoming.own is not own:
            return 0
        return incoming.drop_front(done)

    cdef Py_ssize_t _split(self, bytearray owner, unsigned char* base, Py_ssize_t start, Py_ssize_t end) except -1:
        """Hand all whole frames of [start, end) on and send their answers; returns where the rest begins."""
        move(self.flow, CORK)
        try:
            self._hand_on(owner, base, &start, end)
        except ProtocolError as error:
            self.sink.flush()
            self.close(str(error))
        except Exception:
            logger.exception("closed %s on %s: a request could not be taken", self.peer, self.listener.name)
            self.close()
        finally:
            move(self.flow, UNCORK)
        if closing(self.flow):
            return end
        if move(self.flow, SEND):
            self.sending.drive()
        return start

    cdef int _hand_on(self, bytearray owner, unsigned char* base, Py_ssize_t* start, Py_ssize_t end) except -1:
        """The frames one by one, as long as nothing is in the way; the front is looked up for each."""
        cdef Py_ssize_t size
        while move(self.flow, LOOK):
            size = frame_at(base + start[0], end - start[0], self.max_frame)
            if size == INCOMPLETE:
                return 0
            if size == NO_FRAME:
                raise ProtocolError(f"a frame of {length_at(base + start[0])} bytes, {self.max_frame} are allowed "
                                    "(socket.request.max.bytes, or sasl.server.max.receive.size before authentication)")
            self.front.frame(self, owner, base, start[0] + PREFIX, size)
            start[0] += PREFIX + size
            self.incoming.expect = expected_after(size)
        return 0

    # -- one request at a time ----------------------------------------------------------------------------------------

    def begin(self):
        """A request is in work and will be answered later: look at no other frame until `finish`."""
        if not move(self.flow, BEGIN) and not closing(self.flow):
            raise RuntimeError("a request of this connection is in work already")

    def finish(self, segments=None):
        """The request in work is done: send its answer (if it has one), go on with what arrived meanwhile."""
        if not move(self.flow, FINISH) and not closing(self.flow):
            raise RuntimeError("no request of this connection is in work")
        if segments is not None:
            self.write(segments)
        self.resume()

    def resume(self):
        """Go on with what arrived meanwhile, if nothing stands against it."""
        if not move(self.flow, RESUME):
            return
        if self.incoming.own is not None and self.incoming.end >= PREFIX:
            self._split_own()
        self.flow.read_on()

    # -- answers out --------------------------------------------------------------------------------------------------

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1:
        """Send from memory that the caller re-uses afterwards."""
        if closing(self.flow):
            return 0
        return self.sending.send(data, size)

    def write(self, segments):
        """Queue an answer: a list of bytes and file slices. Within a read event it is sent at the end of it."""
        if closing(self.flow):
            release(segments)
            return
        self.sending.put(segments)
        if move(self.flow, SEND):
            self.sending.drive()

    # A transport that encrypts has a buffer of its own and says so when it is full.

    def pause_writing(self):
        (<TransportSending?>self.sending).pause_writing()

    def resume_writing(self):
        (<TransportSending?>self.sending).resume_writing()
