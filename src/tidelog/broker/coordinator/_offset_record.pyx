"""The record of a committed offset as bytes: a key of version 1 and a value of version 3.

Nearly every record of __consumer_offsets is one of these, so they are written here, in one step, whether the fields
come as strings of a message or still lie in the frame of a request:

    key     int16 1   string group   string topic   int32 partition
    value   int16 3   int64 offset   int32 leader epoch   string metadata   int64 commit timestamp
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tidelog.broker.requests._reader cimport store_16, store_32, store_64

cdef enum:
    KEY_VERSION = 1
    VALUE_VERSION = 3


cdef inline uint8_t* put_string(uint8_t* p, Text text) noexcept nogil:
    store_16(p, <int>text.size)
    memcpy(p + 2, text.data, text.size)
    return p + 2 + text.size


cdef tuple offset_record(Text group, Text topic, int32_t partition, int64_t offset, int32_t leader_epoch,
                         Text metadata, int64_t commit_timestamp):
    """The (key, value) of a record; OverflowError for a string that is longer than the format can say."""
    cdef bytes key, value
    cdef uint8_t* p
    if group.size > MAX_TEXT or topic.size > MAX_TEXT or metadata.size > MAX_TEXT:
        raise OverflowError(f"a string of a record holds at most {MAX_TEXT} bytes")
    key = PyBytes_FromStringAndSize(NULL, 10 + group.size + topic.size)
    p = <uint8_t*>PyBytes_AS_STRING(key)
    store_16(p, KEY_VERSION)
    p = put_string(put_string(p + 2, group), topic)
    store_32(p, partition)
    value = PyBytes_FromStringAndSize(NULL, 24 + metadata.size)
    p = <uint8_t*>PyBytes_AS_STRING(value)
    store_16(p, VALUE_VERSION)
    store_64(p + 2, offset)
    store_32(p + 10, leader_epoch)
    p = put_string(p + 14, metadata)
    store_64(p, commit_timestamp)
    return key, value


def encode_offset(str group not None, str topic not None, int32_t partition, int64_t offset, int32_t leader_epoch,
                  str metadata not None, int64_t commit_timestamp):
    """The (key, value) of a record whose fields are strings and numbers."""
    return offset_record(text_of(group), text_of(topic), partition, offset, leader_epoch, text_of(metadata),
                         commit_timestamp)
