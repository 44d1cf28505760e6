"""Batch headers that lie in one buffer, for compiled callers; `_batches.pyx` explains them."""

from cpython.buffer cimport Py_buffer
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t


cdef struct Batch:
    int64_t position            # of the batch in the run's buffer
    int64_t base_offset         # magic 0 and 1: the entry's offset (a wrapper's is that of its last record)
    int64_t base_timestamp      # the delete horizon, if the attributes say so
    int64_t max_timestamp
    int64_t producer_id
    int64_t found_max_timestamp  # the four `found` fields and `walked` are set by check(records=True)
    int64_t found_min_timestamp
    int32_t found_max_index      # of the first record with the largest timestamp; -1 if none has one
    int32_t found_null_key       # index of the first record without a key; -1 if all have one
    int32_t size                 # of the whole batch, its first 12 bytes included
    int32_t last_offset_delta
    int32_t leader_epoch
    int32_t base_sequence
    int32_t record_count         # -1: not known without unpacking (a compressed wrapper of magic 0 or 1)
    int16_t producer_epoch
    int16_t attributes
    int8_t magic
    int8_t walked


cdef int64_t entry_size(const uint8_t* p, Py_ssize_t position) except -1
cdef void read_v2(Batch* batch, const uint8_t* p) noexcept nogil


cdef class BatchRun:
    cdef object __weakref__
    cdef Py_buffer source
    cdef Py_ssize_t offset  # of the batches' buffer within `source`
    cdef bint locked
    cdef bint held
    cdef object memory
    cdef Batch* batches
    cdef Batch few[4]           # `batches` points here until there are more
    cdef Py_ssize_t capacity
    cdef uint8_t* data
    cdef Py_ssize_t length
    cdef readonly Py_ssize_t count
    cdef readonly int64_t size
    cdef readonly int64_t record_total
    cdef readonly int compressed

    cdef int hold_base(self, object base) except -1
    cdef Batch* grow(self) except NULL
    cdef int add_c(self, Py_ssize_t position, Py_ssize_t size) except -1
    cdef int append_c(self, Py_ssize_t position, Py_ssize_t size) except -1
    cdef Py_ssize_t scan_c(self, Py_ssize_t start, Py_ssize_t end) except -1
    cdef int check_c(self, Py_ssize_t first, Py_ssize_t stop, bint crc, bint records, bint client) except -1
    cdef int check_compressed(self, Py_ssize_t index, bint client, Py_ssize_t limit) except -1
    cdef Py_ssize_t screen_c(self, Py_ssize_t first, Py_ssize_t stop, int codec, bint keys, int64_t earliest,
                             int64_t latest) noexcept nogil
    cdef int64_t stamp_c(self, Py_ssize_t first, Py_ssize_t stop, int64_t first_offset, int32_t leader_epoch,
                         int64_t log_append_time) except? -2
    cdef object view_of(self, Py_ssize_t position, Py_ssize_t size)
    cdef int clear_c(self) except -1
    cdef int check_wrapper(self, Py_ssize_t index, bint crc, Py_ssize_t limit) except -1
    cpdef void know_wrapper(self, Py_ssize_t index, int32_t count, int64_t max_timestamp) noexcept
