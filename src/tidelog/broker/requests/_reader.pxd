"""Reading the fields of a request in C: a cursor that remembers that it ran past the end.

Every function answers something harmless after the end; the caller looks at `bad` once, when it is through.
"""

from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "tidelog/records/kernel/_wire.h" nogil:
    int16_t load_i16(const uint8_t* p)
    int32_t load_i32(const uint8_t* p)
    int64_t load_i64(const uint8_t* p)
    void store_16(uint8_t* p, int v)
    void store_32(uint8_t* p, uint32_t v)
    void store_64(uint8_t* p, uint64_t v)


cdef enum:
    HEADER_SIZE = 8             # of what every header begins with: key, version, correlation id


cdef struct Cursor:
    uint8_t* p
    uint8_t* end
    bint bad


cdef inline int16_t api_key(const uint8_t* frame) noexcept nogil:
    return load_i16(frame)


cdef inline int16_t api_version(const uint8_t* frame) noexcept nogil:
    return load_i16(frame + 2)


cdef inline int32_t correlation_id(const uint8_t* frame) noexcept nogil:
    return load_i32(frame + 4)


cdef inline uint8_t* skip(Cursor* c, Py_ssize_t size) noexcept nogil:
    """Where the next `size` bytes begin; NULL when there are not so many."""
    cdef uint8_t* at = c.p
    if c.bad or size < 0 or size > c.end - c.p:
        c.bad = True
        return NULL
    c.p += size
    return at


cdef inline int read_i8(Cursor* c) noexcept nogil:
    cdef uint8_t* at = skip(c, 1)
    return <signed char>at[0] if at != NULL else 0


cdef inline int16_t read_i16(Cursor* c) noexcept nogil:
    cdef uint8_t* at = skip(c, 2)
    return load_i16(at) if at != NULL else 0


cdef inline int32_t read_i32(Cursor* c) noexcept nogil:
    cdef uint8_t* at = skip(c, 4)
    return load_i32(at) if at != NULL else 0


cdef inline int64_t read_i64(Cursor* c) noexcept nogil:
    cdef uint8_t* at = skip(c, 8)
    return load_i64(at) if at != NULL else 0


cdef inline uint32_t read_unsigned(Cursor* c) noexcept nogil:
    """An unsigned varint of at most 32 bits: seven bits a byte, the lowest first, the high bit says that more
    follow."""
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef uint8_t byte
    while c.p < c.end and shift < 35:
        byte = c.p[0]
        c.p += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 32:
                break
            return <uint32_t>value
        shift += 7
    c.bad = True
    return 0


cdef inline Py_ssize_t read_length(Cursor* c, bint compact, int width) noexcept nogil:
    """The length of a string (width 2), or of bytes or an array (width 4); -1 is null.

    Flexible versions write length + 1 as a varint, whatever it is the length of: 0 is null, 1 is empty. A length may be
    any number: it is `skip` that compares it with the bytes that are left.
    """
    if compact:
        return <Py_ssize_t>read_unsigned(c) - 1
    return read_i16(c) if width == 2 else read_i32(c)


cdef inline void skip_tags(Cursor* c) noexcept nogil:
    """Pass over a section of tagged fields (KIP-482): a count, and for each its number, its size and so many bytes."""
    cdef uint32_t count = read_unsigned(c)
    while count and not c.bad:
        read_unsigned(c)
        skip(c, read_unsigned(c))
        count -= 1


cdef inline str read_text(Cursor* c, bint compact, bint nullable):
    """A string; bytes that are no UTF-8 count as past the end, for only the long way knows what to make of them."""
    cdef Py_ssize_t size = read_length(c, compact, 2)
    cdef uint8_t* at
    if size == -1 and nullable:
        return None
    at = skip(c, size)
    if c.bad:
        return None
    try:
        return PyUnicode_DecodeUTF8(<const char*>at, size, NULL)
    except UnicodeDecodeError:
        c.bad = True
        return None


cdef inline void open_request(Cursor* c, uint8_t* frame, Py_ssize_t size, bint flexible) noexcept nogil:
    """Stand at the body of a request, behind its header.

    Header version 1 is key, version, correlation id and the client's name; version 2, of flexible requests, adds tags.
    The name is never compact: it must be readable before it is known what is being read.
    """
    cdef Py_ssize_t length
    c.p = frame + HEADER_SIZE
    c.end = frame + size
    c.bad = False
    length = read_length(c, False, 2)
    if length != -1:
        skip(c, length)
    if flexible:
        skip_tags(c)
