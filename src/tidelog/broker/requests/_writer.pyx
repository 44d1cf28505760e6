"""Answers in the making: big-endian numbers, varints and strings into memory that grows, in C.

A writer may be cut where something else (a slice of a file) is sent between its bytes; `finish` gives the parts. The
hot path keeps one writer, sends straight from its memory and starts over (`size = 0`).
"""

from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_Resize
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tidelog.broker.requests._reader cimport store_16, store_32, store_64


cdef class Writer:
    """Puts what it is given behind what it has. `size` bytes of `data` are in use; `room` is all that there is."""

    def __init__(self, bytes head):
        self.parts = []
        self.data = bytearray(256)
        self.size = 0
        self.room = 256
        self.put_bytes(head)

    cdef uint8_t* take(self, Py_ssize_t count) except NULL:
        """Room for so many bytes, which the caller fills. The memory may move: no pointer into it outlives the next
        put."""
        cdef uint8_t* at
        if self.room - self.size < count:
            self.room = 2 * (self.size + count)
            PyByteArray_Resize(self.data, self.room)
        at = <uint8_t*>PyByteArray_AS_STRING(self.data) + self.size
        self.size += count
        return at

    cdef int put_16(self, int value) except -1:
        store_16(self.take(2), value)
        return 0

    cdef int put_32(self, int32_t value) except -1:
        store_32(self.take(4), <uint32_t>value)
        return 0

    cdef int put_64(self, int64_t value) except -1:
        store_64(self.take(8), <uint64_t>value)
        return 0

    cdef int put_varint(self, uint32_t value) except -1:
        """Seven bits a byte, the lowest first; the high bit says that more follow. 300 is AC 02."""
        while value >= 0x80:
            self.take(1)[0] = <uint8_t>(value | 0x80)
            value >>= 7
        self.take(1)[0] = <uint8_t>value
        return 0

    cdef int put_length(self, Py_ssize_t length, bint compact, int width) except -1:
        """The length of a string (width 2), or of bytes or an array (width 4); -1 is null.

        Flexible versions write length + 1 as a varint, whatever it is the length of: 0 is null, 1 is empty.
        """
        if compact:
            return self.put_varint(<uint32_t>(length + 1))
        return self.put_16(<int>length) if width == 2 else self.put_32(<int32_t>length)

    cdef int put_bytes(self, bytes data) except -1:
        cdef Py_ssize_t size = len(data)
        if size:
            memcpy(self.take(size), <const char*>data, size)
        return 0

    cdef int put_raw(self, const uint8_t* data, Py_ssize_t size) except -1:
        if size:
            memcpy(self.take(size), data, size)
        return 0

    cdef int put_text(self, object text, bint compact) except -1:
        """A string; None is null. What is longer than the short form can say is cut, in either form."""
        cdef bytes data
        if text is None:
            return self.put_length(-1, compact, 2)
        data = text.encode()[:32767]
        self.put_length(len(data), compact, 2)
        return self.put_bytes(data)

    cdef Py_ssize_t begin_answer(self, int32_t correlation, bint flexible) except -1:
        """The header of an answer, whose length is not known yet; returns where it begins, for `end_answer`.

        Header version 0 is the correlation id alone; version 1, of flexible answers, adds tags, of which there are
        none.
        """
        cdef Py_ssize_t start = self.size
        store_32(self.take(8) + 4, <uint32_t>correlation)
        if flexible:
            self.put_varint(0)
        return start

    cdef int put_throttle(self) except -1:
        """For how long the client is held back, in milliseconds: this broker enforces no quotas."""
        return self.put_32(0)

    cdef int end_answer(self, Py_ssize_t start, bint flexible) except -1:
        """The answer's own tags, of which there are none, and its length, which does not count itself."""
        if flexible:
            self.put_varint(0)
        self.patch_32(start, <int32_t>(self.size - start - 4))
        return 0

    cdef const uint8_t* start(self):
        """Where its bytes lie, until more are put."""
        return <const uint8_t*>PyByteArray_AS_STRING(self.data)

    cdef void patch_32(self, Py_ssize_t at, int32_t value):
        """Set a number that was not known when its place came."""
        store_32(<uint8_t*>PyByteArray_AS_STRING(self.data) + at, <uint32_t>value)

    cdef int splice(self, object piece) except -1:
        """Something that is sent here without being copied; small bytes are copied."""
        if isinstance(piece, (bytes, bytearray)) and len(piece) < 4096:
            return self.put_bytes(bytes(piece))
        self.cut()
        self.parts.append(piece)
        return 0

    cdef int cut(self) except -1:
        """End a part here: what was put so far becomes bytes, and the memory is used again."""
        if self.size:
            self.parts.append(PyBytes_FromStringAndSize(PyByteArray_AS_STRING(self.data), self.size))
            self.size = 0
        return 0

    cdef list finish(self):
        self.cut()
        return self.parts
