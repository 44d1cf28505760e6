from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t


cdef class Writer:
    cdef list parts
    cdef bytearray data
    cdef Py_ssize_t size
    cdef Py_ssize_t room

    cdef uint8_t* take(self, Py_ssize_t count) except NULL
    cdef int put_16(self, int value) except -1
    cdef int put_32(self, int32_t value) except -1
    cdef int put_64(self, int64_t value) except -1
    cdef int put_varint(self, uint32_t value) except -1
    cdef int put_length(self, Py_ssize_t length, bint compact, int width) except -1
    cdef int put_bytes(self, bytes data) except -1
    cdef int put_raw(self, const uint8_t* data, Py_ssize_t size) except -1
    cdef int put_text(self, object text, bint compact) except -1
    cdef Py_ssize_t begin_answer(self, int32_t correlation, bint flexible) except -1
    cdef int put_throttle(self) except -1
    cdef int end_answer(self, Py_ssize_t start, bint flexible) except -1
    cdef const uint8_t* start(self)
    cdef void patch_32(self, Py_ssize_t at, int32_t value)
    cdef int splice(self, object piece) except -1
    cdef int cut(self) except -1
    cdef list finish(self)
