"""Records as Python objects: for tools, tests and callers that want one record at a time.

`read_records` walks the whole batch with the kernel's structural check before it makes the first object.
Whoever wants millions of records a second takes them as Arrow columns instead (`records.arrow`).

A record is immutable and compares by its values. Keys and values are copied out of the batch, because a record may
outlive it; for few records that is what everybody wants, and for many there are columns.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, uint8_t

from tidelog.records.kernel._fields cimport Fields, read_fields
from tidelog.records.kernel._walk cimport ANY_ORDER, Walk, walk_records

from tidelog.common.errors import CorruptRecordError
from tidelog.records.kernel._walk import fault_text

cdef extern from "tidelog/records/kernel/_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil
    const uint8_t* read_varint(const uint8_t* p, const uint8_t* end, int32_t* out) nogil


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


cdef tuple take_headers(Fields* f):
    """Read headers that were found to be sound. Names are UTF-8; a wrong one does not hide the record.

    A name may come more than once, and order counts: a table of them would lose both.
    """
    cdef const uint8_t* p = f.headers
    cdef list headers = []
    cdef int32_t length = 0
    for _ in range(f.header_count):
        p = read_varint(p, f.stop, &length)
        name = PyUnicode_DecodeUTF8(<const char*>p, length, "replace")
        p = read_varint(p + length, f.stop, &length)
        headers.append((name, PyBytes_FromStringAndSize(<const char*>p, length) if length >= 0 else None))
        p += max(length, 0)
    return tuple(headers)


def read_records(const uint8_t[::1] data, int32_t count, int64_t base_offset, int64_t base_timestamp,
                 log_append_time=None):
    """The `count` records that fill `data` (unpacked). `log_append_time` replaces the timestamp of every record.

    Offsets and timestamps become absolute here. A damaged batch gives no record at all, rather than those in front of
    the damage: whoever reads on would not notice that some are missing.
    """
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
    cdef Fields f
    cdef Record record
    for _ in range(count):
        if read_fields(p, end, &f) != 0:
            break
        p = f.stop
        record = Record.__new__(Record)
        record.offset = add_wrapping(base_offset, f.delta)
        record.timestamp = fixed if override else add_wrapping(base_timestamp, f.timestamp)
        if f.key_length >= 0:
            record.key = PyBytes_FromStringAndSize(<const char*>f.key, f.key_length)
        if f.value_length >= 0:
            record.value = PyBytes_FromStringAndSize(<const char*>f.value, f.value_length)
        record.headers = take_headers(&f) if f.header_count else ()
        records.append(record)
    return records
