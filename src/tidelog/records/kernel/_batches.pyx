"""BatchRun: the headers of the batches that lie in one buffer, parsed, checked and stamped without copying.

The broker's unit of work is the read event: all Produce frames that one read brought lie in one receive buffer, with
other bytes between their batches. A run names those batches. The same class walks a segment's bytes (`scan`).

    add / scan    read the fixed header of each batch: 61 bytes, no look at the records
    check         the checksum, then every record of the batch: lengths, counts, offset deltas, timestamps
    stamp         base offset and leader epoch lie in front of the checksummed part, so they are patched in place;
                  the largest timestamp and its type lie inside, so the checksum is made anew if they change
    buffers       what one writev writes: neighbours in the buffer become one piece

A producer's magic 2 batch starts with these bytes (big-endian):

    0 base offset 8 | 8 length 4 | 12 leader epoch 4 | 16 magic 1 | 17 crc-32c 4 | 21 attributes 2 | 23 last delta 4 |
    27 base timestamp 8 | 35 max timestamp 8 | 43 producer id 8 | 51 epoch 2 | 53 sequence 4 | 57 count 4 | 61 records

`check` raises CorruptRecordError when the checksum is wrong and InvalidRecordError when the checksum is right but the
contents are not, as Apache Kafka does: clients send a corrupt batch again, an invalid one never.

Who holds what: a run exports the buffer that its batches lie in, so that nobody can resize or unmap it meanwhile;
`release` gives it back early. A batch's fields are copied into an array of plain structs, four of which are part of the
object itself: most runs of a busy broker have fewer, and need no memory of their own.

The order of use on produce is fixed by what each step may rely on. `add` has compared sizes with the buffer, so `check`
may read up to a batch's end; `check` has walked the records, so `screen` may compare what it found; and `stamp` runs
last, in the moment of the append, when the offset is known. Nothing is looked at twice.

A size or a count in a header is believed only after it was compared with the bytes there are. That is why a hostile
batch costs no more than its own length, whatever it says of itself.
"""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, Py_buffer, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc, PyMem_Realloc
from libc.stdint cimport INT64_MAX, uint32_t
from libc.string cimport memcpy

from tidelog.common.errors import CorruptRecordError, InvalidRecordError
from tidelog.records.kernel._walk import fault_text
from tidelog.records.format.attributes import BatchHeader, Codec
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress

from tidelog.records.kernel._layout cimport (
    ATTRIBUTES_OFFSET, BASE_SEQUENCE_OFFSET, BASE_TIMESTAMP_OFFSET, CODEC_MASK, CONTROL_BIT, CRC_OFFSET,
    LAST_OFFSET_DELTA_OFFSET, LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, MAX_TIMESTAMP_OFFSET,
    MESSAGE_ATTRIBUTES_OFFSET, MESSAGE_CRC_OFFSET, MESSAGE_TIMESTAMP_OFFSET, PARTITION_LEADER_EPOCH_OFFSET,
    PRODUCER_EPOCH_OFFSET, PRODUCER_ID_OFFSET, RECORDS_COUNT_OFFSET, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT,
    message_key_size_offset, message_overhead
)
from tidelog.records.kernel._messages cimport MessageWalk, check_message, crc32_init, message_crc, walk_wrapper
from tidelog.records.kernel._walk cimport RISING, SEQUENTIAL, Walk, walk_records

cdef extern from "tidelog/records/kernel/_crc32c.h":
    void crc32c_init() nogil
    uint32_t crc32c_update(uint32_t value, const void* data, size_t length) nogil

cdef extern from "tidelog/records/kernel/_wire.h":
    uint32_t load_u32(const uint8_t* p) nogil
    int16_t load_i16(const uint8_t* p) nogil
    int32_t load_i32(const uint8_t* p) nogil
    int64_t load_i64(const uint8_t* p) nogil
    void store_16(uint8_t* p, int16_t v) nogil
    void store_32(uint8_t* p, uint32_t v) nogil
    void store_64(uint8_t* p, int64_t v) nogil

crc32_init()
crc32c_init()

cdef enum:
    UNLOCK_FROM = 32768         # bytes from which a check is worth giving up the GIL for

cdef enum:
    # What is wrong with a batch; what is wrong with its records has the numbers of _walk.pxd and _fields.h.
    BAD_BATCH = 200
    BAD_CRC

cdef inline void note_walk(Batch* batch, Walk* walk) noexcept nogil:
    """Keep what the walk has seen: the topic's rules (`screen`) and the stamp need it, and would have to walk again."""
    batch.walked = 1
    batch.found_max_timestamp = walk.max_timestamp
    batch.found_min_timestamp = walk.min_timestamp
    batch.found_max_index = walk.max_index
    batch.found_null_key = walk.null_key


cdef int64_t entry_size(const uint8_t* p, Py_ssize_t position) except -1:
    """The size of the batch or message at p, of which the magic byte and what is in front of it must be there.

    Raises when the magic is unknown, or when the size is less than the smallest entry of that magic: then nothing
    behind this place can be found either, for the size is what leads to the next entry.
    """
    cdef int64_t size = <int64_t>load_i32(p + LENGTH_OFFSET) + LOG_OVERHEAD
    if p[MAGIC_OFFSET] > 2:
        raise CorruptRecordError(f"the batch has magic {<int8_t>p[MAGIC_OFFSET]}: expected 0, 1 or 2", position)
    if size < (RECORD_BATCH_OVERHEAD if p[MAGIC_OFFSET] == 2 else LOG_OVERHEAD + message_overhead(p[MAGIC_OFFSET])):
        raise CorruptRecordError(f"the batch has {size} bytes: too few for magic {p[MAGIC_OFFSET]}", position)
    return size


cdef void read_v2(Batch* batch, const uint8_t* p) noexcept nogil:
    """The fixed fields of a magic 2 batch, of which 61 bytes must be there. The checksum is not read: whoever wants it
    compares it where it lies.
    """
    batch.base_offset = load_i64(p)
    batch.leader_epoch = load_i32(p + PARTITION_LEADER_EPOCH_OFFSET)
    batch.attributes = load_i16(p + ATTRIBUTES_OFFSET)
    batch.last_offset_delta = load_i32(p + LAST_OFFSET_DELTA_OFFSET)
    batch.base_timestamp = load_i64(p + BASE_TIMESTAMP_OFFSET)
    batch.max_timestamp = load_i64(p + MAX_TIMESTAMP_OFFSET)
    batch.producer_id = load_i64(p + PRODUCER_ID_OFFSET)
    batch.producer_epoch = load_i16(p + PRODUCER_EPOCH_OFFSET)
    batch.base_sequence = load_i32(p + BASE_SEQUENCE_OFFSET)
    batch.record_count = load_i32(p + RECORDS_COUNT_OFFSET)


cdef void read_legacy(Batch* batch, const uint8_t* p) noexcept nogil:
    """A magic 0 or 1 entry: one message, or the wrapper of a compressed set."""
    batch.base_offset = load_i64(p)
    batch.leader_epoch = batch.base_sequence = -1
    batch.attributes = <int8_t>p[MESSAGE_ATTRIBUTES_OFFSET]
    batch.last_offset_delta = 0
    batch.base_timestamp = batch.max_timestamp = load_i64(p + MESSAGE_TIMESTAMP_OFFSET) if batch.magic else -1
    batch.producer_id = batch.producer_epoch = -1
    batch.record_count = -1 if batch.attributes & CODEC_MASK else 1


cdef void note_message(Batch* batch, const uint8_t* p) noexcept nogil:
    """What a walk would find in a plain message.

    A plain message is its own batch of one record, so its header says all that a walk would find.
    """
    if batch.attributes & CODEC_MASK:
        return
    batch.walked = 1
    batch.found_max_timestamp = max(batch.max_timestamp, <int64_t>-1)
    batch.found_min_timestamp = INT64_MAX if batch.max_timestamp == -1 else batch.max_timestamp
    batch.found_max_index = 0 if batch.max_timestamp > -1 else -1
    batch.found_null_key = 0 if load_i32(p + message_key_size_offset(batch.magic)) < 0 else -1


cdef int64_t stamp_message(Batch* batch, uint8_t* p, int64_t first_offset, int64_t log_append_time) except? -2:
    """Give an entry of magic 0 or 1 its offset, and a time; answer the offset after it.

    A wrapper of magic 0 holds absolute offsets: it must have been packed for just these.

    The offset of a message lies outside its checksum, too; timestamp and attributes inside. Magic 0 has no time to set.
    In magic 1 a wrapper speaks for its messages: with LogAppendTime its own timestamp and bit are all that a broker has
    to change.
    """
    cdef int64_t last_offset = first_offset + batch.record_count - 1
    cdef int64_t timestamp
    if batch.record_count < 1 or (batch.magic == 0 and batch.attributes & CODEC_MASK
                                  and batch.base_offset != last_offset):
        raise ValueError(f"a wrapper of magic {batch.magic} with {batch.record_count} messages was not packed for "
                         f"offsets {first_offset} to {last_offset}")
    batch.base_offset = last_offset
    store_64(p, last_offset)
    if batch.magic == 1:
        timestamp = batch.found_max_timestamp if batch.walked else batch.max_timestamp
        if log_append_time >= 0:
            timestamp = log_append_time
        elif timestamp < -1:
            timestamp = -1
        if timestamp != batch.max_timestamp or (log_append_time >= 0) != bool(batch.attributes & TIMESTAMP_TYPE_BIT):
            batch.max_timestamp = batch.base_timestamp = timestamp
            batch.attributes = (batch.attributes & CODEC_MASK) | (TIMESTAMP_TYPE_BIT if log_append_time >= 0 else 0)
            p[MESSAGE_ATTRIBUTES_OFFSET] = <uint8_t>batch.attributes
            store_64(p + MESSAGE_TIMESTAMP_OFFSET, timestamp)
            store_32(p + MESSAGE_CRC_OFFSET, message_crc(p, batch.size - LOG_OVERHEAD))
    return last_offset + 1


cdef object client_fault(Batch* batch):
    """Why a batch of a client is refused whatever its records are, or None.

    A control batch could end somebody's transaction, and a producer id without a sequence could not be told from its
    own retry: neither is for clients. A count that does not fit the last offset delta would leave offsets that nobody
    has.
    """
    if batch.record_count <= 0:
        return f"the batch says that it has {batch.record_count} records: expected at least 1"
    if batch.last_offset_delta != batch.record_count - 1:
        return f"the last offset delta is {batch.last_offset_delta}: expected {batch.record_count - 1} " \
               f"for {batch.record_count} records"
    if batch.attributes & CONTROL_BIT:
        return "clients may not write control batches"
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        return f"the base sequence of producer {batch.producer_id} is {batch.base_sequence}: expected 0 or more"
    return None


cdef inline bint client_rules_hold(Batch* batch) noexcept nogil:
    """The same as `client_fault`, for the usual case: a yes or no without the GIL, before words are needed."""
    return (batch.record_count > 0 and batch.last_offset_delta == batch.record_count - 1
            and not batch.attributes & CONTROL_BIT and (batch.producer_id < 0 or batch.base_sequence >= 0))


cdef inline bint disk_rules_hold(Batch* batch) noexcept nogil:
    """Compaction leaves holes, even batches of no records, but never more records than offsets."""
    return batch.record_count >= 0 and batch.last_offset_delta >= max(batch.record_count - 1, 0)


# Runs are made and dropped with every read event of a broker: a few are kept instead of being given back to Python.
@cython.freelist(16)
@cython.no_gc_clear  # breaking a cycle must not drop the buffer that `source` still exports
cdef class BatchRun:
    def __cinit__(self, buffer):
        self.batches = self.few
        self.capacity = 4
        PyObject_GetBuffer(buffer, &self.source, PyBUF_SIMPLE)
        self.held = True
        self.data = <uint8_t*>self.source.buf
        self.length = self.source.len
        self.locked = self.source.readonly
        if isinstance(buffer, memoryview):
            self.hold_base((<object>buffer).obj)

    cdef int hold_base(self, object base) except -1:
        """Hold the bytes themselves instead of a view of them: before CPython 3.12.8 a memoryview with an exported
        buffer crashes the process when the garbage collector breaks a cycle that it is part of (gh-77894).

        For the same reason `Held` in `_columns.pyx` does it.
        """
        cdef Py_buffer bytes_held
        PyObject_GetBuffer(base, &bytes_held, PyBUF_SIMPLE)
        self.offset = self.data - <uint8_t*>bytes_held.buf
        if 0 <= self.offset <= bytes_held.len - self.length:
            PyBuffer_Release(&self.source)
            self.source = bytes_held
        else:  # a view of something that copies when asked for its bytes
            self.offset = 0
            PyBuffer_Release(&bytes_held)
        return 0

    def __dealloc__(self):
        if self.batches != self.few:
            PyMem_Free(self.batches)
        if self.held:
            PyBuffer_Release(&self.source)

    def __len__(self):
        return self.count

    @property
    def buffer(self):
        """The object that the batches lie in."""
        if not self.held:
            return None
        if self.offset == 0 and self.length == self.source.len:
            return <object>self.source.obj
        return memoryview(<object>self.source.obj).cast("B")[self.offset:self.offset + self.length]

    @property
    def readonly(self):
        return self.locked

    cdef Batch* grow(self) except NULL:
        """Room for one more batch at the end; the caller fills it and counts it.

        From four in the object to 64 outside, then twice as many each time. Addresses of batches are good until the
        next call.
        """
        cdef Batch* more
        if self.count == self.capacity:
            if self.batches == self.few:
                more = <Batch*>PyMem_Malloc(64 * sizeof(Batch))
                if more != NULL:
                    memcpy(more, self.few, self.count * sizeof(Batch))
                    self.capacity = 64
            else:
                more = <Batch*>PyMem_Realloc(self.batches, 2 * self.capacity * sizeof(Batch))
                if more != NULL:
                    self.capacity *= 2
            if more == NULL:
                raise MemoryError
            self.batches = more
        return &self.batches[self.count]

    cdef int append_c(self, Py_ssize_t position, Py_ssize_t size) except -1:
        """Read the header of a batch whose place and size were found sound.

        The run's sums (bytes, records, how many are packed) grow with it, so that nobody has to go through the batches
        for them. A wrapper of magic 0 or 1 does not say how many messages it holds and counts as none, until
        `know_wrapper` tells.
        """
        cdef const uint8_t* p = self.data + position
        cdef Batch* batch = self.grow()
        batch.position = position
        batch.size = <int32_t>size
        batch.magic = <int8_t>p[MAGIC_OFFSET]
        batch.walked = 0
        if batch.magic == 2:
            read_v2(batch, p)
        else:
            read_legacy(batch, p)
        self.count += 1
        self.size += size
        if batch.record_count > 0:
            self.record_total += batch.record_count
        if batch.attributes & CODEC_MASK:
            self.compressed += 1
        return 0

    cdef int add_c(self, Py_ssize_t position, Py_ssize_t size) except -1:
        """One batch that fills these bytes to the last one, as a Produce request of version 3 or later must hold it.
        The three comparisons are the usual case; what is wrong otherwise is found out by `add_fault`, in words.
        """
        cdef const uint8_t* p = self.data + position
        if position < 0 or size < 0 or size > self.length - position:
            raise CorruptRecordError(f"a batch of {size} bytes does not lie in a buffer of {self.length}", position)
        if (size >= RECORD_BATCH_OVERHEAD and p[MAGIC_OFFSET] == 2
                and load_i32(p + LENGTH_OFFSET) == size - LOG_OVERHEAD):
            return self.append_c(position, size)
        raise add_fault(p, position, size)

    cdef Py_ssize_t scan_c(self, Py_ssize_t start, Py_ssize_t end) except -1:
        """Every whole entry from `start` on; stops in front of one that is cut off, and says where. A log or a fetch
        may end anywhere, so that is no error; an entry that is whole but wrong is.
        """
        cdef int64_t size
        if start < 0 or end > self.length or start > end:
            raise ValueError(f"no part of a buffer of {self.length} bytes: {start} to {end}")
        while end - start > MAGIC_OFFSET:
            size = entry_size(self.data + start, start)
            if size > end - start:
                break
            self.append_c(start, size)
            start += size
        return start

    cdef int check_c(self, Py_ssize_t first, Py_ssize_t stop, bint crc, bint records, bint client) except -1:
        """Check the batches [first, stop), but not the records of compressed ones; raise for the first fault.

        Below 32 KB a check takes a few microseconds, less than another thread would need to take the GIL and give it
        back; above, others may run meanwhile.
        """
        cdef Walk walk
        cdef Py_ssize_t index = first
        cdef int fault = 0
        cdef bint unlock = self.size >= UNLOCK_FROM
        while index < stop:
            if self.batches[index].magic != 2:
                check_message(self.data + self.batches[index].position, self.batches[index].size, crc,
                              self.batches[index].position)
                note_message(&self.batches[index], self.data + self.batches[index].position)
                index += 1
                continue
            if unlock:
                with nogil:
                    fault = check_batches(self.data, self.batches, &index, stop, crc, records, client, &walk)
            else:
                fault = check_batches(self.data, self.batches, &index, stop, crc, records, client, &walk)
            if fault:
                raise batch_fault(self, index, fault, &walk, client)
        return 0

    cdef int check_compressed(self, Py_ssize_t index, bint client, Py_ssize_t limit) except -1:
        """Unpack one compressed batch and walk its records.

        Unpacking is the dear part of taking what a producer has packed, and it cannot be left out: only the unpacked
        bytes show whether a reader could read them. What is unpacked is thrown away; the packed batch is what is
        stored.
        """
        cdef Batch* batch = &self.batches[index]
        cdef Walk walk
        cdef const uint8_t* start
        cdef int fault
        codec = batch.attributes & CODEC_MASK
        if codec > 4:
            raise InvalidRecordError(f"the batch at byte {batch.position} has codec {codec}: expected 0 to 4")
        packed = self.view_of(batch.position + RECORD_BATCH_OVERHEAD, batch.size - RECORD_BATCH_OVERHEAD)
        try:
            plain = decompress(Codec(codec), packed, limit=limit)
        except CorruptRecordError as error:  # the checksum was right: sending it again will not help
            raise InvalidRecordError(f"{error.message} (batch at byte {batch.position})") from error
        start = <const uint8_t*><const char*>(<bytes>plain)
        cdef const uint8_t* end = start + len(<bytes>plain)
        with nogil:
            fault = walk_records(start, end, batch.record_count, batch.base_timestamp, batch.last_offset_delta,
                                 SEQUENTIAL if client else RISING, &walk)
            if not fault:
                note_walk(batch, &walk)
        if fault:
            raise record_fault(batch, fault, &walk, walk.fault_at - start, " unpacked")
        return 0

    cdef int check_wrapper(self, Py_ssize_t index, bint crc, Py_ssize_t limit) except -1:
        """Unpack one wrapper of magic 0 or 1 and walk its messages, which are counted by that."""
        cdef Batch* batch = &self.batches[index]
        cdef MessageWalk walk
        walk_wrapper(self.view_of(batch.position, batch.size), limit, crc, batch.position, &walk)
        self.know_wrapper(index, walk.count, walk.max_timestamp)
        batch.found_min_timestamp = walk.min_timestamp
        batch.found_max_index = walk.max_index
        batch.found_null_key = walk.null_key
        return 0

    cpdef void know_wrapper(self, Py_ssize_t index, int32_t count, int64_t max_timestamp) noexcept:
        """Note what somebody who unpacked this wrapper found in it, so that it can be stamped."""
        cdef Batch* batch = &self.batches[index]
        self.record_total += count - max(batch.record_count, 0)
        batch.record_count = count
        batch.walked = 1
        batch.found_max_timestamp = max_timestamp

    cdef Py_ssize_t screen_c(self, Py_ssize_t first, Py_ssize_t stop, int codec, bint keys, int64_t earliest,
                             int64_t latest) noexcept nogil:
        """The first of the checked batches [first, stop) that a topic cannot take as it is, or -1: one with another
        codec (`codec` -1: any will do), a record without a key where `keys` are needed, or a timestamp outside
        [earliest, latest] or that claims to be the broker's."""
        cdef Batch* batch
        for index in range(first, stop):
            batch = &self.batches[index]
            if (batch.magic != 2 or not batch.walked or batch.attributes & TIMESTAMP_TYPE_BIT
                    or (codec >= 0 and codec != batch.attributes & CODEC_MASK)
                    or (keys and batch.found_null_key >= 0)
                    or batch.found_min_timestamp < earliest or batch.found_max_timestamp > latest):
                return index
        return -1

    cdef int64_t stamp_c(self, Py_ssize_t first, Py_ssize_t stop, int64_t first_offset, int32_t leader_epoch,
                         int64_t log_append_time) except? -2:
        """`log_append_time` -1: keep the producer's timestamps, but set right a largest one that is not theirs, and a
        claim that they are the broker's.

        Base offset and leader epoch lie in front of the checksummed bytes: two stores, and the checksum is still true.
        Only where the largest timestamp or its type has to change is it computed anew, over the whole batch, at the
        speed of memory.

        A wrong largest timestamp is set right rather than refused, as Kafka does: the time index is made of it.
        """
        cdef Batch* batch
        cdef uint8_t* p
        if self.locked:
            raise BufferError("a run can only be stamped in a writable buffer")
        for index in range(first, stop):
            batch = &self.batches[index]
            p = self.data + batch.position
            if batch.magic != 2:
                first_offset = stamp_message(batch, p, first_offset, log_append_time)
                continue
            batch.base_offset = first_offset
            batch.leader_epoch = leader_epoch
            store_64(p, first_offset)
            store_32(p + PARTITION_LEADER_EPOCH_OFFSET, <uint32_t>leader_epoch)
            first_offset += <int64_t>batch.last_offset_delta + 1
            if log_append_time >= 0:
                batch.attributes |= TIMESTAMP_TYPE_BIT
                batch.max_timestamp = log_append_time
            elif batch.walked and (batch.found_max_timestamp != batch.max_timestamp
                                   or batch.attributes & TIMESTAMP_TYPE_BIT):
                batch.attributes &= ~TIMESTAMP_TYPE_BIT
                batch.max_timestamp = batch.found_max_timestamp
            else:
                continue
            store_16(p + ATTRIBUTES_OFFSET, batch.attributes)
            store_64(p + MAX_TIMESTAMP_OFFSET, batch.max_timestamp)
            store_32(p + CRC_OFFSET, crc32c_update(0, p + ATTRIBUTES_OFFSET, batch.size - ATTRIBUTES_OFFSET))
        return first_offset - 1

    cdef object view_of(self, Py_ssize_t position, Py_ssize_t size):
        """A part of the buffer as a memoryview; one view of the whole is kept, and sliced."""
        if self.memory is None:
            self.memory = memoryview(<object>self.source.obj)
            if self.memory.format != "B":
                self.memory = self.memory.cast("B")
        position += self.offset
        return self.memory[position:position + size]

    cdef int clear_c(self) except -1:
        self.count = 0
        self.size = self.record_total = 0
        self.compressed = 0
        return 0

    def add(self, Py_ssize_t position, Py_ssize_t size):
        """Add the one magic 2 batch that fills exactly these bytes."""
        self.add_c(position, size)

    def scan(self, Py_ssize_t start=0, end=None):
        """Add every whole batch of [start, end), of any magic; return the end of the last one."""
        return self.scan_c(start, self.length if end is None else end)

    def check(self, bint crc=True, bint records=True, bint client=True, *, Py_ssize_t first=0, stop=None,
              limit=None):
        """Raise unless checksums (`crc`) and contents (`records`) of the batches [first, stop) are sound.
        `client`: also the rules for what a producer may send; without it, what compaction leaves is fine too."""
        cdef Py_ssize_t last = self.count if stop is None else stop
        if first < 0 or last > self.count:
            raise IndexError(f"the run has {self.count} batches")
        self.check_c(first, last, crc, records, client)
        if records and self.compressed:
            for index in range(first, last):
                if self.batches[index].attributes & CODEC_MASK:
                    if self.batches[index].magic == 2:
                        self.check_compressed(index, client, DEFAULT_LIMIT if limit is None else limit)
                    else:
                        self.check_wrapper(index, crc, DEFAULT_LIMIT if limit is None else limit)

    def screen(self, int codec, bint keys, int64_t earliest, int64_t latest):
        """The first checked batch that a topic with these rules cannot take as it is, or -1; see `records.validate`.

        -1 for all is the usual answer: then no record of the run is looked at again, in Python or elsewhere.
        """
        return self.screen_c(0, self.count, codec, keys, earliest, latest)

    def stamp(self, int64_t first_offset, int32_t leader_epoch, *, log_append_time=None, Py_ssize_t first=0, stop=None):
        """Give the batches [first, stop) their offsets, one after the other, and an epoch; return the last offset."""
        cdef Py_ssize_t last = self.count if stop is None else stop
        if first < 0 or last > self.count:
            raise IndexError(f"the run has {self.count} batches")
        return self.stamp_c(first, last, first_offset, leader_epoch, -1 if log_append_time is None else log_append_time)

    def buffers(self):
        """The batches' bytes in order, neighbours joined: ready for one writev.

        Batches that came in one request lie one behind the other and become one piece; between those of different
        requests lie the requests' other bytes. writev takes them all without a copy.
        """
        cdef list pieces = []
        cdef int64_t start = 0, end = 0
        for index in range(self.count):
            if self.batches[index].position != end or index == 0:
                if end > start:
                    pieces.append(self.view_of(start, end - start))
                start = self.batches[index].position
                end = start
            end += self.batches[index].size
        if end > start:
            pieces.append(self.view_of(start, end - start))
        return pieces

    def view(self, Py_ssize_t index):
        """The bytes of one batch."""
        cdef Batch* batch = at(self, index)
        return self.view_of(batch.position, batch.size)

    def header(self, Py_ssize_t index):
        """One batch's header as a value, with its checksum as stored."""
        cdef Batch* b = at(self, index)
        crc = load_u32(self.data + b.position + (CRC_OFFSET if b.magic == 2 else MESSAGE_CRC_OFFSET))
        return BatchHeader(b.position, b.size, b.base_offset, b.last_offset_delta, b.leader_epoch, b.magic, crc,
                           b.attributes, b.base_timestamp, b.max_timestamp, b.producer_id, b.producer_epoch,
                           b.base_sequence, b.record_count)

    def headers(self):
        return [self.header(index) for index in range(self.count)]

    def found(self, Py_ssize_t index):
        """What check(records=True) saw: (smallest timestamp or None, largest or -1, its record's index or -1,
        index of the first record without a key or -1).

        For tests and tools: brokers use the compiled form.
        """
        cdef Batch* b = at(self, index)
        if not b.walked:
            raise ValueError("the batch's records have not been checked")
        smallest = None if b.found_min_timestamp == INT64_MAX else b.found_min_timestamp
        return smallest, b.found_max_timestamp, b.found_max_index, b.found_null_key

    def largest_timestamp(self):
        """(the largest timestamp that check found or -1, the index of its first record counted over the run or -1)"""
        cdef int64_t largest = -1, where = -1, before = 0
        for index in range(self.count):
            if self.batches[index].walked and self.batches[index].found_max_timestamp > largest:
                largest = self.batches[index].found_max_timestamp
                where = before + self.batches[index].found_max_index
            before += max(self.batches[index].record_count, 0)
        return largest, where

    def take(self, Py_ssize_t start, Py_ssize_t stop):
        """A run of the batches [start, stop) in the same buffer, with what check found.

        For a run that must be split at a segment's end: both halves keep what was checked, and share the buffer.
        """
        cdef BatchRun part = BatchRun(self.buffer)
        if start < 0 or stop > self.count or start > stop:
            raise IndexError(f"the run has {self.count} batches")
        for index in range(start, stop):
            part.append_c(self.batches[index].position, self.batches[index].size)
            part.batches[part.count - 1] = self.batches[index]
        return part

    def clear(self):
        """Forget the batches; the buffer stays."""
        self.clear_c()

    def release(self):
        """Let go of the buffer, so that it can be resized or unmapped. The run is empty afterwards.

        A receive buffer is used again as soon as its requests are done, and a mapped file cannot be unmapped while
        somebody exports it: who is done says so, and does not wait for the garbage collector.
        """
        self.clear_c()
        self.memory = None
        self.data = NULL
        self.length = 0
        if self.held:
            self.held = False
            PyBuffer_Release(&self.source)


cdef Batch* at(BatchRun run, Py_ssize_t index) except NULL:
    if index < 0 or index >= run.count:
        raise IndexError(f"the run has {run.count} batches")
    return &run.batches[index]


cdef int check_batches(uint8_t* data, Batch* batches, Py_ssize_t* index, Py_ssize_t stop, bint crc, bint records,
                       bint client, Walk* walk) noexcept nogil:
    """Check from `index` on up to the first fault or legacy entry, which `index` then names.

    First the checksum, over all bytes from the attributes on; then the structure of the records, if they are not
    packed. In that order, because a wrong checksum explains everything that is wrong behind it, and has another answer.
    """
    cdef Batch* batch
    cdef uint8_t* p
    cdef int fault
    while index[0] < stop and batches[index[0]].magic == 2:
        batch = &batches[index[0]]
        p = data + batch.position
        if crc and crc32c_update(0, p + ATTRIBUTES_OFFSET, batch.size - ATTRIBUTES_OFFSET) != load_u32(p + CRC_OFFSET):
            return BAD_CRC
        if records:
            if not (client_rules_hold(batch) if client else disk_rules_hold(batch)):
                return BAD_BATCH
            if not batch.attributes & CODEC_MASK:
                fault = walk_records(p + RECORD_BATCH_OVERHEAD, p + batch.size, batch.record_count,
                                     batch.base_timestamp, batch.last_offset_delta,
                                     SEQUENTIAL if client else RISING, walk)
                if fault:
                    return fault
                note_walk(batch, walk)
        index[0] += 1
    return 0


cdef object add_fault(const uint8_t* p, Py_ssize_t position, Py_ssize_t size):
    """The error for bytes that are not exactly one magic 2 batch."""
    if size <= MAGIC_OFFSET:
        return CorruptRecordError(f"a batch of {size} bytes: expected at least {RECORD_BATCH_OVERHEAD}", position)
    magic = <int8_t>p[MAGIC_OFFSET]
    if magic in (0, 1):
        return InvalidRecordError(f"the batch has magic {magic}: this version of the request takes only magic 2")
    if magic != 2:
        return CorruptRecordError(f"the batch has magic {magic}: expected 2", position)
    stated = load_i32(p + LENGTH_OFFSET)
    if stated < RECORD_BATCH_OVERHEAD - LOG_OVERHEAD:
        return CorruptRecordError(f"the batch's length field says {stated}: expected at least "
                                  f"{RECORD_BATCH_OVERHEAD - LOG_OVERHEAD}", position)
    if stated < size - LOG_OVERHEAD:
        return InvalidRecordError(f"{size - LOG_OVERHEAD - stated} bytes follow the batch: this version of the request "
                                  f"takes exactly one batch per partition")
    return CorruptRecordError(f"the batch is cut off: its length field says {stated}, there are "
                              f"{size - LOG_OVERHEAD} bytes", position)


cdef object batch_fault(BatchRun run, Py_ssize_t index, int fault, Walk* walk, bint client):
    cdef Batch* batch = &run.batches[index]
    cdef uint8_t* p = run.data + batch.position
    if fault == BAD_CRC:
        found = crc32c_update(0, p + ATTRIBUTES_OFFSET, batch.size - ATTRIBUTES_OFFSET)
        return CorruptRecordError(f"the batch's checksum is {found:#010x}: "
                                  f"its header says {load_u32(p + CRC_OFFSET):#010x}", batch.position)
    if fault == BAD_BATCH:
        text = client_fault(batch) if client else None
        if text is None:
            text = f"{batch.record_count} records do not fit a last offset delta of {batch.last_offset_delta}"
        return InvalidRecordError(f"{text} (batch at byte {batch.position})")
    return record_fault(batch, fault, walk, walk.fault_at - run.data, "")


cdef object record_fault(Batch* batch, int fault, Walk* walk, Py_ssize_t position, str unpacked):
    text = (f"{fault_text(fault, walk.index, walk.expected, walk.found)} at{unpacked} byte {position} "
            f"of the batch at byte {batch.position}")
    return InvalidRecordError(text)
