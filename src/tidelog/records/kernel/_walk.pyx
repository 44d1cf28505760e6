"""The structural check of a batch's records: every length, the count, offset deltas; timestamps and keys on the way.

One pass, six nanoseconds a record, without the GIL. Checking (`_batches`) and reading (`_record`) begin with it.

It knows nothing of batches: magic 2's records have the same form packed or not, at any place. A fault is a number and a
place, found without the GIL; words are made of it afterwards, and only if somebody is told.
"""

from libc.stdint cimport INT64_MAX

from tidelog.records.kernel._fields cimport (
    BAD_END, BAD_FIELD, BAD_HEADER, BAD_HEADER_COUNT, BAD_KEY, BAD_LENGTH, BAD_VALUE, Fields, read_fields
)

cdef extern from "tidelog/records/kernel/_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil

_FAULTS = {
    BAD_LENGTH: "the record's length is no varint, negative or runs past the batch",
    BAD_FIELD: "the record ends inside its attributes, timestamp or offset",
    BAD_DELTA: "the record has the wrong offset delta",
    BAD_KEY: "the record's key runs past its end",
    BAD_VALUE: "the record's value runs past its end",
    BAD_HEADER_COUNT: "the record's number of headers is negative or more than its bytes can hold",
    BAD_HEADER: "a record header has no key or runs past the record's end",
    BAD_END: "the record's fields do not add up to its length",
    MISSING_RECORDS: "the batch ends before its last record",
    TRAILING_BYTES: "the batch goes on after its last record",
}


cdef int walk_fault(Walk* walk, int fault, const uint8_t* at, int32_t index, int64_t expected,
                    int64_t found) noexcept nogil:
    walk.fault_at = at
    walk.index = index
    walk.expected = expected
    walk.found = found
    return fault


cdef int walk_records(const uint8_t* start, const uint8_t* end, int32_t count, int64_t base_timestamp,
                      int32_t last_offset_delta, int order, Walk* walk) noexcept nogil:
    """Read the structure of every record.

    `order` says what the offset deltas must be, which depends on who asks: a producer's are 0, 1, 2 …; on disk
    compaction has left holes, but they rise; a reader that was given a batch takes them as they are. All lengths are
    compared with the bytes that are there (`_fields.h`), so that after a walk nothing else needs to look at an end.

    Timestamps are the batch's plus a difference, added with wrapping as Java adds. -1 means that the record has none,
    and does not count as the smallest.
    """
    cdef const uint8_t* p = start
    cdef Fields f
    cdef int fault
    cdef int32_t last = -1, null_key = -1, max_index = -1
    cdef int64_t timestamp, largest = -1, smallest = INT64_MAX
    for i in range(count):
        if p >= end:
            return walk_fault(walk, MISSING_RECORDS, p, i, count, i)
        fault = read_fields(p, end, &f)
        if fault:
            return walk_fault(walk, fault, p, i, end - p, f.length)
        if order == SEQUENTIAL:
            if f.delta != i:
                return walk_fault(walk, BAD_DELTA, p, i, i, f.delta)
        elif order == RISING:
            if f.delta <= last or f.delta > last_offset_delta:
                return walk_fault(walk, BAD_DELTA, p, i, last + 1, f.delta)
            last = f.delta
        p = f.stop
        if f.key_length < 0 and null_key < 0:
            null_key = i
        timestamp = add_wrapping(base_timestamp, f.timestamp)
        if timestamp > largest:
            largest = timestamp
            max_index = i
        if timestamp < smallest and timestamp != -1:
            smallest = timestamp
    if p != end:
        return walk_fault(walk, TRAILING_BYTES, p, count, 0, end - p)
    walk.max_timestamp = largest
    walk.min_timestamp = smallest
    walk.max_index = max_index
    walk.null_key = null_key
    return 0


def fault_text(int fault, int32_t index, int64_t expected, int64_t found):
    """A walk's fault in words. What is wrong within a record comes with the record's length and the bytes there are."""
    if fault < BAD_DELTA:
        return f"record {index}: {_FAULTS[fault]} (its length says {found}, {expected} bytes are left)"
    return f"record {index}: {_FAULTS[fault]} (expected {expected}, found {found})"
