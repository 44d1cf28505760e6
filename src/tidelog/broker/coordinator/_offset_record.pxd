from libc.stdint cimport int32_t, int64_t

cdef enum:
    MAX_TEXT = 0x7FFF


cdef struct Text:
    const char* data
    Py_ssize_t size


cdef tuple offset_record(Text group, Text topic, int32_t partition, int64_t offset, int32_t leader_epoch,
                         Text metadata, int64_t commit_timestamp)
