from libc.stdint cimport int64_t


cdef class SendfileThreads:
    cdef list idle
    cdef readonly list threads
    cdef object loop
    cdef readonly int room
    cdef int pipe_read
    cdef int pipe_write
    cdef readonly int waiting

    cdef bint take(self, object sending, object item, int fd, int64_t position, Py_ssize_t size) except -1
