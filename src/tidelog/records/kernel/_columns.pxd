"""Columns while they are filled, for compiled callers; `_columns.pyx` explains them."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from tidelog.records.kernel._batches cimport Batch


cdef struct Part:
    # The records of one batch, unpacked; or those that are still to be read.
    const uint8_t* start
    const uint8_t* end
    const uint8_t* base         # start of the buffer that a view's position counts from
    int64_t base_offset
    int64_t base_timestamp
    int64_t fixed_timestamp
    int32_t count
    int32_t buffer              # number of that buffer
    int8_t timestamp_type


cdef struct Column:
    # One of key and value. Copied form: ends and data; view form: views. Neither: not wanted.
    int32_t* ends
    uint8_t* data
    uint8_t* views
    uint8_t* valid
    int64_t used
    int64_t nulls


cdef struct Target:
    int64_t* offset
    int64_t* timestamp
    int8_t* timestamp_type
    Column key
    Column value
    int64_t rows
    int64_t untimed             # rows without a timestamp
    int64_t headers             # of all rows
    int64_t first
    int64_t last


cdef int set_part(Part* part, Batch* batch, const uint8_t* start, Py_ssize_t size) except -1
cdef int set_target(Target* target, dict addresses, int64_t rows) except -1
cdef tuple target_sizes(Target* target)
cdef bint fill_part(Part* part, const uint8_t* available, Target* target) noexcept nogil
