# cython: language_level=3
"""Walking batch headers in a piece of a segment's file without reading the batches themselves.

This is the last step of every look-up by offset: the index gives a place at or before the batch, and between two index
entries lie some 4 KB of batches as a rule. Of each only the first 27 bytes count (size, magic, last offset delta); an
entry of magic 0 or 1 already carries its last offset in front. Large batches are stepped over unread.
"""

from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t

from tidelog.records.kernel._layout cimport (
    LAST_OFFSET_DELTA_OFFSET, LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, MESSAGE_OVERHEAD_V0
)

from tidelog.common.errors import CorruptRecordError

cdef enum:
    LEGACY_HEADER = MAGIC_OFFSET + 1                    # what a magic 0 or 1 entry's last offset needs
    HEADER = LAST_OFFSET_DELTA_OFFSET + 4               # what a magic 2 batch's last offset needs
    SMALLEST = LOG_OVERHEAD + MESSAGE_OVERHEAD_V0       # a message without key and value

cdef extern from "tidelog/records/kernel/_wire.h":
    int32_t load_i32(const uint8_t* p) nogil
    int64_t load_i64(const uint8_t* p) nogil


def seek(buffer, int64_t target, int64_t available):
    """Find the first batch whose last offset is not below `target`.

    `buffer` starts at a batch and may end inside one; `available` is how many bytes the file has from there on.
    Returns (found, position, size, base offset, next offset): position and size are the found batch's, or where
    to go on; next offset is that after the last batch passed (or -1). A batch cut off by the file's end is not there:
    position is then `available` or where it starts, whichever ends the search.
    """
    cdef Py_buffer view
    cdef const uint8_t* p
    cdef int64_t position = 0, size, last, base, passed = -1, cut = -1
    cdef int magic
    PyObject_GetBuffer(buffer, &view, PyBUF_SIMPLE)
    try:
        while view.len - position >= LEGACY_HEADER:
            p = <const uint8_t*>view.buf + position
            size = <int64_t>load_i32(p + LENGTH_OFFSET) + LOG_OVERHEAD
            magic = p[MAGIC_OFFSET]
            if size < SMALLEST or magic > 2:
                cut = position
                break
            if position + size > available:
                return False, available, 0, -1, passed
            base = load_i64(p)
            last = base
            if magic == 2:
                if view.len - position < HEADER:
                    break
                last = base + load_i32(p + LAST_OFFSET_DELTA_OFFSET)
            if last >= target:
                return True, position, size, base, passed
            passed = last + 1
            position += size
        if view.len == available:
            position = available
    finally:
        PyBuffer_Release(&view)
    if cut >= 0:
        raise CorruptRecordError(f"no batch: size {size}, magic {magic}", cut)
    return False, position, 0, -1, passed
