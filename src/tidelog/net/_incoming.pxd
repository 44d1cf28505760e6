from tidelog.net._receive cimport ReceiveBuffers

cdef enum Lent:
    NOTHING = 0
    ARENA = 1
    LOAN = 2
    OWN = 3


cdef class Incoming:
    cdef ReceiveBuffers buffers
    cdef int lent
    cdef Py_ssize_t expect
    cdef bytearray own
    cdef unsigned char* own_ptr
    cdef Py_ssize_t end

    cdef bint wants_arena(self) noexcept
    cdef object lend(self, Py_ssize_t max_frame)
    cdef int keep(self, const unsigned char* data, Py_ssize_t size) except -1
    cdef int keep_loan(self, bytearray loan, Py_ssize_t done, Py_ssize_t end) except -1
    cdef int drop_front(self, Py_ssize_t done) except -1
    cdef void drop(self)
    cdef Py_ssize_t _room(self, Py_ssize_t max_frame) except -1
    cdef int _grow(self, Py_ssize_t size) except -1
