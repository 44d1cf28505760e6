"""Message sets: magic 0 (Kafka 0.8 and 0.9) and magic 1 (0.10), walked whole and without the GIL.

    entry     offset int64 | size int32 | message (`_message.h` has its bytes)
    wrapper   a message whose value is a packed set of messages, and whose offset is that of the *last* of them

There are no batches and no headers. Inner offsets are absolute in magic 0 and relative (0, 1, 2 ...) in magic 1, so
that a broker can assign offsets by patching the wrapper alone. With LogAppendTime the wrapper's timestamp holds for
all. A message that is cut off at the end of a set is left out, inside a wrapper too, as Apache Kafka does.

`MessageSet` is what a producer sent, checked; `read_entry` reads what lies in a log; `_convert.pyx` rewrites.

What makes the old formats slow is that everything is per message: a checksum each, a size each, no count anywhere. A
set is therefore walked once, and that walk notes all that later steps want to know (`MessageWalk`): how many there are,
whether their offsets are 0, 1, 2 …, the range of their timestamps, the first without a key.

Two traps of these formats: a wrapper's own offset is that of its *last* message, so that its first offset is known only
by unpacking; and the offset inside a magic 1 wrapper is relative to the first, so that absolute = wrapper's − last
inner + inner. Compaction may have removed inner messages, even the first ones: then the relative offsets do not begin
at 0.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT64_MAX
from libc.string cimport memset

from tidelog.records.kernel._layout cimport (
    CODEC_MASK, LENGTH_OFFSET, LOG_OVERHEAD, MAGIC_OFFSET, MESSAGE_CRC_OFFSET, MESSAGE_OVERHEAD_V0, TIMESTAMP_TYPE_BIT,
    message_overhead
)
from tidelog.records.kernel._record cimport Record

from tidelog.common.errors import CorruptRecordError, InvalidRecordError
from tidelog.records.format.attributes import Codec
from tidelog.records.codec.compression import DEFAULT_LIMIT, decompress

cdef extern from "tidelog/records/kernel/_wire.h":
    uint32_t load_u32(const uint8_t* p) nogil
    int32_t load_i32(const uint8_t* p) nogil

crc32_init()

cdef enum:
    ZSTD = 4
    UNLOCK_FROM = 16384         # bytes from which a walk is worth giving up the GIL for


cdef int walk_messages(const uint8_t* start, const uint8_t* end, bint crc, MessageWalk* walk) noexcept nogil:
    """Read every message of a set of plain ones, all of the first one's magic; answers what is wrong with the last.

    `walk.at` is where the walk ended: behind the last whole message, or at the one that is wrong. A set that is cut off
    at its end is fine, as a fetch may cut it; what comes in front of the cut counts.
    """
    cdef const uint8_t* p = start
    cdef Message m
    cdef int32_t count = 0, null_key = -1, max_index = -1
    cdef int64_t largest = -1, smallest = INT64_MAX
    cdef int magic = -1, fault
    memset(&m, 0, sizeof(Message))
    walk.in_sequence = True
    walk.claims = walk.claims_without_time = False
    while True:
        fault = read_message(p, end, &m)
        if fault:
            break
        if magic < 0:
            magic = m.magic
        if crc and message_crc(p, m.size) != load_u32(p + MESSAGE_CRC_OFFSET):
            fault = MESSAGE_CRC
        elif m.magic != magic:
            fault = MESSAGE_OTHER_MAGIC
        elif m.attributes & CODEC_MASK:
            fault = MESSAGE_PACKED
        if fault:
            break
        if m.offset != count:
            walk.in_sequence = False
        if m.key_length < 0 and null_key < 0:
            null_key = count
        if m.timestamp > largest:
            largest = m.timestamp
            max_index = count
        if m.timestamp < smallest and m.timestamp != -1:
            smallest = m.timestamp
        if magic == 1 and m.attributes & TIMESTAMP_TYPE_BIT:
            walk.claims = True
            if m.timestamp == -1:
                walk.claims_without_time = True
        count += 1
        walk.last = m
        p = m.stop
    if fault == MESSAGE_CUT:
        fault = MESSAGE_FINE
    if fault:
        walk.last = m
    walk.at = p
    walk.count = count
    walk.null_key = null_key
    walk.max_index = max_index
    walk.max_timestamp = largest
    walk.min_timestamp = smallest
    return fault


cdef object fault_text(int fault, MessageWalk* walk):
    """A fault in words, with the numbers that do not fit together."""
    cdef Message* m = &walk.last
    if fault == MESSAGE_SMALL:
        return f"a message of {m.size} bytes: expected at least {MESSAGE_OVERHEAD_V0}"
    if fault == MESSAGE_MAGIC:
        return f"the message has magic {m.magic}: expected 0 or 1"
    if fault == MESSAGE_SHORT:
        return f"a message of {m.size} bytes: magic {m.magic} needs {message_overhead(m.magic)}"
    if fault == MESSAGE_KEY:
        return f"a field of {m.key_length} bytes runs {m.key_length - (m.stop - 4 - m.key)} past its message"
    if fault == MESSAGE_VALUE:
        return f"a field of {m.value_length} bytes runs {m.value_length - (m.stop - m.value)} past its message"
    if fault == MESSAGE_END:
        return f"the message's fields end {m.stop - m.value - max(m.value_length, 0)} bytes before it does"
    if fault == MESSAGE_CRC:
        return (f"the message's checksum is {message_crc(walk.at, m.size):#010x}: "
                f"its header says {load_u32(walk.at + MESSAGE_CRC_OFFSET):#010x}")
    if fault == MESSAGE_OTHER_MAGIC:
        return f"a message of magic {m.magic} among others of magic {1 - m.magic}"
    return "a packed message inside a message set"


cdef object fault_of(int fault, MessageWalk* walk, Py_ssize_t position):
    """The error of a reader. For producers, see `MessageSet`."""
    return CorruptRecordError(fault_text(fault, walk), position)


cdef object refusal_of(int fault, MessageWalk* walk):
    """The error of a producer: what may have been damaged on the way is corrupt, the rest will not get better."""
    if fault in (MESSAGE_CRC, MESSAGE_SMALL):
        return CorruptRecordError(fault_text(fault, walk))
    return InvalidRecordError(fault_text(fault, walk))


cdef bytes unpack(object value, int codec, int magic, Py_ssize_t limit, Py_ssize_t position):
    """The message set that a wrapper holds.

    zstd has no place in these formats (it came with magic 2), and a wrapper without a value is no wrapper: both are
    damage.
    """
    if value is None:
        raise CorruptRecordError("the wrapper message has no value", position)
    if codec >= ZSTD:
        raise CorruptRecordError(f"codec {codec}: expected 0 to 3", position)
    return decompress(Codec(codec), value, limit=limit, magic=magic)


cdef object value_of(object entry, const uint8_t* start, Message* m):
    """The wrapper's value as a view of its entry, which begins at `start`."""
    if m.value_length < 0:
        return None
    cdef Py_ssize_t at = m.value - start
    return memoryview(entry)[at:at + m.value_length]


cdef int check_message(const uint8_t* p, Py_ssize_t size, bint crc, Py_ssize_t position) except -1:
    """Raise CorruptRecordError unless the entry itself is sound, be it a message or a wrapper.

    The outer entry alone: what a wrapper holds is not unpacked here.
    """
    cdef MessageWalk walk
    cdef int fault = read_message(p, p + size, &walk.last)
    walk.at = p
    if not fault and crc and message_crc(p, walk.last.size) != load_u32(p + MESSAGE_CRC_OFFSET):
        fault = MESSAGE_CRC
    if fault:
        raise CorruptRecordError(f"magic {p[MAGIC_OFFSET]} message: {fault_text(fault, &walk)}", position)
    return 0


cdef int walk_wrapper(object entry, Py_ssize_t limit, bint crc, Py_ssize_t position, MessageWalk* walk) except -1:
    """Unpack one wrapper that was found sound and walk what it holds; raise CorruptRecordError if that is not."""
    cdef const uint8_t[::1] data = entry
    cdef Message m
    if read_message(&data[0], &data[0] + data.shape[0], &m) != 0:
        raise CorruptRecordError("the message is cut off", position)
    plain = unpack(value_of(entry, &data[0], &m), m.attributes & CODEC_MASK, m.magic, limit, position)
    walk_plain(plain, m.magic, crc, position, walk)
    return 0


cdef int walk_plain(bytes plain, int magic, bint crc, Py_ssize_t position, MessageWalk* walk) except -1:
    """Walk what a wrapper of this magic held: at least one message, all of the same magic, none packed again.

    A wrapper's magic is that of its messages, and they are not packed again: anything else was never written by a Kafka
    client, and would make offsets ambiguous.
    """
    cdef const uint8_t* start = <const uint8_t*>PyBytes_AS_STRING(plain)
    cdef const uint8_t* end = start + PyBytes_GET_SIZE(plain)
    cdef int fault
    with nogil:
        fault = walk_messages(start, end, crc, walk)
    if fault:
        raise fault_of(fault, walk, position)
    if walk.count == 0:
        raise CorruptRecordError(f"the wrapper holds {end - start} bytes of no message", position)
    if walk.last.magic != magic:
        raise CorruptRecordError(f"a message of magic {walk.last.magic} in a wrapper of magic {magic}", position)
    return 0


cdef list make_records(const uint8_t* p, const uint8_t* end, int64_t base, bint fixed, int64_t timestamp):
    """Records of a set that was walked; `base` is added to the offsets, `fixed` gives all the one timestamp.

    Python objects, for tools. The set has been walked: every length in it was found to be sound.
    """
    cdef list records = []
    cdef Record record
    cdef Message m
    while read_message(p, end, &m) == 0:
        record = Record.__new__(Record)
        record.offset = base + m.offset
        record.timestamp = timestamp if fixed else m.timestamp
        if m.key_length >= 0:
            record.key = PyBytes_FromStringAndSize(<const char*>m.key, m.key_length)
        if m.value_length >= 0:
            record.value = PyBytes_FromStringAndSize(<const char*>m.value, m.value_length)
        record.headers = ()
        records.append(record)
        p = m.stop
    return records


def read_entry(entry, *, Py_ssize_t limit=DEFAULT_LIMIT, bint check_crc=False):
    """The records of exactly one entry: the message itself, or what the wrapper wraps.

    Raises for anything that is wrong with it; a tool that wants to show what is left of a damaged entry has to look at
    bytes.
    """
    cdef const uint8_t[::1] data = entry
    cdef const uint8_t* start = &data[0] if data.shape[0] else NULL
    cdef const uint8_t* end = start + data.shape[0]
    cdef MessageWalk walk
    cdef Message m
    memset(&m, 0, sizeof(Message))
    cdef int fault = read_message(start, end, &m)
    walk.last, walk.at = m, start
    if fault == MESSAGE_CUT:
        raise CorruptRecordError("the message is cut off", 0)
    if not fault and check_crc and message_crc(start, m.size) != load_u32(start + MESSAGE_CRC_OFFSET):
        fault = MESSAGE_CRC
    if fault:
        raise fault_of(fault, &walk, 0)
    if not m.attributes & CODEC_MASK:
        return make_records(start, m.stop, 0, False, 0)
    plain = unpack(value_of(entry, start, &m), m.attributes & CODEC_MASK, m.magic, limit, 0)
    walk_plain(plain, m.magic, check_crc, 0, &walk)
    cdef int64_t base = base_of(&m, plain, &walk)
    start = <const uint8_t*>PyBytes_AS_STRING(<bytes>plain)
    return make_records(start, walk.at, base, m.magic == 1 and m.attributes & TIMESTAMP_TYPE_BIT, m.timestamp)


cdef int64_t base_of(Message* m, bytes plain, MessageWalk* walk) except? -2:
    """What is added to the inner offsets of a wrapper; raises if one of them would be out of range.

    For magic 1 that is the wrapper's offset less the last inner one. A wrapper with offset 0 was never given one by a
    broker: some old librdkafka produced them so, and then the inner offsets count as they are.
    """
    cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(plain)
    cdef int64_t base = 0, offset
    cdef Message inner
    if m.magic == 1 and m.offset:  # some old librdkafka sent wrappers with offset 0
        if walk.last.offset > m.offset or (walk.last.offset < 0 and m.offset > INT64_MAX + walk.last.offset):
            raise out_of_range(m)
        base = m.offset - walk.last.offset
    while read_message(p, walk.at, &inner) == 0:
        offset = inner.offset
        if offset > INT64_MAX - base or base + offset < 0:
            raise out_of_range(m)
        p = inner.stop
    return base


cdef object out_of_range(Message* m):
    return CorruptRecordError(f"offsets of a wrapper with offset {m.offset} are out of range", 0)


def inner_base(entry, plain):
    """What is added to the inner offsets of a wrapper, given what it holds unpacked: checked as `read_entry` does."""
    cdef const uint8_t[::1] data = entry
    cdef MessageWalk walk
    cdef Message m
    if read_message(&data[0], &data[0] + data.shape[0], &m) != 0:
        raise CorruptRecordError("the message is cut off", 0)
    walk_plain(plain, m.magic, False, 0, &walk)
    return base_of(&m, plain, &walk)


def unwrap(entry, *, Py_ssize_t limit=DEFAULT_LIMIT):
    """The message set that a wrapper holds, unpacked and not yet looked at."""
    cdef const uint8_t[::1] data = entry
    cdef MessageWalk walk
    cdef int fault = read_message(&data[0] if data.shape[0] else NULL, &data[0] + data.shape[0], &walk.last)
    walk.at = &data[0]
    if fault:
        raise fault_of(fault, &walk, 0)
    return unpack(value_of(entry, &data[0], &walk.last), walk.last.attributes & CODEC_MASK, walk.last.magic, limit, 0)


def end_of(const uint8_t[::1] data, Py_ssize_t position, int least, int most):
    """The end of the longest part of a log's bytes, from `position` on, whose entries have a magic in [least, most];
    the entries themselves were found to be whole.

    Used by conversion to pass on, as one piece, what is fine already: a fetch of an old client mostly finds segments of
    one format only.
    """
    cdef const uint8_t* start = &data[0]
    cdef const uint8_t* p = start + position
    cdef const uint8_t* end = start + data.shape[0]
    with nogil:
        while end - p > MAGIC_OFFSET and least <= p[MAGIC_OFFSET] <= most:
            p += LOG_OVERHEAD + load_i32(p + LENGTH_OFFSET)
    return p - start


def plain_end(const uint8_t[::1] data, Py_ssize_t position):
    """The end of the longest part of a log's bytes, from `position` on, that is plain messages of one magic whose times
    their producers set: what can be converted as one set. `position` itself if there is none."""
    cdef const uint8_t* start = &data[0]
    cdef const uint8_t* p = start + position
    cdef const uint8_t* end = start + data.shape[0]
    cdef int magic = -1
    cdef int64_t after = -1
    cdef Message m
    with nogil:
        while read_message(p, end, &m) == 0:
            if (m.attributes & CODEC_MASK or (m.magic == 1 and m.attributes & TIMESTAMP_TYPE_BIT)
                    or (magic >= 0 and m.magic != magic) or m.offset <= after):
                break
            magic, after, p = m.magic, m.offset, m.stop
    return p - start


def whole_end(const uint8_t[::1] data):
    """(the end of the last whole message or batch of a produced set, what follows it: None, or the stated size or the
    magic that no message has).

    Produce requests of before version 3 may end in a message that is cut off. It is left out without a word, unless its
    size or magic shows that this is no message at all.
    """
    cdef const uint8_t* start = &data[0] if data.shape[0] else NULL
    cdef const uint8_t* p = start
    cdef const uint8_t* end = start + data.shape[0]
    cdef int64_t size = 0
    cdef int bad = 0
    with nogil:
        while end - p >= LOG_OVERHEAD:
            size = load_i32(p + LENGTH_OFFSET)
            if size < MESSAGE_OVERHEAD_V0:
                bad = 1
                break
            if end - p > MAGIC_OFFSET and p[MAGIC_OFFSET] > 2:
                bad = 2
                break
            if size > end - p - LOG_OVERHEAD:
                break
            p += LOG_OVERHEAD + size
    if bad == 1:
        return p - start, ("size", size)
    if bad == 2:
        return p - start, ("magic", p[MAGIC_OFFSET])
    return p - start, None


def crc32(const uint8_t[::1] data, *, bint portable=False):
    """The checksum of messages; `portable`: as machines without a polynomial multiplication compute it."""
    if data.shape[0] == 0:
        return 0
    return crc32_portable(&data[0], data.shape[0]) if portable else crc32_of(&data[0], data.shape[0])


cdef class MessageSet:
    """What a producer sent for one partition, checked: plain messages, or one wrapper. `plain` holds the messages, all
    of one magic; the timestamps are those that readers see.

    A producer's set is either plain messages or exactly one wrapper; a mixture is refused. What cannot be stored as it
    is goes to `_convert` as plain messages, which is why they are kept.
    """

    cdef readonly object plain
    cdef readonly int magic
    cdef readonly int codec
    cdef readonly int32_t count
    cdef readonly int64_t max_timestamp
    cdef readonly int32_t max_index
    cdef readonly int32_t null_key
    cdef readonly bint in_sequence
    cdef readonly bint claims
    cdef readonly bint claims_without_time
    cdef readonly object fixed_timestamp    # the wrapper's, where it speaks for all; or None
    cdef int64_t min_timestamp

    def __init__(self, data, *, Py_ssize_t limit=DEFAULT_LIMIT):
        cdef const uint8_t[::1] view = data
        cdef const uint8_t* start = &view[0] if view.shape[0] else NULL
        cdef const uint8_t* end = start + view.shape[0]
        cdef MessageWalk walk
        cdef int fault
        if end - start >= UNLOCK_FROM:
            with nogil:
                fault = walk_messages(start, end, True, &walk)
        else:
            fault = walk_messages(start, end, True, &walk)
        if fault == MESSAGE_PACKED and walk.count == 0:
            self.read_wrapper(data, start, end, &walk, limit)
            return
        if fault:
            raise refusal_of(fault, &walk)
        if walk.count == 0:
            raise InvalidRecordError("the request has no whole message for the partition")
        self.plain = data
        self.codec = 0
        self.note(&walk)

    cdef int note(self, MessageWalk* walk) except -1:
        """Keep the walk's findings; the walk itself lives on the stack."""
        self.magic = walk.last.magic
        self.count = walk.count
        self.max_timestamp, self.min_timestamp = walk.max_timestamp, walk.min_timestamp
        self.max_index, self.null_key = walk.max_index, walk.null_key
        self.in_sequence = walk.in_sequence
        self.claims, self.claims_without_time = walk.claims, walk.claims_without_time
        return 0

    cdef int read_wrapper(self, data, const uint8_t* start, const uint8_t* end, MessageWalk* outer,
                          Py_ssize_t limit) except -1:
        """The wrapper's checksum was right, so that anything wrong inside is the producer's doing: INVALID_RECORD,
        which it will not send again, instead of CORRUPT_MESSAGE.
        """
        cdef MessageWalk walk
        cdef Message m = outer.last
        cdef Message after
        if read_message(m.stop, end, &after) != MESSAGE_CUT:
            raise InvalidRecordError("a packed message set comes alone: found more entries")
        try:
            plain = unpack(value_of(data, start, &m), m.attributes & CODEC_MASK, m.magic, limit, 0)
        except CorruptRecordError as error:  # the checksum was right: sending it again will not help
            raise InvalidRecordError(error.message) from error
        cdef const uint8_t* p = <const uint8_t*>PyBytes_AS_STRING(<bytes>plain)
        cdef const uint8_t* stop = p + PyBytes_GET_SIZE(<bytes>plain)
        cdef int fault
        with nogil:
            fault = walk_messages(p, stop, True, &walk)
        if fault:
            raise refusal_of(fault, &walk)
        if walk.count == 0:
            raise InvalidRecordError(f"the wrapper holds {stop - p} bytes of no message")
        if walk.last.magic != m.magic:
            raise InvalidRecordError(f"a message of magic {walk.last.magic} in a wrapper of magic {m.magic}")
        if m.magic == 1 and m.offset and m.offset < walk.last.offset:
            raise InvalidRecordError(f"the wrapper's offset {m.offset} is less than that of its last message, "
                                     f"{walk.last.offset}")
        # The offsets that a reader would see must be 0, 1, 2 ..., or the wrapper cannot stay as it is.
        walk.in_sequence = walk.in_sequence and (m.offset == 0 or m.offset == walk.count - 1)
        self.note(&walk)
        self.plain = memoryview(plain)[:walk.at - p]
        self.codec = m.attributes & CODEC_MASK
        self.claims = m.magic == 1 and m.attributes & TIMESTAMP_TYPE_BIT
        self.claims_without_time = self.claims and m.timestamp == -1
        if self.claims:
            self.fixed_timestamp = m.timestamp
            self.max_timestamp = m.timestamp
            self.min_timestamp = INT64_MAX if m.timestamp == -1 else m.timestamp
            self.max_index = 0 if m.timestamp > -1 else -1
        return 0

    def fits(self, int64_t earliest, int64_t latest):
        """Whether every timestamp lies in [earliest, latest], or is missing.

        The usual case in one comparison; the records are looked at one by one only if it is not so.
        """
        return self.min_timestamp >= earliest and self.max_timestamp <= latest

    def records(self):
        """One by one, numbered from 0: to say which of them are wrong."""
        cdef const uint8_t[::1] view = self.plain
        cdef list records = make_records(&view[0], &view[0] + view.shape[0], 0, self.fixed_timestamp is not None,
                                         self.fixed_timestamp or 0)
        for index, record in enumerate(records):
            (<Record>record).offset = index
        return records
