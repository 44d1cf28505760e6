"""ConsumerRecord, which decodes when looked at, and RecordCursor, which walks one partition's part of a fetch.

A record is a few addresses: where its key, value and headers lie in the fetched bytes. Making one takes some 30 ns, as
no key, value or header becomes a Python object before somebody asks for it; then it is made once and kept. Many
programs look at the value alone, or filter by offset, and pay for no more.

The bytes stay where the socket put them as long as a record points there: a record that is kept keeps the whole answer
(about `max.partition.fetch.bytes`). Whoever keeps few of many records keeps `copy()` of them, or what he took out.

    RecordCursor        batches of one answer, in order ──► wanted? (BatchFilter: range, control, aborted)
        └─ BatchOrigin  what the records of a batch share: topic, partition, bytes, epoch, deserializers
             └─ ConsumerRecord

Why a record does not simply copy its bytes: a poll of a thousand records would make three thousand objects, of which
most programs look at a third. Why it does not keep the cursor: cursors are closed when their last record is out, and
the records live on; the batch's origin is what they share, and nothing else.

Why no garbage collector looks at records (`no_gc`): a record refers to its origin and to what it has decoded, and
neither refers back, so that no cycle can run through it. A collector that walked over them would find nothing.

A cursor checks a batch's structure as it goes, record by record, with the same reader as everybody (`_fields.h`): a
record is handed out only if all lengths of it fit the bytes that are there.

It looks at a batch's checksum just before its first record: on the user's thread, so that the loop can send the next
fetch at once, and so near to the records that their bytes are still in the core's own cache when values are made.
"""

cimport cython
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t

from tidelog.records.kernel._batches cimport Batch, BatchRun
from tidelog.records.kernel._fields cimport Fields, read_fields
from tidelog.records.kernel._filter cimport BatchFilter
from tidelog.records.kernel._layout cimport CODEC_MASK, RECORD_BATCH_OVERHEAD, TIMESTAMP_TYPE_BIT

from tidelog.client.consumer.errors import RecordDeserializationError
from tidelog.common.errors import CorruptRecordError
from tidelog.common.types import TopicPartition
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress
from tidelog.records.format.attributes import Codec, TimestampType
from tidelog.records.format.convert import up_convert

cdef extern from "tidelog/records/kernel/_wire.h":
    int64_t add_wrapping(int64_t a, int64_t b) nogil
    const uint8_t* read_varint(const uint8_t* p, const uint8_t* end, int32_t* out) nogil
    void store_32(uint8_t* p, uint32_t v) nogil
    void store_64(uint8_t* p, int64_t v) nogil

cdef extern from "tidelog/records/kernel/_crc32c.h":
    void crc32c_init() nogil
    uint32_t crc32c_update(uint32_t value, const void* data, size_t length) nogil

crc32c_init()

cdef enum:
    SMALLEST_RECORD = 7

cdef tuple TIMESTAMP_TYPES = (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME)
cdef object NO_TIMESTAMP = TimestampType.NO_TIMESTAMP


cdef class Decoders:
    """How keys and values become objects: None leaves bytes, `str` decodes UTF-8 here, anything else is called with
    (topic, bytes, headers).
    """

    cdef object key, value
    cdef bint key_text, value_text

    def __init__(self, key=None, value=None):
        self.key_text = key is str
        self.value_text = value is str
        self.key = None if self.key_text else key
        self.value = None if self.value_text else value


cdef class BatchOrigin:
    """What the records of one batch share. It holds the bytes that they point into."""

    cdef object held            # a BatchRun, or unpacked bytes
    cdef str topic
    cdef int32_t partition
    cdef int32_t leader_epoch
    cdef int8_t timestamp_type
    cdef Decoders decoders


@cython.freelist(1024)
@cython.no_gc
cdef class ConsumerRecord:
    """One record, as a consumer gets it: Java's fields, in Python's names.

    `key` and `value` are what the deserializers make of them; `headers` is a tuple of (name, value) pairs, in order.
    """

    cdef BatchOrigin origin
    cdef readonly int64_t offset
    cdef readonly int64_t timestamp
    cdef const uint8_t* key_at
    cdef const uint8_t* value_at
    cdef const uint8_t* headers_at
    cdef const uint8_t* stop
    cdef readonly int32_t serialized_key_size     # -1: null
    cdef readonly int32_t serialized_value_size
    cdef int32_t header_count
    cdef bint key_known, value_known
    cdef object known_key, known_value, known_headers

    def __init__(self, str topic, int32_t partition, int64_t offset, key=None, value=None, *, int64_t timestamp=-1,
                 timestamp_type=TimestampType.CREATE_TIME, headers=(), leader_epoch=None,
                 int32_t serialized_key_size=-1, int32_t serialized_value_size=-1):
        """A record made by hand: for tests of what handles records, for interceptors, and for `copy`."""
        self.origin = BatchOrigin.__new__(BatchOrigin)
        self.origin.topic = topic
        self.origin.partition = partition
        self.origin.leader_epoch = -1 if leader_epoch is None else leader_epoch
        self.origin.timestamp_type = timestamp_type
        self.offset = offset
        self.timestamp = timestamp
        self.known_key, self.known_value, self.known_headers = key, value, tuple(headers)
        self.key_known = self.value_known = True
        self.serialized_key_size, self.serialized_value_size = serialized_key_size, serialized_value_size

    @property
    def topic(self):
        return self.origin.topic

    @property
    def partition(self):
        return self.origin.partition

    @property
    def topic_partition(self):
        return TopicPartition(self.origin.topic, self.origin.partition)

    @property
    def leader_epoch(self):
        """The leader's epoch when the record was written; None if the log does not say."""
        return None if self.origin.leader_epoch < 0 else self.origin.leader_epoch

    @property
    def timestamp_type(self):
        return NO_TIMESTAMP if self.timestamp == -1 else TIMESTAMP_TYPES[self.origin.timestamp_type]

    @property
    def key(self):
        if not self.key_known:
            self.known_key = self.decode(self.key_at, self.serialized_key_size, self.origin.decoders.key,
                                         self.origin.decoders.key_text, "key")
            self.key_known = True
        return self.known_key

    @property
    def value(self):
        if not self.value_known:
            self.known_value = self.decode(self.value_at, self.serialized_value_size, self.origin.decoders.value,
                                           self.origin.decoders.value_text, "value")
            self.value_known = True
        return self.known_value

    @property
    def headers(self):
        if self.known_headers is None:
            self.known_headers = self.take_headers() if self.header_count else ()
        return self.known_headers

    @property
    def raw_key(self):
        """The key's bytes, whatever the deserializer says of them (None in a record made by hand)."""
        return as_bytes(self.key_at, self.serialized_key_size) if self.key_at != NULL else None

    @property
    def raw_value(self):
        """The value's bytes: what a dead-letter topic gets."""
        return as_bytes(self.value_at, self.serialized_value_size) if self.value_at != NULL else None

    @property
    def checksum(self):
        """What Java's deprecated `checksum()` says: records have had no checksum of their own since magic 2, and this
        one is computed from the timestamp and the two sizes alone. It tells nothing of the contents.
        """
        cdef uint8_t fields[16]
        store_64(&fields[0], self.timestamp)
        store_32(&fields[8], <uint32_t>self.serialized_key_size)
        store_32(&fields[12], <uint32_t>self.serialized_value_size)
        return crc32c_update(0, &fields[0], 16)

    def copy(self):
        """The same record, decoded, which does not keep the fetched bytes alive."""
        return _made(*self._fields())

    cdef object decode(self, const uint8_t* at, int32_t size, object decoder, bint text, str what):
        """A null stays None, as in Java; a deserializer that fails is told of with the record's place."""
        if size < 0:
            return None
        try:
            if text:
                return PyUnicode_DecodeUTF8(<const char*>at, size, NULL)
            if decoder is None:
                return PyBytes_FromStringAndSize(<const char*>at, size)
            return decoder(self.origin.topic, PyBytes_FromStringAndSize(<const char*>at, size), self.headers)
        except Exception as error:
            raise RecordDeserializationError(self.topic_partition, self.offset, what, error) from error

    cdef tuple take_headers(self):
        """Headers were found to be sound when the record was. A name that is no UTF-8 does not hide the record."""
        cdef const uint8_t* p = self.headers_at
        cdef list headers = []
        cdef int32_t length = 0
        for _ in range(self.header_count):
            p = read_varint(p, self.stop, &length)
            name = PyUnicode_DecodeUTF8(<const char*>p, length, "replace")
            p = read_varint(p + length, self.stop, &length)
            headers.append((name, as_bytes(p, length)))
            p += max(length, 0)
        return tuple(headers)

    def _fields(self):
        return (self.topic, self.partition, self.offset, self.key, self.value, self.timestamp,
                self.origin.timestamp_type, self.headers, self.leader_epoch, self.serialized_key_size,
                self.serialized_value_size)

    def __eq__(self, other):
        if not isinstance(other, ConsumerRecord):
            return NotImplemented
        return self._fields() == other._fields()

    def __hash__(self):
        return hash((self.origin.topic, self.origin.partition, self.offset))

    def __reduce__(self):
        return _made, self._fields()

    def __repr__(self):
        return (f"ConsumerRecord({self.topic_partition} offset {self.offset}, timestamp={self.timestamp}, "
                f"key={self.key!r}, value={self.value!r}, headers={self.headers!r})")


cdef inline object as_bytes(const uint8_t* at, int32_t size):
    return None if size < 0 else PyBytes_FromStringAndSize(<const char*>at, size)


def _made(topic, partition, offset, key, value, timestamp, timestamp_type, headers, leader_epoch, key_size, value_size):
    return ConsumerRecord(topic, partition, offset, key, value, timestamp=timestamp, timestamp_type=timestamp_type,
                          headers=headers, leader_epoch=leader_epoch, serialized_key_size=key_size,
                          serialized_value_size=value_size)


cdef class RecordCursor:
    """The records that one answer holds of one partition, taken a few at a time.

    `next_offset` is where a reader goes on who has taken this far: behind the last record taken, or behind whole
    batches that nobody wants (control batches, aborted ones, holes that compaction left) as soon as the records in
    front of them are out. `left` says whether there may be more to take.
    """

    cdef readonly object topic_partition
    cdef readonly int64_t next_offset
    cdef readonly int64_t size              # bytes of the answer
    cdef readonly int32_t leader_epoch      # of the last batch that something was taken of; -1 before the first
    cdef object source
    cdef tuple aborted
    cdef BatchRun run
    cdef BatchFilter wanted
    cdef Decoders decoders
    cdef Py_ssize_t index                   # the next batch
    cdef BatchOrigin origin                 # of the batch at hand
    cdef const uint8_t* p
    cdef const uint8_t* end
    cdef int32_t count                      # its records that were not taken
    cdef int64_t base_offset, base_timestamp, fixed_timestamp, batch_next
    cdef bint opened
    cdef readonly bint checks               # whether checksums are (still) to be looked at

    def __init__(self, topic_partition, source, int64_t start, *, aborted=(), Decoders decoders=None,
                 bint checks=False):
        self.topic_partition = topic_partition
        self.checks = checks
        self.source = source
        self.aborted = tuple(aborted)
        self.next_offset = start
        self.size = len(source)
        self.leader_epoch = -1
        self.decoders = Decoders() if decoders is None else decoders

    @property
    def left(self):
        """Whether there may be records to take."""
        return not self.opened or self.count > 0 or (self.run is not None and self.index < self.run.count)

    def rest(self):
        """(bytes, first offset, aborted) for whoever wants what was not taken yet as columns."""
        return self.source, self.next_offset, self.aborted

    def check(self):
        """Look at all checksums now, if that is to be done, and not again: for whoever takes the rest as columns."""
        cdef BatchRun run
        if self.checks:
            run = BatchRun(self.source)
            try:
                run.scan()
                self.check_run(run, 0, run.count)
            finally:
                run.release()
            self.checks = False

    cdef int check_run(self, BatchRun run, Py_ssize_t first, Py_ssize_t stop) except -1:
        """The checksums of some batches; what is wrong is told with the place that nobody gets past."""
        try:
            run.check_c(first, stop, True, False, True)
        except CorruptRecordError as error:
            where = f"{self.topic_partition} from offset {self.next_offset}"
            raise CorruptRecordError(f"{where}: {error.message}") from error
        return 0

    def close(self):
        """Let go of the bytes; records that point into them keep them by themselves."""
        self.count = 0
        self.opened = True
        self.run = None
        self.origin = None
        self.source = b""

    def take(self, list into, Py_ssize_t most):
        """Append up to `most` records to the list; how many there were."""
        cdef Py_ssize_t taken = 0
        if not self.opened:
            self.open()
        while taken < most and self.count > 0:
            taken += self.take_batch(into, most - taken)
            if self.count == 0:
                self.finish_batch()
        return taken

    cdef int open(self) except -1:
        """Read the batch headers; messages of magic 0 and 1 become batches first, as rare as they are."""
        self.opened = True
        self.run = BatchRun(self.source)
        self.run.scan()
        for index in range(self.run.count):
            if self.run.batches[index].magic != 2:
                self.check()
                self.run = BatchRun(up_convert(self.source, limit=DEFAULT_LIMIT))
                self.run.scan()
                break
        self.wanted = BatchFilter(first_offset=self.next_offset, aborted=self.aborted)
        return self.next_batch()

    cdef int next_batch(self) except -1:
        """Go to the next batch that is wanted; those before it are passed, and the position with them."""
        cdef Batch* batch
        cdef const uint8_t* at
        while self.index < self.run.count:
            if self.checks:
                self.check_run(self.run, self.index, self.index + 1)
            batch = &self.run.batches[self.index]
            self.index += 1
            at = self.run.data + batch.position
            if self.wanted.wants(batch, at) and batch.record_count > 0:
                self.start_batch(batch, at)
                return 0
            self.pass_batch(batch.base_offset + batch.last_offset_delta + 1, batch.leader_epoch)
        return 0

    cdef int start_batch(self, Batch* batch, const uint8_t* at) except -1:
        """Unpack it if need be. A record has seven bytes at least: a count that says otherwise is a lie.

        Unpacking happens here, on the user's side and one batch at a time: what nobody polls is never unpacked, and
        the codecs leave the GIL to the loop meanwhile.
        """
        cdef BatchOrigin origin = BatchOrigin.__new__(BatchOrigin)
        cdef int codec = batch.attributes & CODEC_MASK
        cdef bytes plain
        if codec:
            if codec > 4:
                raise CorruptRecordError(f"codec {codec}: expected 0 to 4", batch.position)
            plain = decompress(Codec(codec), self.run.view_of(batch.position + RECORD_BATCH_OVERHEAD,
                                                              batch.size - RECORD_BATCH_OVERHEAD))
            origin.held = plain
            self.p = <const uint8_t*><const char*>plain
            self.end = self.p + len(plain)
        else:
            origin.held = self.run
            self.p = at + RECORD_BATCH_OVERHEAD
            self.end = at + batch.size
        if batch.record_count > (self.end - self.p) // SMALLEST_RECORD:
            raise CorruptRecordError(f"{self.end - self.p} bytes cannot hold {batch.record_count} records",
                                     batch.position)
        origin.topic, origin.partition = self.topic_partition
        origin.leader_epoch = batch.leader_epoch
        origin.timestamp_type = 1 if batch.attributes & TIMESTAMP_TYPE_BIT else 0
        origin.decoders = self.decoders
        self.origin = origin
        self.count = batch.record_count
        self.base_offset = batch.base_offset
        self.base_timestamp = batch.base_timestamp
        self.fixed_timestamp = batch.max_timestamp
        self.batch_next = batch.base_offset + batch.last_offset_delta + 1
        return 0

    cdef int finish_batch(self) except -1:
        """All records are out: what the count promised and what the bytes hold must be the same."""
        if self.p != self.end:
            raise CorruptRecordError(f"{self.topic_partition}: the batch goes on after its last record")
        self.pass_batch(self.batch_next, self.origin.leader_epoch)
        self.origin = None
        return self.next_batch()

    cdef void pass_batch(self, int64_t behind, int32_t leader_epoch) noexcept:
        """The position goes behind the whole batch, also where compaction has removed its last records."""
        if behind > self.next_offset:
            self.next_offset = behind
        if leader_epoch > self.leader_epoch:
            self.leader_epoch = leader_epoch

    cdef Py_ssize_t take_batch(self, list into, Py_ssize_t most) except -1:
        """Records of the batch at hand, from the position on.

        The first batch of an answer may begin before the position, as brokers send whole batches: what lies before it
        is read past, as its records have no other way to tell where the next one begins.
        """
        cdef Fields f
        cdef ConsumerRecord record
        cdef BatchOrigin origin = self.origin
        cdef Py_ssize_t taken = 0
        cdef int64_t offset, first = self.next_offset
        cdef bint stamped = origin.timestamp_type == 1
        while taken < most and self.count > 0:
            if read_fields(self.p, self.end, &f) != 0:
                raise CorruptRecordError(f"{self.topic_partition}: malformed record after offset {self.next_offset}")
            self.p = f.stop
            self.count -= 1
            offset = add_wrapping(self.base_offset, f.delta)
            if offset < first:
                continue
            record = ConsumerRecord.__new__(ConsumerRecord)
            record.origin = origin
            record.offset = offset
            record.timestamp = self.fixed_timestamp if stamped else add_wrapping(self.base_timestamp, f.timestamp)
            record.key_at = f.key
            record.value_at = f.value
            record.headers_at = f.headers
            record.stop = f.stop
            record.serialized_key_size = f.key_length if f.key_length >= 0 else -1
            record.serialized_value_size = f.value_length if f.value_length >= 0 else -1
            record.header_count = f.header_count
            into.append(record)
            self.next_offset = offset + 1
            taken += 1
        if taken and origin.leader_epoch > self.leader_epoch:
            self.leader_epoch = origin.leader_epoch
        return taken
