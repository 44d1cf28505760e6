from libc.stdint cimport int32_t, int64_t, uint8_t


cdef class Lane:
    cdef readonly object partition
    cdef readonly bint open
    cdef bint acks_all
    cdef bint needs_keys
    cdef int32_t max_batch
    cdef int64_t before_max
    cdef int64_t after_max
    cdef object append
    cdef Py_ssize_t run
    cdef int64_t named_by


cdef class LaneTable:
    cdef object make
    cdef dict by_name
    cdef dict by_id
    cdef bytes last_key
    cdef bint last_by_id
    cdef list last_lanes

    cdef list find(self, const uint8_t* name, Py_ssize_t size, bint by_id)
