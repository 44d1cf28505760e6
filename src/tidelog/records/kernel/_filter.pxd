"""Which batches are wanted, for compiled callers; `_filter.pyx` explains it."""

from libc.stdint cimport int64_t, uint8_t

from tidelog.records.kernel._batches cimport Batch


cdef class BatchFilter:
    cdef readonly int64_t first
    cdef readonly int64_t last
    cdef bint skip_control
    cdef list pending           # aborted transactions by first offset, latest first; the ones still to come
    cdef set aborting           # producers whose transaction is being left out

    cdef bint wants(self, Batch* batch, const uint8_t* p) except -1
    cdef bint is_aborted(self, Batch* batch, const uint8_t* p) except -1
