"""Receive memory, shared by all connections of one event loop.

An idle connection owns no receive buffer. Between the moment when the event loop asks a connection where to read to,
and the moment when it tells how much came, no other connection runs: so one buffer can be lent to each in turn.

    arena   where small requests land, one read event behind the other, until the sink has dealt with all of them at
            the end of the loop's turn. They lie in one buffer, so that the batches of many connections go to the log in
            one write.
    loan    one larger buffer, lent to a connection whose last request was large: the next one lands in it whole.
    pool    buffers that connections with half a frame own until the frame is whole. At most `pool_limit` bytes
            are kept for re-use, which saves the page faults of fresh memory.

While `held`, no connection looks at another request: too many are under way (queued.max.requests).
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE

from tidelog.net._framing cimport LARGE, ROOM

cdef Py_ssize_t SMALLEST = 64 << 10
cdef Py_ssize_t LARGEST_CLASS = (1 << 20) + (128 << 10)


cdef class ReceiveBuffers:
    def __cinit__(self, Py_ssize_t arena_size=1 << 20, Py_ssize_t pool_limit=16 << 20):
        self.arena = bytearray(arena_size)
        self.arena_ptr = <unsigned char*>PyByteArray_AS_STRING(self.arena)
        self.arena_size = arena_size
        self.position = 0
        self.loan = None
        self.pool = []
        self.pool_bytes = 0
        self.pool_limit = pool_limit

    cdef bint nearly_full(self) noexcept:
        """Whether the arena has no room for another read that is worth it."""
        return self.arena_size - self.position < ROOM + LARGE

    cdef bytearray take(self, Py_ssize_t size):
        """A buffer of at least `size` bytes that is now the caller's."""
        cdef Py_ssize_t index, have
        cdef bytearray buffer
        for index in range(len(self.pool) - 1, -1, -1):
            buffer = <bytearray>self.pool[index]
            have = PyByteArray_GET_SIZE(buffer)
            if size <= have <= 4 * size or have == SMALLEST >= size:
                del self.pool[index]
                self.pool_bytes -= have
                return buffer
        if size <= SMALLEST:
            size = SMALLEST
        elif size <= 256 << 10:
            size = 256 << 10
        elif size <= LARGEST_CLASS:
            size = LARGEST_CLASS
        return bytearray(size)

    cdef void give(self, bytearray buffer):
        """The caller needs it no more."""
        cdef Py_ssize_t size = PyByteArray_GET_SIZE(buffer)
        if self.pool_bytes + size <= self.pool_limit:
            self.pool.append(buffer)
            self.pool_bytes += size

    cdef bytearray borrow(self, Py_ssize_t size):
        """The loan, made large enough; it stays shared until the connection takes it (`loan = None`)."""
        if self.loan is None or PyByteArray_GET_SIZE(self.loan) < size:
            if self.loan is not None:
                self.give(self.loan)
            self.loan = self.take(size)
        return self.loan
