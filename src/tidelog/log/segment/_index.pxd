"""The sparse indexes, for compiled callers; `_index.pyx` explains them."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from tidelog.log.segment._handles cimport Handle


cdef class SparseIndex(Handle):
    cdef readonly object home
    cdef readonly int64_t base_offset
    cdef readonly int64_t max_size
    cdef readonly str suffix
    cdef readonly str kind
    cdef object mapped
    cdef object window           # a memoryview of the map: its buffer is what `data` points to
    cdef uint8_t* data
    cdef int64_t length          # of the map
    cdef int64_t reserved        # bytes of it that the disk has room for: entries may be written below this
    cdef bint writing            # the segment is written to: the file has its full size, the map may be written
    cdef int32_t width           # of an entry
    cdef int32_t warm            # entries of the warm section
    cdef int64_t count           # entries in use; -1 while not known (never opened)

    cdef int attach(self, object mapped) except -1
    cdef int detach(self) except -1
    cdef int known(self) except -1
    cdef int ready(self) except -1
    cdef int room(self) except -1
    cdef int make_room(self, int64_t needed) except -1
    cdef int change(self, int64_t size, bint writing) except -1
    cdef int64_t max_entries(self) noexcept
    cdef int64_t key_at(self, int64_t slot) noexcept
    cdef int64_t offset_at(self, int64_t slot) noexcept
    cdef int64_t floor_slot(self, int64_t target, bint by_offset) noexcept
    cdef int cut_closed(self, int64_t size) except -1
    cdef int cut(self, int64_t count) except -1


cdef class OffsetIndex(SparseIndex):
    cdef int64_t position_at(self, int64_t slot) noexcept
    cdef int64_t position_floor(self, int64_t offset) except -1
    cdef int add(self, int64_t offset, int64_t position) except -1


cdef class TimeIndex(SparseIndex):
    cdef int maybe_add(self, int64_t timestamp, int64_t offset, bint forced) except -1


cdef class IndexWriter:
    cdef readonly OffsetIndex offsets
    cdef readonly TimeIndex times
    cdef public int64_t interval
    cdef public int64_t since_last_entry
    cdef int64_t last_indexed_position
    cdef public int64_t max_timestamp
    cdef public int64_t offset_of_max_timestamp

    cdef int add_entries(self, int64_t last_offset, int64_t position) except -1
