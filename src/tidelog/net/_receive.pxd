cdef class ReceiveBuffers:
    cdef bytearray arena
    cdef unsigned char* arena_ptr
    cdef Py_ssize_t arena_size
    cdef Py_ssize_t position
    cdef bytearray loan
    cdef list pool
    cdef Py_ssize_t pool_bytes
    cdef Py_ssize_t pool_limit
    cdef public bint held

    cdef bint nearly_full(self) noexcept
    cdef bytearray take(self, Py_ssize_t size)
    cdef void give(self, bytearray buffer)
    cdef bytearray borrow(self, Py_ssize_t size)
