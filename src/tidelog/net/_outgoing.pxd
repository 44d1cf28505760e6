from tidelog.net._sendfile_threads cimport SendfileThreads


cdef enum Pumped:
    BROKEN = -1
    DRAINED = 0
    STALLED = 1
    YIELDED = 2
    COLD = 3
    ASIDE = 4


cdef class Outgoing:
    cdef int fd
    cdef object sending
    cdef SendfileThreads threads
    cdef bint waiting
    cdef list items
    cdef Py_ssize_t head
    cdef Py_ssize_t sent
    cdef readonly Py_ssize_t queued
    cdef object probed

    cdef int send(self, const unsigned char* data, Py_ssize_t size) except -2
    cdef int put(self, object item) except -1
    cdef int pump(self) except -2
    cdef void moved(self, Py_ssize_t size)
    cdef bint _goes_aside(self, object item) except -1
    cdef void _wait(self, bint waiting)
    cdef int _send_memory(self) except -2
    cdef int _send_slice(self, object item) except -2
    cdef void _drop_head(self)
    cdef void clear(self)
