"""Where one connection's bytes land: receiving.

The loop asks for memory before it reads (`lend`) and says afterwards how much came. Which of the three kinds of memory
it is given (`_receive`) follows from what came before:

    nothing is kept, the last frame was small     the arena: many connections' small requests lie side by side
    nothing is kept, the last frame was large     the loan, as large as that one: most likely the next lands in it whole
    a part of a frame is kept                     `own`, behind that part

A part of a frame that is left in shared memory moves to `own` at the end of the read event, since the memory is lent to
the next connection. `own` grows with what has really come, so that a length field alone buys no memory. When the frame
is whole and dealt with, `own` goes back to the pool: an idle connection has none.

The bytes that are kept always begin with a frame's length.
"""

from cpython.buffer cimport PyBUF_WRITE
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.string cimport memcpy, memmove

from tidelog.net._framing cimport LARGE, LARGEST_LOAN, PREFIX, ROOM, TRUSTED, length_at


cdef class Incoming:
    def __init__(self, ReceiveBuffers buffers not None):
        self.buffers = buffers

    cdef bint wants_arena(self) noexcept:
        """Whether the next read goes to the memory in which frames of all connections wait to be dealt with."""
        return self.own is None and not self.expect

    cdef object lend(self, Py_ssize_t max_frame):
        """Memory for the next read. In the arena: from its position on, which the caller has seen to."""
        cdef ReceiveBuffers buffers = self.buffers
        cdef Py_ssize_t size
        if self.own is not None:
            size = self._room(max_frame)
            self.lent = OWN
            return PyMemoryView_FromMemory(<char*>self.own_ptr + self.end, size, PyBUF_WRITE)
        if self.expect:
            self.lent = LOAN
            return PyMemoryView_FromMemory(PyByteArray_AS_STRING(buffers.borrow(self.expect)), self.expect, PyBUF_WRITE)
        self.lent = ARENA
        size = min(buffers.arena_size - buffers.position, 2 * LARGE)
        return PyMemoryView_FromMemory(<char*>buffers.arena_ptr + buffers.position, size, PyBUF_WRITE)

    cdef int keep(self, const unsigned char* data, Py_ssize_t size) except -1:
        """Half a frame is left in the arena: it moves to memory of the connection's own."""
        cdef Py_ssize_t need = 0
        if self.own is not None:
            if PyByteArray_GET_SIZE(self.own) - self.end < size:
                self._grow(self.end + size)
        else:
            if size >= PREFIX:
                need = PREFIX + length_at(data)
                if need < LARGE:
                    need = 8 * need
                if need > TRUSTED + PREFIX:
                    need = TRUSTED + PREFIX
            self.own = self.buffers.take(max(need, size))
            self.own_ptr = <unsigned char*>PyByteArray_AS_STRING(self.own)
            self.end = 0
        memcpy(self.own_ptr + self.end, data, size)
        self.end += size
        return 0

    cdef int keep_loan(self, bytearray loan, Py_ssize_t done, Py_ssize_t end) except -1:
        """Half a frame is left in the loan: the loan becomes the connection's own, so that nothing large is copied."""
        if self.buffers.loan is loan:
            self.buffers.loan = None
        self.own = loan
        self.own_ptr = <unsigned char*>PyByteArray_AS_STRING(loan)
        self.end = end - done
        if done:
            memmove(self.own_ptr, self.own_ptr + done, self.end)
        return 0

    cdef int drop_front(self, Py_ssize_t done) except -1:
        """The first `done` bytes of `own` are dealt with: the rest moves to its front, or to smaller memory."""
        cdef bytearray own = self.own
        cdef unsigned char* base = self.own_ptr
        if done == self.end:
            self.drop()
        elif done:
            self.end -= done
            if PyByteArray_GET_SIZE(own) > LARGEST_LOAN and self.end < TRUSTED:
                self.own = None
                self.keep(base + done, self.end)
                self.buffers.give(own)
            else:
                memmove(base, base + done, self.end)
        return 0

    cdef void drop(self):
        """Nothing is kept, or nobody wants it any more."""
        if self.own is not None:
            self.buffers.give(self.own)
            self.own = None
            self.own_ptr = NULL
            self.end = 0

    cdef Py_ssize_t _room(self, Py_ssize_t max_frame) except -1:
        """Make room behind the bytes that are there; returns how many to read.

        Of a large frame exactly the rest is read, so that the next frame begins in fresh memory and this one can be
        handed on as it lies. An impossible length gets no memory: the splitting refuses it when the read is done.
        """
        cdef Py_ssize_t have = PyByteArray_GET_SIZE(self.own)
        cdef Py_ssize_t need = PREFIX + length_at(self.own_ptr) if self.end >= PREFIX else 0
        if need >= LARGE and need > self.end and need <= max_frame + PREFIX:
            if have < need and have - self.end < ROOM:
                self._grow(min(need, max(<Py_ssize_t>TRUSTED, 2 * have)))
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
