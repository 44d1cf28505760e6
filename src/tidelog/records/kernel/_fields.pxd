"""`_fields.h` for the kernel's modules: one record's fields."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef extern from "tidelog/records/kernel/_fields.h":
    ctypedef struct Fields:
        const uint8_t* stop
        const uint8_t* key
        const uint8_t* value
        const uint8_t* headers
        int64_t timestamp
        int32_t delta
        int32_t key_length
        int32_t value_length
        int32_t header_count
        int32_t length

    int FINE, BAD_LENGTH, BAD_FIELD, BAD_KEY, BAD_VALUE, BAD_HEADER_COUNT, BAD_HEADER, BAD_END
    int read_fields(const uint8_t* p, const uint8_t* end, Fields* fields) nogil
    int read_fields_narrow(const uint8_t* p, const uint8_t* end, Fields* fields) nogil
