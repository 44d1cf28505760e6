from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int32_t, int64_t

cdef enum:
    MAX_TEXT = 0x7FFF


cdef struct Text:
    const char* data
    Py_ssize_t size


cdef inline Text text_of(str string) except *:
    """The UTF-8 of a string, as long as the string lives."""
    cdef Text text
    text.data = PyUnicode_AsUTF8AndSize(string, &text.size)
    return text


cdef tuple offset_record(Text group, Text topic, int32_t partition, int64_t offset, int32_t leader_epoch,
                         Text metadata, int64_t commit_timestamp)
