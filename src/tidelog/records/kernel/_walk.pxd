"""The walk over a batch's records; `_walk.pyx` explains it."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef struct Walk:
    const uint8_t* fault_at     # where, when the walk's answer is not 0
    int64_t expected
    int64_t found
    int64_t min_timestamp
    int64_t max_timestamp
    int32_t max_index
    int32_t null_key
    int32_t index               # of the record that was being read


cdef enum Order:
    ANY_ORDER = 0               # offset deltas may be anything: what a reader takes
    RISING = 1                  # they rise and stay within the last one: what compaction leaves
    SEQUENTIAL = 2              # 0, 1, 2 ...: what a producer sends


cdef enum:
    # What is wrong with the records together; what is wrong with one has the numbers of _fields.h.
    BAD_DELTA = 100
    MISSING_RECORDS = 101
    TRAILING_BYTES = 102


cdef int walk_records(const uint8_t* start, const uint8_t* end, int32_t count, int64_t base_timestamp,
                      int32_t last_offset_delta, int order, Walk* walk) noexcept nogil
