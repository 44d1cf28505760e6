from libc.stdint cimport int16_t, int32_t, int64_t

from tidelog.records.kernel._batches cimport Batch, BatchRun

cdef enum:
    WINDOW = 5

cdef struct Appended:
    int32_t last_sequence
    int32_t offset_delta
    int64_t last_offset
    int64_t timestamp


cdef class ProducerStateEntry:
    cdef readonly int64_t producer_id
    cdef readonly int16_t epoch
    cdef readonly int32_t coordinator_epoch
    cdef readonly int64_t last_timestamp
    cdef readonly int64_t txn_first_offset
    cdef Appended window[WINDOW]
    cdef int count
    cdef bint fresh

    cdef ProducerStateEntry copy(self)
    cdef bint set_epoch(self, int16_t epoch) noexcept
    cdef void add(self, int16_t epoch, int32_t last_sequence, int64_t last_offset, int32_t offset_delta,
                  int64_t timestamp) noexcept
    cdef int find(self, int32_t first_sequence, int32_t last_sequence) noexcept
    cdef int32_t newest_sequence(self) noexcept
