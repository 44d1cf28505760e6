from libc.stdint cimport uint8_t

from tidelog.net._connection cimport ServerConnection


cdef class Taker:
    cdef readonly Py_ssize_t taken
    cdef readonly Py_ssize_t pending

    cdef int take(self, ServerConnection connection, bytearray owner, uint8_t* base, Py_ssize_t position,
                  Py_ssize_t size) except -1
    cdef int flush(self) except -1
