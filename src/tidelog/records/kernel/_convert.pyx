"""Records of one format rewritten in another, a whole set at a time and without the GIL.

    from    a set of messages of magic 0 or 1, or the records of a magic 2 batch: unpacked
    to      one magic 2 batch; or messages of magic 0 or 1, in one wrapper if there is a codec

Timestamps are kept, unless one holds for all. Offsets are kept, or given anew from `number_from` on. What the older
format has no place for is lost (timestamps, headers), or refused (`refuse_headers`). The output is at most six times as
long as the input: a lying count or length costs nothing.

Input and output are described by two structs, one loop goes from one to the other, and all directions share it.
Converting is the dear way: it happens for clients of before 0.11, for topics that are told to keep an old format, and
when old segments are read as batches.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport INT32_MAX, INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from tidelog.records.kernel._fields cimport Fields, read_fields
from tidelog.records.kernel._header cimport Header, crc32c_init, write_header
from tidelog.records.kernel._layout cimport (
    LOG_OVERHEAD, MESSAGE_OVERHEAD_V0, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT, message_overhead
)
from tidelog.records.kernel._messages cimport (
    MESSAGE_CUT, Message, crc32_init, read_message, write_message
)

from tidelog.common.errors import CorruptRecordError, ErrorCode, KafkaError
from tidelog.records.format.attributes import Codec
from tidelog.records.codec.compression import compress

cdef extern from "tidelog/records/kernel/_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil
    uint8_t* write_varlong(uint8_t* p, int64_t value) nogil
    int size_of_varlong(int64_t value) nogil

crc32_init()
crc32c_init()

cdef enum:
    SMALLEST_RECORD = 7         # of magic 2, with its length
    RECORD_NUMBERS = 40         # the most bytes that the numbers of a magic 2 record take, with room to write in words
    MESSAGE_NUMBERS = 34        # the same of a magic 1 message

cdef enum:
    # Why a conversion stopped.
    DONE = 0
    BAD_RECORD = 1
    BAD_ORDER = 2
    HAS_HEADERS = 3
    BAD_TIMESTAMP = 4


cdef struct Input:
    const uint8_t* p
    const uint8_t* end
    int64_t base_offset
    int64_t base_timestamp
    int64_t timestamp           # of all, if `fixed`
    int64_t keep_from           # records below this offset are left out
    int32_t left                # magic 2: records that are not read yet
    int magic
    bint fixed
    bint refuse_headers


cdef struct Output:
    uint8_t* p
    int64_t first_offset        # of the first record
    int64_t next_offset         # with `renumber`, that of the next record; else the one after the last
    int64_t base_timestamp      # magic 2: the first record's
    int64_t max_timestamp
    int32_t max_index
    int32_t count
    int magic
    uint8_t attributes          # of each message
    bint renumber
    bint relative               # messages carry offsets from the first one on
    bint keep_headers


cdef inline int next_record(Input* source, Fields* f, int64_t* offset, int64_t* timestamp) noexcept nogil:
    """Read one record; 1: there is none, -1: it is not sound.

    The fields are those of magic 2 in any case; a message has no headers, and a time of -1 if it is of magic 0.
    """
    cdef Message m
    cdef int fault
    if source.magic == 2:
        if source.left == 0:
            return 1 if source.p == source.end else -1
        if read_fields(source.p, source.end, f) != 0:
            return -1
        source.left -= 1
        offset[0] = add_wrapping(source.base_offset, f.delta)
        timestamp[0] = add_wrapping(source.base_timestamp, f.timestamp)
    else:
        fault = read_message(source.p, source.end, &m)
        if fault:
            return 1 if fault == MESSAGE_CUT else -1
        f.stop, f.key, f.value = m.stop, m.key, m.value
        f.key_length, f.value_length = m.key_length, m.value_length
        f.headers, f.header_count = m.stop, 0
        offset[0] = add_wrapping(source.base_offset, m.offset)
        timestamp[0] = m.timestamp
    if source.fixed:
        timestamp[0] = source.timestamp
    source.p = f.stop
    return 0


cdef inline uint8_t* write_bytes(uint8_t* p, const uint8_t* data, int32_t length) noexcept nogil:
    """A nullable field of magic 2: varint length, -1 (which is the byte 1) for null."""
    if length < 0:
        p[0] = 1
        return p + 1
    p = write_varlong(p, length)
    memcpy(p, data, length)
    return p + length


cdef inline int size_of_bytes(int32_t length) noexcept nogil:
    return 1 if length < 0 else size_of_varlong(length) + length


cdef inline void write_record(Output* out, Fields* f, int64_t delta, int64_t since) noexcept nogil:
    """One record of a magic 2 batch.

    Headers are copied as they lie, name and value and lengths: their form does not depend on where they are.
    """
    cdef int64_t extra = f.stop - f.headers if out.keep_headers and f.header_count else 0
    cdef int32_t headers = f.header_count if extra else 0
    cdef int64_t length = (1 + size_of_varlong(since) + size_of_varlong(delta) + size_of_bytes(f.key_length)
                           + size_of_bytes(f.value_length) + size_of_varlong(headers) + extra)
    cdef uint8_t* p = write_varlong(out.p, length)
    p[0] = 0
    p = write_varlong(p + 1, since)
    p = write_varlong(p, delta)
    p = write_bytes(p, f.key, f.key_length)
    p = write_bytes(p, f.value, f.value_length)
    p = write_varlong(p, headers)
    if extra:
        memcpy(p, f.headers, extra)
    out.p = p + extra


cdef int convert_records(Input* source, Output* out) noexcept nogil:
    """Rewrite them all, or stop at the first that cannot be.

    Offsets must rise and stay within 2^31 of the first: a batch holds differences of 32 bits. A producer's records are
    numbered anew, so theirs always do; those of a log may not, after damage.
    """
    cdef Fields f
    cdef int64_t offset = 0, timestamp = 0
    cdef int fault
    while True:
        fault = next_record(source, &f, &offset, &timestamp)
        if fault:
            return DONE if fault > 0 else BAD_RECORD
        if offset < source.keep_from:
            continue
        if f.header_count and source.refuse_headers:
            return HAS_HEADERS
        if out.renumber:
            offset = out.next_offset
        elif offset < 0 or offset == INT64_MAX or (out.count and offset < out.next_offset):
            return BAD_ORDER
        if out.count == 0:
            out.first_offset = offset
            out.base_timestamp = timestamp
        if offset - out.first_offset > INT32_MAX:
            return BAD_ORDER
        if timestamp < -1 and out.renumber:  # a producer's
            return BAD_TIMESTAMP
        if out.magic == 2:
            write_record(out, &f, offset - out.first_offset,
                         <int64_t>(<unsigned long long>timestamp - <unsigned long long>out.base_timestamp))
        else:
            out.p = write_message(out.p, out.magic, out.attributes, offset - out.first_offset if out.relative
                                  else offset, timestamp, f.key, f.key_length, f.value, f.value_length)
        if timestamp > out.max_timestamp and out.magic:
            out.max_timestamp = timestamp
            out.max_index = out.count
        out.next_offset = offset + 1
        out.count += 1


cdef object refusal_of(int fault, Input* source, Output* out):
    """What to answer: the format's limits have codes of their own, anything else is damage."""
    if fault == HAS_HEADERS:
        return KafkaError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"magic {out.magic} has no record headers")
    if fault == BAD_TIMESTAMP:
        return KafkaError(ErrorCode.INVALID_TIMESTAMP, f"record {out.count} has a negative timestamp")
    if fault == BAD_ORDER:
        return CorruptRecordError(f"the offset of record {out.count} comes before {out.next_offset}, or too far behind")
    return CorruptRecordError(f"record {out.count} is not sound")


def convert(const uint8_t[::1] data, int magic, int to_magic, *, int32_t count=0, int64_t base_offset=0,
            int64_t base_timestamp=0, timestamp=None, append_time=None, int64_t keep_from=INT64_MIN, number_from=None,
            codec=Codec.NONE, level=None, bint refuse_headers=False):
    """(the records of `data` in the other magic, how many, their largest timestamp, its index); no bytes for none.

    `count`, `base_offset` and `base_timestamp` are a magic 2 batch's; the base offset is also what is added to the
    offsets of messages. `timestamp` replaces all of the records'; `append_time` does, too, and says that the broker set
    it (LogAppendTime).

    The room is what the input has, and for every record that can be in it the most that its numbers take in either
    format: so nothing is looked at while writing, and a count that lies makes no room.
    """
    cdef Input source
    cdef Output out
    cdef Py_ssize_t length = data.shape[0]
    cdef Py_ssize_t most = length // SMALLEST_RECORD if magic == 2 else length // (LOG_OVERHEAD + MESSAGE_OVERHEAD_V0)
    cdef int fault
    if codec == Codec.ZSTD and to_magic < 2:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs magic 2, not magic {to_magic}")
    if magic == 2 and count < most:
        most = max(count, 0)
    source.p = &data[0] if length else NULL
    source.end = source.p + length
    source.magic, source.left = magic, max(count, 0)
    source.base_offset, source.base_timestamp, source.keep_from = base_offset, base_timestamp, keep_from
    fixed = timestamp if append_time is None else append_time
    source.fixed, source.timestamp = fixed is not None, 0 if fixed is None else fixed
    source.refuse_headers = refuse_headers
    out.magic, out.keep_headers, out.relative = to_magic, to_magic == 2, to_magic == 1 and codec != Codec.NONE
    out.attributes = TIMESTAMP_TYPE_BIT if append_time is not None and to_magic else 0
    out.renumber = number_from is not None
    out.first_offset = out.next_offset = number_from or 0
    out.base_timestamp = out.max_timestamp = out.max_index = -1
    out.count = 0
    cdef Py_ssize_t room = RECORD_BATCH_OVERHEAD + length + (most + 1) * max(RECORD_NUMBERS, MESSAGE_NUMBERS)
    cdef uint8_t* made = <uint8_t*>PyMem_RawMalloc(room)
    if made == NULL:
        raise MemoryError
    try:
        out.p = made + RECORD_BATCH_OVERHEAD
        with nogil:
            fault = convert_records(&source, &out)
        if fault:
            raise refusal_of(fault, &source, &out)
        if out.count == 0:
            return b"", 0, -1, -1
        return finish(made, &out, codec, level), out.count, out.max_timestamp, out.max_index
    finally:
        PyMem_RawFree(made)


cdef bytes finish(uint8_t* made, Output* out, object codec, object level):
    """Pack the records behind `made`'s first 61 bytes, and put header or wrapper around them.

    A wrapper's offset is that of its last message, and its timestamp the largest, as a magic 1 reader expects it.
    """
    cdef uint8_t* records = made + RECORD_BATCH_OVERHEAD
    cdef Py_ssize_t size = out.p - records
    cdef bytes batch, packed = None
    cdef Header header
    cdef uint8_t* p
    if codec != Codec.NONE:
        packed = compress(codec, PyBytes_FromStringAndSize(<char*>records, size), level=level, magic=out.magic)
        records, size = <uint8_t*>PyBytes_AS_STRING(packed), PyBytes_GET_SIZE(packed)
    elif out.magic < 2:
        return PyBytes_FromStringAndSize(<char*>records, size)
    if out.magic < 2:
        batch = PyBytes_FromStringAndSize(NULL, LOG_OVERHEAD + message_overhead(out.magic) + size)
        write_message(<uint8_t*>PyBytes_AS_STRING(batch), out.magic, out.attributes | <uint8_t>codec,
                      out.next_offset - 1, out.max_timestamp, NULL, -1, records, <int32_t>size)
        return batch
    batch = PyBytes_FromStringAndSize(NULL, RECORD_BATCH_OVERHEAD + size)
    p = <uint8_t*>PyBytes_AS_STRING(batch)
    memcpy(p + RECORD_BATCH_OVERHEAD, records, size)
    header.base_offset, header.base_timestamp, header.max_timestamp = \
        out.first_offset, out.base_timestamp, out.max_timestamp
    header.producer_id = header.producer_epoch = header.base_sequence = header.leader_epoch = -1
    header.attributes = <int>codec | out.attributes
    header.count, header.last_offset_delta = out.count, <int32_t>(out.next_offset - 1 - out.first_offset)
    write_header(p, RECORD_BATCH_OVERHEAD + size, &header)
    return batch
