"""The server side of one connection: bytes in, frames out, answers back in order.

The event loop reads into memory that this class lends it (`get_buffer`, see `_receive`) and reports how much came
(`buffer_updated`). All whole frames of that read event are handed to the `FrameSink`, in order, before anything is sent;
their answers leave in one write.

Order and back-pressure come from one rule, which is Apache Kafka's: **one request of a connection is in work at a time.**
A sink that cannot answer at once calls `begin()`; until `finish(...)` no later frame of this connection is looked at. The same
holds while the socket does not take the answers. What arrives meanwhile is kept, and after one read event reading
stops: a client that does not read, or sends without end, cannot make memory grow.

Bytes that are no frame close this connection alone, with one log line that says who and why.
"""

import logging
import os

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_WRITE
from libc.stdint cimport uint32_t
from libc.string cimport memcpy, memmove

from tidelog.common.errors import ProtocolError
from tidelog.net._outgoing cimport ASIDE, BROKEN, COLD, DRAINED, STALLED, YIELDED, Outgoing
from tidelog.net._outgoing import warm
from tidelog.net._receive cimport ReceiveBuffers
from tidelog.net.descriptors import is_scarce
from tidelog.net.tuning import tune

cdef extern from "tidelog/net/_socket.h" nogil:
    uint32_t tl_be32(const unsigned char* p)

cdef enum Lent:
    NOTHING = 0
    ARENA = 1
    LOAN = 2
    OWN = 3

# A frame from this size on is read exactly to its end, into memory of its own: nothing of it is copied again.
cdef Py_ssize_t LARGE = 128 << 10
# Memory for a frame grows with the bytes that really came: a length field alone allocates no more than this.
cdef Py_ssize_t TRUSTED = 1 << 20
# Memory above this is given back with the frame that needed it, even if the next frame has come in part.
cdef Py_ssize_t LARGEST_LOAN = 16 << 20
# The least room worth a read.
cdef Py_ssize_t ROOM = 16 << 10
# A connection that sends faster than we work gives the others their turn after this many bytes.
cdef Py_ssize_t TURN = 4 << 20

logger = logging.getLogger("tidelog.net")


cdef class FrameSink:
    """Who deals with frames. `pending` counts those whose bytes must stay where they are until `flush`."""

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
    """asyncio's BufferedProtocol, duck-typed: uvloop looks for `get_buffer`. (asyncio does not; the broker refuses it.)"""

    def __init__(self, listener, FrameSink sink, ReceiveBuffers buffers, loop, Py_ssize_t max_frame):
        self.listener = listener
        self.sink = self.front = sink
        self.buffers = buffers
        self.loop = loop
        self.max_frame = max_frame
        self.fd = -1
        self.writer_fd = -1

    # -- life ---------------------------------------------------------------------------------------------------------

    def connection_made(self, transport):
        cdef object sock = transport.get_extra_info("socket")
        name = transport.get_extra_info("peername")
        self.transport = transport
        self.client_host = name[0] if isinstance(name, tuple) else "local"
        self.peer = f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "local"
        if transport.get_extra_info("ssl_object") is None and sock is not None:
            self.fd = sock.fileno()
            self.outgoing = Outgoing(self.fd, self, self.listener.senders)
            try:
                tune(sock)
            except OSError:  # who knocked has gone again: nothing to say, and nobody to say it to
                self.closing = True
        self.listener.on_made(self)

    def connection_lost(self, error):
        self.closing = True
        self._disarm()
        self.fd = -1
        if self.outgoing is not None:
            self.outgoing.clear()
        self._drop_own()
        if self.front is not self.sink:
            self.front.on_lost(self)
        self.sink.on_lost(self)
        self.listener.on_lost(self)
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
        if self.closing:
            return
        if reason is not None:
            logger.warning("closed %s on %s: %s", self.peer, self.listener.name, reason)
        self.closing = True
        if self.transport is not None:
            self.transport.abort()

    # -- receiving ----------------------------------------------------------------------------------------------------

    def get_buffer(self, Py_ssize_t hint):
        cdef Py_ssize_t size
        cdef ReceiveBuffers buffers = self.buffers
        if self.own is not None:
            size = self._room()
            self.lent = OWN
            return PyMemoryView_FromMemory(<char*>self.own_ptr + self.end, size, PyBUF_WRITE)
        if self.expect:
            self.lent = LOAN
            return PyMemoryView_FromMemory(PyByteArray_AS_STRING(buffers.borrow(self.expect)), self.expect, PyBUF_WRITE)
        if not self.sink.pending:
            buffers.position = 0
        elif buffers.arena_size - buffers.position < ROOM + LARGE:
            self.sink.flush()
            buffers.position = 0
        self.lent = ARENA
        size = buffers.arena_size - buffers.position
        if size > 2 * LARGE:
            size = 2 * LARGE
        return PyMemoryView_FromMemory(<char*>buffers.arena_ptr + buffers.position, size, PyBUF_WRITE)

    def buffer_updated(self, Py_ssize_t count):
        cdef ReceiveBuffers buffers = self.buffers
        cdef Py_ssize_t start, end, done
        cdef int lent = self.lent
        cdef bytearray loan
        cdef unsigned char* base
        self.lent = NOTHING
        self.reads += 1
        if self.closing:
            return
        if lent == ARENA:
            start = buffers.position
            end = start + count
            done = self._split(buffers.arena, buffers.arena_ptr, start, end)
            if self.closing:
                return
            if done < end:
                self._keep(buffers.arena_ptr + done, end - done)
            if self.sink.pending:
                buffers.position = (done + 63) & ~63
        elif lent == LOAN:
            loan = buffers.loan
            base = <unsigned char*>PyByteArray_AS_STRING(loan)
            self.sink.flush()
            done = self._split(loan, base, 0, count)
            self.sink.flush()
            if done < count and not self.closing:
                if buffers.loan is loan:
                    buffers.loan = None
                self.own, self.own_ptr = loan, base
                self.end = count - done
                if done:
                    memmove(base, base + done, self.end)
        else:
            self.end += count
            self._consume_own()
        if self.blocked() and not self.paused and not self.closing and self.own is not None:
            self.paused = True
            self.transport.pause_reading()
        else:
            self.turn_bytes += count
            if self.turn_bytes > TURN and not self.closing and not self.paused:
                self.turn_bytes = 0
                self.paused = True
                self.transport.pause_reading()
                self.loop.call_soon(self.resume)

    cdef Py_ssize_t _split(self, bytearray owner, unsigned char* base, Py_ssize_t start, Py_ssize_t end) except -1:
        """Hand all whole frames of [start, end) to the sink; returns where the rest begins."""
        cdef Py_ssize_t size
        self.corked = True
        try:
            while end - start >= 4 and not self.blocked():
                size = <int>tl_be32(base + start)
                if size < 0 or size > self.max_frame:
                    raise ProtocolError(f"a frame of {size} bytes, {self.max_frame} are allowed (socket.request.max.bytes, "
                                        "or sasl.server.max.receive.size before authentication)")
                if end - start - 4 < size:
                    break
                self.front.frame(self, owner, base, start + 4, size)
                start += 4 + size
                if LARGE <= size <= LARGEST_LOAN:
                    self.expect = size + 4
                elif self.expect:
                    self.expect = 0
                if self.closing:
                    return end
        except ProtocolError as error:
            self.sink.flush()
            self.close(str(error))
            return end
        except Exception:
            logger.exception("closed %s on %s: a request could not be taken", self.peer, self.listener.name)
            self.close()
            return end
        finally:
            self.corked = False
        if self.outgoing is not None and self.outgoing.items is not None and not self.armed:
            self._drive()
        return start

    cdef int _consume_own(self) except -1:
        """Split what lies in the connection's own memory; keep the rest at its front."""
        cdef Py_ssize_t done
        cdef bytearray own = self.own
        cdef unsigned char* base = self.own_ptr
        self.sink.flush()
        done = self._split(own, base, 0, self.end)
        self.sink.flush()
        if self.closing or self.own is not own:
            return 0
        if done == self.end:
            self._drop_own()
        elif done:
            self.end -= done
            if PyByteArray_GET_SIZE(own) > LARGEST_LOAN and self.end < TRUSTED:
                self.own = None
                self._keep(base + done, self.end)
                self.buffers.give(own)
            else:
                memmove(base, base + done, self.end)
        return 0

    cdef int _keep(self, const unsigned char* data, Py_ssize_t size) except -1:
        """Half a frame is left in shared memory: it moves to memory of the connection's own."""
        cdef Py_ssize_t need = 0
        if self.own is not None:
            if PyByteArray_GET_SIZE(self.own) - self.end < size:
                self._grow(self.end + size)
        else:
            if size >= 4:
                need = 4 + <int>tl_be32(data)
                if need < LARGE:
                    need = 8 * need
                if need > TRUSTED + 4:
                    need = TRUSTED + 4
            self.own = self.buffers.take(max(need, size))
            self.own_ptr = <unsigned char*>PyByteArray_AS_STRING(self.own)
            self.end = 0
        memcpy(self.own_ptr + self.end, data, size)
        self.end += size
        return 0

    cdef Py_ssize_t _room(self) except -1:
        """Make room behind the bytes that are there; returns how many to read."""
        cdef Py_ssize_t have = PyByteArray_GET_SIZE(self.own)
        cdef Py_ssize_t need = 4 + <int>tl_be32(self.own_ptr) if self.end >= 4 else 0
        if need >= LARGE and need > self.end and need <= self.max_frame + 4:
            if have < need and have - self.end < ROOM:
                self._grow(min(need, max(TRUSTED, 2 * have)))
                have = PyByteArray_GET_SIZE(self.own)
            return min(need, have) - self.end
        if have - self.end < ROOM:
            self._grow(2 * have)
            have = PyByteArray_GET_SIZE(self.own)
        return have - self.end

    cdef int _grow(self, Py_ssize_t size) except -1:
        cdef bytearray old = self.own
        self.own = self.buffers.take(size)
        self.own_ptr = <unsigned char*>PyByteArray_AS_STRING(self.own)
        memcpy(self.own_ptr, PyByteArray_AS_STRING(old), self.end)
        self.buffers.give(old)
        return 0

    cdef void _drop_own(self):
        if self.own is not None:
            self.buffers.give(self.own)
            self.own = None
            self.own_ptr = NULL
            self.end = 0

    # -- one request at a time ----------------------------------------------------------------------------------------

    cdef bint blocked(self):
        return self.busy or self.armed or self.buffers.held

    def begin(self):
        """A request is in work and will be answered later: look at no other frame until `finish`."""
        self.busy = True

    def finish(self, segments=None):
        """The request in work is done: send its answer (if it has one), go on with what arrived meanwhile."""
        self.busy = False
        if self.closing:
            if segments is not None:
                release(segments)
            return
        if segments is not None:
            self.write(segments)
        if not self.corked:
            self.resume()

    def resume(self):
        """Go on with what arrived meanwhile, if nothing stands against it."""
        if self.closing or self.blocked():
            return
        if self.own is not None and self.end >= 4:
            self._consume_own()
        if self.paused and not self.closing and not self.blocked():
            self.paused = False
            self.turn_bytes = 0
            self.transport.resume_reading()

    # -- sending ------------------------------------------------------------------------------------------------------

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -1:
        """Send from memory that the caller re-uses afterwards."""
        if self.closing:
            return 0
        if self.outgoing is None:
            self.transport.write((<char*>data)[:size])
            return 0
        return self._pumped(self.outgoing.send(data, size))

    def write(self, segments):
        """Queue an answer: a list of bytes and file slices. Within a read event it is sent at the end of it."""
        if self.closing:
            release(segments)
            return
        if self.outgoing is None:
            for segment in segments:
                if isinstance(segment, (bytes, bytearray, memoryview)):
                    self.transport.write(segment)
                else:
                    self.transport.write(segment.read())
                    segment.release()
            return
        for segment in segments:
            self.outgoing.put(segment)
        if not self.corked and not self.armed:
            self._drive()

    cdef int _drive(self) except -1:
        return self._pumped(self.outgoing.pump())

    cdef int _pumped(self, int outcome) except -1:
        """What follows from how far the queue got."""
        if outcome == DRAINED:
            self._disarm()
        elif outcome == STALLED or outcome == YIELDED:
            if not self.armed:
                self.armed = True
                if self.writer_fd < 0:
                    try:
                        self.writer_fd = os.dup(self.fd)
                    except OSError as error:  # no descriptors left: it could not be told when to send on
                        self.close(f"its answer cannot be sent: {error}")
                        return 0
                    if is_scarce(self.writer_fd):
                        self.close("its answer cannot be sent: few descriptors are left (ulimit -n)")
                        return 0
                self.loop.add_writer(self.writer_fd, self._writable)
        elif outcome == COLD or outcome == ASIDE:
            if self.writer_fd >= 0 and self.armed:
                self.loop.remove_writer(self.writer_fd)
            self.armed = True
            if outcome == COLD:
                self.listener.in_thread(self._warm_head(), self._warmed)
        else:
            self.closing = True
            self.transport.abort()
        return 0

    def _warm_head(self):
        item, position, size = self.outgoing.probed
        item.retain()
        file = item.fileno()

        def bring_in():
            try:
                return warm(file, position, size)
            finally:
                self.loop.call_soon_threadsafe(item.release)

        return bring_in

    def _warmed(self):
        self.armed = False
        self._writable()

    def sent_aside(self, Py_ssize_t moved, bint broken):
        """A thread has sent so much of the slice at the head of the queue."""
        if self.closing:
            return
        self.armed = False
        self.outgoing.moved(moved)
        if broken:
            self._pumped(BROKEN)
        elif self.outgoing.items is None:
            self._disarm()
            self.resume()
        else:
            self._writable()

    def _writable(self):
        if self.closing or self.outgoing.items is None:
            return
        self.writes += 1
        cdef int outcome = self.outgoing.pump()
        if not self.armed or (outcome != STALLED and outcome != YIELDED):
            self._pumped(outcome)
        if not self.blocked():
            self.resume()

    def _disarm(self):
        self.armed = False
        if self.writer_fd >= 0:
            self.loop.remove_writer(self.writer_fd)
            os.close(self.writer_fd)
            self.writer_fd = -1

    # A TLS transport has a buffer of its own and says so when it is full.

    def pause_writing(self):
        self.armed = True

    def resume_writing(self):
        self.writes += 1
        self.armed = False
        self.resume()


def release(segments):
    """Give up the file slices of an answer that will not be sent."""
    for segment in segments:
        if not isinstance(segment, (bytes, bytearray, memoryview)):
            segment.release()
