"""Where all frames of all connections arrive: each is offered to the taker of its API, and else goes the long way.

This file reads two bytes of a frame, the API key. What a request means is known to the `Taker` that was registered for
its API (`handlers/takers.py`), or to the dispatcher.

Kafka promises that a connection's requests are answered in the order in which they came. Most of that comes from the
connection, which shows a later frame only when the one before is answered or noted. What is left for this file: some
takers note frames and deal with them later, all at once. So

    - while one taker holds noted frames, frames of any other kind wait until it was flushed;
    - it is flushed at the end of the event loop's turn at the latest: with 64 producers on as many connections, whose
      requests were all readable in one turn, the log is written to once per partition, not 64 times;
    - a connection flushes as well, before it uses the receive memory again (`FrameSink.pending`).
"""

from libc.stdint cimport int16_t, uint8_t
from libc.string cimport memcpy

from tidelog.broker.requests._reader cimport HEADER_SIZE, api_key
from tidelog.broker.requests._taker cimport Taker
from tidelog.net._connection cimport FrameSink, ServerConnection

from tidelog.common.errors import ProtocolError

cdef enum:
    APIS = 128                  # more than there are


cdef class RequestSink(FrameSink):
    """`dispatcher` takes what no taker takes: `on_request(connection, frame: bytearray)`.

    With `hot=False` no taker is asked: tests compare the two forms of an API so.
    """

    cdef object dispatcher
    cdef object loop
    cdef list takers
    cdef Taker gathering        # who holds noted frames; None when `pending` is 0
    cdef bint scheduled
    cdef public bint hot

    def __init__(self, dispatcher, loop, *, bint hot=True):
        self.dispatcher = dispatcher
        self.loop = loop
        self.hot = hot
        self.takers = [None] * APIS

    def set_takers(self, takers):
        """From now on requests of these APIs are offered to their takers first."""
        cdef int key
        cdef Taker taker
        for key, taker in takers.items():
            if not 0 <= key < APIS:
                raise ValueError(f"{key} is the key of no API")
            self.takers[key] = taker

    def taker(self, int key):
        """Who was registered for this API, if anybody."""
        return self.takers[key]

    def taken(self):
        """How many requests did not go the long way, by API key."""
        return {key: (<Taker>taker).taken for key, taker in enumerate(self.takers) if taker is not None}

    def on_lost(self, connection):
        self.dispatcher.on_lost(connection)

    cdef int frame(self, ServerConnection connection, bytearray owner, unsigned char* base,
                   Py_ssize_t position, Py_ssize_t size) except -1:
        cdef int16_t key
        cdef Taker taker = None
        if size < HEADER_SIZE:
            raise ProtocolError(f"a request of {size} bytes has no room for its header")
        key = api_key(base + position)
        if self.hot and 0 <= key < APIS:
            taker = <Taker>self.takers[key]
            # Who holds noted frames may note another one behind them. (Nobody does: `gathering` is None, and so is the
            # taker of an API that has none: those are told apart below.)
            if taker is self.gathering and taker is not None:
                if taker.take(connection, owner, base, position, size):
                    self.pending = taker.pending
                    return 0
                taker = None    # it has seen the frame: it is not asked again
        if self.pending:
            self.flush()
            if connection.is_closing():
                return 0
        if taker is not None and taker.take(connection, owner, base, position, size):
            if taker.pending:
                self.gather(taker)
            return 0
        self.dispatcher.on_request(connection, copied(base + position, size))
        return 0

    cdef int gather(self, Taker taker) except -1:
        """The first frame was noted: see to it that it is dealt with in this turn of the event loop."""
        self.gathering = taker
        self.pending = taker.pending
        if not self.scheduled:
            self.scheduled = True
            self.loop.call_soon(self._on_turn)
        return 0

    def _on_turn(self):
        self.scheduled = False
        self.flush()

    cdef int flush(self) except -1:
        """Nobody gathers any more when the taker is told to flush: whom it wakes may bring frames at once."""
        cdef Taker taker = self.gathering
        if taker is not None:
            self.gathering = None
            self.pending = 0
            taker.flush()
        return 0


cdef bytearray copied(const uint8_t* data, Py_ssize_t size):
    """The long way may take time: it gets a copy of its own, writable so that batches can be stamped in place."""
    cdef bytearray copy = bytearray(size)
    memcpy(<char*>copy, data, size)
    return copy
