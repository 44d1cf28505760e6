"""Produce frames: a request's bytes around its batches, and what the usual answer says, without an object per field.

    length · key 0, version, correlation id, client id · transactional id, acks, time-out
           · [topic: name · [partition: number, length, the batch]]

With batches of `batch.size` (16 KB by default) a busy producer sends thousands of requests a second. The general codec
makes an object for each topic and partition, and reads each field of an answer by a call: some 30 µs for a request,
here 3. It is the same wire format, versions 3 to 12 (the last that names topics), and the general codec is what the
tests compare it with. Everything unusual is left to that: `encode` knows no other versions, and `written` says None to
any answer that holds an error, a message or tags.

Small batches are copied into the frame; large ones are parts of their own, and leave from where the records were
appended.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from tidelog.client.producer._batch cimport ProducerBatch

cdef extern from "tidelog/records/kernel/_wire.h":
    void store_16(uint8_t* p, int16_t v) nogil
    void store_32(uint8_t* p, uint32_t v) nogil
    int16_t load_i16(const uint8_t* p) nogil
    int32_t load_i32(const uint8_t* p) nogil
    int64_t load_i64(const uint8_t* p) nogil

cdef enum:
    FIRST_COMPACT = 9
    COPIED_BELOW = 4096
    #: What stands around a topic's name and around a batch, at most.
    AROUND = 24

#: The versions that are known here.
OLDEST, NEWEST = 3, 12


cdef class _Frame:
    """Bytes that grow, and the parts that came before them."""
    cdef bytearray room
    cdef Py_ssize_t used
    cdef list parts
    cdef Py_ssize_t total               # of the parts
    cdef bint compact

    cdef uint8_t* need(self, Py_ssize_t size) except NULL:
        """Where `size` bytes may be written."""
        if self.used + size > len(self.room):
            self.room.extend(bytes(self.used + size))
        return <uint8_t*><char*>self.room + self.used

    cdef int number16(self, int16_t value) except -1:
        store_16(self.need(2), value)
        self.used += 2

    cdef int number32(self, int32_t value) except -1:
        store_32(self.need(4), <uint32_t>value)
        self.used += 4

    cdef int varint(self, uint64_t value) except -1:
        cdef uint8_t* p = self.need(10)
        while value >= 0x80:
            p[0] = <uint8_t>(value | 0x80)
            value >>= 7
            p += 1
            self.used += 1
        p[0] = <uint8_t>value
        self.used += 1

    cdef int tags(self) except -1:
        """None of them."""
        if self.compact:
            self.need(1)[0] = 0
            self.used += 1

    cdef int count(self, Py_ssize_t value) except -1:
        """Of an array's elements."""
        if self.compact:
            return self.varint(<uint64_t>value + 1)
        return self.number32(<int32_t>value)

    cdef int text(self, value, bint compact) except -1:
        cdef Py_ssize_t size = 0
        cdef const char* data
        if value is None:
            return self.varint(0) if compact else self.number16(-1)
        data = PyUnicode_AsUTF8AndSize(value, &size)
        if size > 0x7FFF:
            raise ValueError(f"a text of {size} bytes does not fit a request")
        if compact:
            self.varint(<uint64_t>size + 1)
        else:
            self.number16(<int16_t>size)
        memcpy(self.need(size + 1), data, size)
        self.used += size

    cdef int batch(self, ProducerBatch batch) except -1:
        """Its length and its bytes, here or as a part of their own."""
        if self.compact:
            self.varint(<uint64_t>batch.used + 1)
        else:
            self.number32(<int32_t>batch.used)
        if batch.data == NULL:
            raise BufferError("the batch is done, and its memory given back")
        if batch.used < COPIED_BELOW:
            memcpy(self.need(batch.used), batch.data, batch.used)
            self.used += batch.used
            return 0
        self.cut()
        self.parts.append(memoryview(batch))
        self.total += batch.used
        return 0

    cdef int cut(self) except -1:
        """What was written so far is a part."""
        if self.used:
            self.parts.append(PyBytes_FromStringAndSize(<char*>self.room, self.used))
            self.total += self.used
            self.used = 0


def encode(list batches not None, int version, int32_t correlation_id, client_id, transactional_id, int acks,
           int timeout_ms):
    """A whole request, as buffers to be written one after the other. Batches of one topic stand together."""
    cdef _Frame frame = _Frame.__new__(_Frame)
    cdef ProducerBatch batch
    cdef list same
    if not 3 <= version <= 12:
        raise ValueError(f"Produce v{version} is not known here")
    frame.room, frame.parts, frame.compact = bytearray(256), [], version >= FIRST_COMPACT
    frame.number32(0)
    frame.number16(0)
    frame.number16(<int16_t>version)
    frame.number32(correlation_id)
    frame.text(client_id, False)
    frame.tags()
    frame.text(transactional_id, frame.compact)
    frame.number16(<int16_t>acks)
    frame.number32(timeout_ms)
    topics = _by_topic(batches)
    frame.count(len(topics))
    for name, same in topics.items():
        frame.text(name, frame.compact)
        frame.count(len(same))
        for batch in same:
            frame.number32(batch.topic_partition[1])
            frame.batch(batch)
            frame.tags()
        frame.tags()
    frame.tags()
    return _measured(frame)


cdef dict _by_topic(list batches):
    cdef ProducerBatch batch
    cdef dict topics = {}
    for batch in batches:
        name = batch.topic_partition[0]
        same = topics.get(name)
        if same is None:
            topics[name] = [batch]
        else:
            (<list>same).append(batch)
    return topics


cdef list _measured(_Frame frame):
    """The parts, with the frame's length in the first of them, which nobody else has seen yet."""
    frame.cut()
    store_32(<uint8_t*>PyBytes_AS_STRING(frame.parts[0]), <uint32_t>(frame.total - 4))
    return frame.parts


cdef struct Reader:
    const uint8_t* p
    const uint8_t* end
    bint compact


cdef inline bint has(Reader* reader, Py_ssize_t size) noexcept:
    return reader.end - reader.p >= size


cdef int64_t size_of_next(Reader* reader, bint wide) noexcept:
    """A length (of an array if `wide`, else of a text); -1: null, -2: the frame ends before it does."""
    cdef uint64_t value = 0
    cdef uint8_t byte
    cdef int shift = 0
    if not reader.compact:
        if not has(reader, 4 if wide else 2):
            return -2
        reader.p += 4 if wide else 2
        return load_i32(reader.p - 4) if wide else load_i16(reader.p - 2)
    while reader.p < reader.end and shift < 35:
        byte = reader.p[0]
        reader.p += 1
        value |= <uint64_t>(byte & 0x7F) << shift
        if not byte & 0x80:
            return <int64_t>value - 1
        shift += 7
    return -2


cdef bint no_tags(Reader* reader) noexcept:
    """Whether there are none (or no place for any)."""
    if not reader.compact:
        return True
    if not has(reader, 1) or reader.p[0]:
        return False
    reader.p += 1
    return True


def written(frame, int version, list batches not None):
    """(batch, offset, log append time) for each batch, if all were written and the answer says nothing else; None
    otherwise.

    `frame` begins with the correlation id. Brokers answer for partitions in the order in which they were asked; another
    order is unusual, and so is anything that the frame does not hold to its end.
    """
    cdef const uint8_t[::1] view = frame
    cdef Reader reader
    cdef ProducerBatch batch
    cdef list outcomes = [], same
    cdef dict topics
    cdef int64_t offset, time
    if version < 3 or version > 12 or view.shape[0] < 4:
        return None
    reader.p, reader.end, reader.compact = &view[0] + 4, &view[0] + view.shape[0], version >= FIRST_COMPACT
    topics = _by_topic(batches)
    if not no_tags(&reader) or size_of_next(&reader, True) != len(topics):
        return None
    for name, same in topics.items():
        if not is_next(&reader, name) or size_of_next(&reader, True) != len(same):
            return None
        for batch in same:
            if not read_partition(&reader, version, batch.topic_partition[1], &offset, &time):
                return None
            outcomes.append((batch, offset, time))
        if not no_tags(&reader):
            return None
    if not has(&reader, 4):
        return None
    reader.p += 4  # for how long we were held back
    return outcomes if no_tags(&reader) else None


cdef bint is_next(Reader* reader, name) except -1:
    """Whether the next text is that one."""
    cdef Py_ssize_t size = 0
    cdef const char* data = PyUnicode_AsUTF8AndSize(name, &size)
    if size_of_next(reader, False) != size or not has(reader, size) or memcmp(data, reader.p, size):
        return False
    reader.p += size
    return True


cdef bint read_partition(Reader* reader, int version, int32_t partition, int64_t* offset, int64_t* time) noexcept:
    """What the answer says of one partition, if it is that one, and all is well."""
    cdef const uint8_t* p = reader.p
    cdef Py_ssize_t size = 30 if version >= 5 else 22
    if not has(reader, size) or load_i32(p) != partition or load_i16(p + 4):
        return False
    offset[0], time[0] = load_i64(p + 6), load_i64(p + 14)
    reader.p += size
    if version >= 8 and (size_of_next(reader, True) > 0 or size_of_next(reader, False) != -1):
        return False
    return no_tags(reader)
