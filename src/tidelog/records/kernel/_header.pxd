"""`_header.h` for the kernel's modules: the header of a batch that is being written."""

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t


cdef extern from "tidelog/records/kernel/_header.h":
    ctypedef struct Header:
        int64_t base_offset
        int64_t base_timestamp
        int64_t max_timestamp
        int64_t producer_id
        int32_t leader_epoch
        int32_t last_offset_delta
        int32_t base_sequence
        int32_t count
        int16_t attributes
        int16_t producer_epoch

    void crc32c_init() nogil
    void write_header(uint8_t* p, int64_t size, const Header* header) nogil
