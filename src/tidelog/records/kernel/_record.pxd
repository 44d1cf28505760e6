"""A record as Python sees it, for compiled callers."""

from libc.stdint cimport int64_t


cdef class Record:
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef readonly bytes key
    cdef readonly bytes value
    cdef readonly tuple headers
