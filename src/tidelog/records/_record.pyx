"""Records as Python objects: for tools, tests and callers that want one record at a time.

`read_records` first walks the batch with the kernel's structural check and then reads without further bounds checks.
Whoever wants millions of records a second takes them as Arrow columns instead (`records.arrow`).
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t

from tidelog.records._batches cimport ANY_ORDER, Walk, walk_records

from tidelog.common.errors import CorruptRecordError
from tidelog.records._batches import fault_text

cdef extern from "_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil
    const uint8_t* read_varint(const uint8_t* p, const uint8_t* end, int32_t* out) nogil
    const uint8_t* read_varlong(const uint8_t* p, const uint8_t* end, int64_t* out) nogil


@cython.freelist(256)
cdef class Record:
    """One record. `headers` is a tuple of (name, value) pairs, in order; a name may come more than once."""

    def __init__(self, int64_t offset, int64_t timestamp, bytes key, bytes value, headers=()):
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = tuple(headers)

    def __eq__(self, other):
        if not isinstance(other, Record):
            return NotImplemented
        return _fields(self) == _fields(other)

    def __hash__(self):
        return hash(_fields(self))

    def __reduce__(self):
        return Record, _fields(self)

    def __repr__(self):
        return (f"Record(offset={self.offset}, timestamp={self.timestamp}, key={self.key!r}, value={self.value!r}, "
                f"headers={self.headers!r})")


cdef inline tuple _fields(Record record):
    return record.offset, record.timestamp, record.key, record.value, record.headers


cdef const uint8_t* take_headers(const uint8_t* p, const uint8_t* end, int32_t count, Record record) except NULL:
    """Read headers that the walk has found to be sound. Names are UTF-8; a wrong one does not hide the record."""
    cdef list headers = []
    cdef int32_t length = 0
    for _ in range(count):
        p = read_varint(p, end, &length)
        name = PyUnicode_DecodeUTF8(<const char*>p, length, "replace")
        p = read_varint(p + length, end, &length)
        headers.append((name, PyBytes_FromStringAndSize(<const char*>p, length) if length >= 0 else None))
        p += max(length, 0)
    record.headers = tuple(headers)
    return p


def read_records(const uint8_t[::1] data, int32_t count, int64_t base_offset, int64_t base_timestamp,
                 log_append_time=None):
    """The `count` records that fill `data` (unpacked). `log_append_time` replaces the timestamp of every record."""
    cdef Walk walk
    cdef const uint8_t* start = &data[0] if data.shape[0] else NULL
    cdef const uint8_t* end = start + data.shape[0]
    cdef int fault
    if count < 0:
        raise CorruptRecordError(f"the batch says that it has {count} records")
    with nogil:
        fault = walk_records(start, end, count, base_timestamp, 0, ANY_ORDER, &walk)
    if fault:
        raise CorruptRecordError(fault_text(fault, walk.index, walk.expected, walk.found), walk.fault_at - start)
    cdef bint override = log_append_time is not None
    cdef int64_t fixed = log_append_time if override else 0
    cdef list records = []
    cdef const uint8_t* p = start
    cdef int32_t length = 0, delta = 0, headers = 0
    cdef int64_t timestamp = 0
    cdef Record record
    for _ in range(count):
        p = read_varint(p, end, &length)
        p = read_varlong(p + 1, end, &timestamp)
        p = read_varint(p, end, &delta)
        record = Record.__new__(Record)
        record.offset = base_offset + delta
        record.timestamp = fixed if override else add_wrapping(base_timestamp, timestamp)
        p = read_varint(p, end, &length)
        if length >= 0:
            record.key = PyBytes_FromStringAndSize(<const char*>p, length)
            p += length
        p = read_varint(p, end, &length)
        if length >= 0:
            record.value = PyBytes_FromStringAndSize(<const char*>p, length)
            p += length
        p = read_varint(p, end, &headers)
        if headers == 0:
            record.headers = ()
        else:
            p = take_headers(p, end, headers, record)
        records.append(record)
    return records
