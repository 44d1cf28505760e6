"""Messages of magic 0 and 1, for compiled callers; `_messages.pyx` explains them."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t


cdef extern from "tidelog/records/kernel/_message.h":
    int MESSAGE_FINE
    int MESSAGE_CUT
    int MESSAGE_SMALL
    int MESSAGE_MAGIC
    int MESSAGE_SHORT
    int MESSAGE_KEY
    int MESSAGE_VALUE
    int MESSAGE_END
    int MESSAGE_CRC
    int MESSAGE_OTHER_MAGIC
    int MESSAGE_PACKED

    ctypedef struct Message:
        const uint8_t* stop
        const uint8_t* key
        const uint8_t* value
        int64_t offset
        int64_t timestamp
        int64_t size
        int32_t key_length
        int32_t value_length
        int8_t magic
        uint8_t attributes

    void crc32_init() nogil
    uint32_t crc32_of(const uint8_t* data, size_t length) nogil
    uint32_t crc32_portable(const uint8_t* data, size_t length) nogil
    int read_message(const uint8_t* p, const uint8_t* end, Message* m) nogil
    uint32_t message_crc(const uint8_t* p, int64_t size) nogil
    int64_t message_size(int magic, int32_t key_length, int32_t value_length) nogil
    uint8_t* write_message(uint8_t* p, int magic, uint8_t attributes, int64_t offset, int64_t timestamp,
                           const uint8_t* key, int32_t key_length, const uint8_t* value, int32_t value_length) nogil
    void seal_message(uint8_t* p, const uint8_t* stop) nogil


cdef struct MessageWalk:
    Message last                # the one that was read last
    const uint8_t* at           # where it starts
    int64_t max_timestamp
    int64_t min_timestamp       # of those that have one
    int32_t count
    int32_t max_index           # of the first message with the largest timestamp; -1 if none has one
    int32_t null_key            # index of the first message without a key; -1 if all have one
    bint in_sequence            # whether the offsets are 0, 1, 2 ...
    bint claims                 # whether a message says LogAppendTime
    bint claims_without_time


cdef int walk_messages(const uint8_t* start, const uint8_t* end, bint crc, MessageWalk* walk) noexcept nogil
cdef object fault_of(int fault, MessageWalk* walk, Py_ssize_t position)
cdef bytes unpack(object value, int codec, int magic, Py_ssize_t limit, Py_ssize_t position)
cdef int check_message(const uint8_t* p, Py_ssize_t size, bint crc, Py_ssize_t position) except -1
cdef int walk_wrapper(object entry, Py_ssize_t limit, bint crc, Py_ssize_t position, MessageWalk* walk) except -1
