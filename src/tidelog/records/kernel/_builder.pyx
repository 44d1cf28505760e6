"""BatchWriter: a magic 2 batch, record by record, into one growing buffer.

The records go in as they come; header, compression and checksum are made by `build`. Deltas are relative to the first
record's timestamp (or to the delete horizon, if there is one) and to the base offset.

The first 61 bytes of the buffer stay free for the header, which needs to know the count, the largest timestamp and the
checksum. Appending is one call from Python with one record: fine for markers, coordinators' records and tools; whoever
has many records has columns (`_encode`).
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport INT32_MAX, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tidelog.records.kernel._header cimport Header, crc32c_init, write_header
from tidelog.records.kernel._layout cimport CODEC_MASK, DELETE_HORIZON_BIT, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT

from tidelog.records.format.attributes import Codec
from tidelog.records.codec.compression import compress

cdef extern from "tidelog/records/kernel/_wire.h":
    int WRITE_SLACK
    uint8_t* write_varlong(uint8_t* p, int64_t value) nogil
    int size_of_varlong(int64_t value) nogil

crc32c_init()



cdef inline Py_ssize_t size_of_bytes(bytes data) noexcept:
    """Of nullable bytes with their length."""
    if data is None:
        return 1
    return size_of_varlong(PyBytes_GET_SIZE(data)) + PyBytes_GET_SIZE(data)


cdef inline uint8_t* write_bytes(uint8_t* p, bytes data) noexcept:
    """Null is the length -1, which is the byte 1 in zig-zag."""
    if data is None:
        p[0] = 1
        return p + 1
    p = write_varlong(p, PyBytes_GET_SIZE(data))
    memcpy(p, PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))
    return p + PyBytes_GET_SIZE(data)


cdef Py_ssize_t size_of_headers(headers) except -1:
    """Measured first, like everything in a record: its length stands in front of it."""
    cdef Py_ssize_t size = 0, length
    cdef str name
    for name, value in headers:
        if name is None:
            raise TypeError("a record header needs a name")
        PyUnicode_AsUTF8AndSize(name, &length)
        size += size_of_varlong(length) + length + size_of_bytes(value)
    return size


cdef uint8_t* write_headers(uint8_t* p, headers) except NULL:
    cdef Py_ssize_t length
    cdef const char* text
    for name, value in headers:
        text = PyUnicode_AsUTF8AndSize(name, &length)
        p = write_varlong(p, length)
        memcpy(p, text, length)
        p = write_bytes(p + length, value)
    return p


cdef class BatchWriter:
    """One batch. `attributes` hold the codec and the transactional and control bits as they will be written; the bits
    of time are set here.
    """
    cdef uint8_t* data
    cdef Py_ssize_t capacity
    cdef Py_ssize_t used
    cdef readonly int64_t base_offset
    cdef readonly int64_t base_timestamp
    cdef readonly int64_t max_timestamp
    cdef readonly int32_t count
    cdef int64_t next_delta
    cdef int64_t horizon
    cdef int64_t log_append_time
    cdef int64_t producer_id
    cdef int32_t leader_epoch
    cdef int32_t base_sequence
    cdef int16_t producer_epoch
    cdef int16_t attributes
    cdef object level

    def __init__(self, *, int16_t attributes=0, level=None, int64_t base_offset=0, int64_t producer_id=-1,
                 int16_t producer_epoch=-1, int32_t base_sequence=-1, int32_t leader_epoch=-1, log_append_time=None,
                 delete_horizon=None):
        self.attributes = attributes
        self.level = level
        self.base_offset = base_offset
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.leader_epoch = leader_epoch
        self.log_append_time = -1 if log_append_time is None else log_append_time
        self.horizon = -1 if delete_horizon is None else delete_horizon
        if delete_horizon is not None:
            self.attributes |= DELETE_HORIZON_BIT
        if log_append_time is not None:
            self.attributes |= TIMESTAMP_TYPE_BIT
        self.base_timestamp = self.horizon
        self.max_timestamp = -1
        self.used = RECORD_BATCH_OVERHEAD

    def __dealloc__(self):
        PyMem_Free(self.data)

    @property
    def size_estimate(self):
        """Bytes of the batch before compression."""
        return self.used

    @property
    def next_offset(self):
        return self.base_offset + self.next_delta

    cdef uint8_t* room(self, Py_ssize_t size) except NULL:
        """Where the next `size` bytes go.

        The buffer doubles, so that appending is linear however many records come. The address changes with that: nobody
        keeps it over a call.
        """
        cdef Py_ssize_t wanted = self.used + size
        cdef uint8_t* more
        if wanted > INT32_MAX:
            raise OverflowError("a batch holds at most 2 GiB")
        if wanted > self.capacity:
            wanted = max(wanted, 2 * self.capacity, 512)
            more = <uint8_t*>PyMem_Realloc(self.data, wanted)
            if more == NULL:
                raise MemoryError
            self.data = more
            self.capacity = wanted
        return self.data + self.used

    def append(self, int64_t timestamp, bytes key, bytes value, headers=(), offset=None):
        """Add a record after the others, or at `offset`, which must lie after theirs; return its offset.

        With LogAppendTime the record's own timestamp is still written: the header's holds for all readers, and the
        record keeps what its producer said.
        """
        cdef int64_t delta = self.next_delta if offset is None else <int64_t>offset - self.base_offset
        cdef Py_ssize_t extra = size_of_headers(headers) if headers else 0
        cdef Py_ssize_t headers_count = len(headers) if headers else 0
        cdef Py_ssize_t length
        cdef int64_t since
        cdef uint8_t* p
        if delta < self.next_delta or delta > INT32_MAX:
            raise ValueError(f"offset {self.base_offset + delta} does not fit after "
                             f"{self.base_offset + self.next_delta - 1} in a batch that starts at {self.base_offset}")
        if self.count == 0 and not self.attributes & DELETE_HORIZON_BIT:
            self.base_timestamp = timestamp
        since = <int64_t>(<unsigned long long>timestamp - <unsigned long long>self.base_timestamp)
        length = (1 + size_of_varlong(since) + size_of_varlong(delta) + size_of_bytes(key) + size_of_bytes(value)
                  + size_of_varlong(headers_count) + extra)
        p = self.room(length + 5 + WRITE_SLACK)
        p = write_varlong(p, length)
        p[0] = 0
        p = write_varlong(p + 1, since)
        p = write_varlong(p, delta)
        p = write_bytes(p, key)
        p = write_bytes(p, value)
        p = write_varlong(p, headers_count)
        if headers_count:
            p = write_headers(p, headers)
        self.used = p - self.data
        self.count += 1
        self.next_delta = delta + 1
        if timestamp > self.max_timestamp:
            self.max_timestamp = timestamp
        return self.base_offset + delta

    def build(self, last_offset=None):
        """The batch. `last_offset`: that of the batch which it replaces, when compaction dropped the last records."""
        cdef int64_t last_delta = self.next_delta - 1
        if last_offset is not None:
            last_delta = <int64_t>last_offset - self.base_offset
        cdef Py_ssize_t size = self.used
        cdef uint8_t* p
        if self.count == 0 or last_delta < self.next_delta - 1 or last_delta > INT32_MAX:
            raise ValueError(f"a batch of {self.count} records from {self.base_offset} cannot end at "
                             f"{self.base_offset + last_delta}")
        codec = self.attributes & CODEC_MASK
        if codec:
            plain = PyBytes_FromStringAndSize(<char*>self.data + RECORD_BATCH_OVERHEAD,
                                              self.used - RECORD_BATCH_OVERHEAD)
            packed = compress(Codec(codec), plain, level=self.level)
            size = RECORD_BATCH_OVERHEAD + len(packed)
        batch = PyBytes_FromStringAndSize(NULL, size)
        p = <uint8_t*>PyBytes_AS_STRING(batch)
        if codec:
            memcpy(p + RECORD_BATCH_OVERHEAD, PyBytes_AS_STRING(packed), size - RECORD_BATCH_OVERHEAD)
        else:
            memcpy(p + RECORD_BATCH_OVERHEAD, self.data + RECORD_BATCH_OVERHEAD, size - RECORD_BATCH_OVERHEAD)
        self.seal(p, size, last_delta)
        return batch

    def build_empty(self, int64_t last_offset, int64_t timestamp):
        """A batch of no records, as compaction leaves it for a producer whose last sequence must not be forgotten."""
        batch = PyBytes_FromStringAndSize(NULL, RECORD_BATCH_OVERHEAD)
        self.base_timestamp, self.max_timestamp = -1, timestamp  # no records, no base; as Kafka writes it
        self.attributes &= ~CODEC_MASK
        self.seal(<uint8_t*>PyBytes_AS_STRING(batch), RECORD_BATCH_OVERHEAD, last_offset - self.base_offset)
        return batch

    cdef void seal(self, uint8_t* p, Py_ssize_t size, int64_t last_delta) noexcept:
        """Write the header of a batch whose records are in place."""
        cdef Header header
        header.base_offset = self.base_offset
        header.base_timestamp = self.base_timestamp
        header.max_timestamp = self.log_append_time if self.log_append_time >= 0 else self.max_timestamp
        header.producer_id = self.producer_id
        header.producer_epoch = self.producer_epoch
        header.base_sequence = self.base_sequence
        header.leader_epoch = self.leader_epoch
        header.attributes = self.attributes
        header.count = self.count
        header.last_offset_delta = <int32_t>last_delta
        write_header(p, size, &header)
