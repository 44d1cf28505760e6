"""CRC-32C of any buffer; `_crc32c.h` says how."""

from libc.stdint cimport uint32_t, uint8_t

cdef extern from "tidelog/records/kernel/_crc32c.h":
    void crc32c_init() nogil
    uint32_t crc32c_update(uint32_t value, const void* data, size_t length) nogil
    uint32_t crc32c_by_lanes(uint32_t value, const void* data, size_t length) nogil
    uint32_t crc32c_update_portable(uint32_t value, const void* data, size_t length) nogil

crc32c_init()


def crc32c(const uint8_t[::1] data, uint32_t value=0):
    """The checksum of `data`, going on from `value` (that of the bytes before it).

    Castagnoli's polynomial, which processors have an instruction for; Kafka took it with magic 2. Short buffers are
    done before the GIL could be given up and taken back.
    """
    cdef size_t length = data.shape[0]
    if length == 0:
        return value
    if length < 4096:
        return crc32c_update(value, &data[0], length)
    with nogil:
        value = crc32c_update(value, &data[0], length)
    return value


def crc32c_portable(const uint8_t[::1] data, uint32_t value=0):
    """The same without the processor's instruction, as other machines compute it."""
    return crc32c_update_portable(value, &data[0], data.shape[0]) if data.shape[0] else value


def crc32c_lanes(const uint8_t[::1] data, uint32_t value=0):
    """The same as machines compute it that have the instruction but no wide multiplication."""
    return crc32c_by_lanes(value, &data[0], data.shape[0]) if data.shape[0] else value
