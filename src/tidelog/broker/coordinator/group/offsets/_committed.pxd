from libc.stdint cimport int32_t, int64_t


cdef class Committed:
    cdef readonly int64_t offset
    cdef readonly int64_t commit_timestamp
    cdef readonly int64_t expire_timestamp
    cdef public int64_t order
    cdef readonly str metadata
    cdef readonly int32_t leader_epoch
